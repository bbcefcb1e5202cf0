//! What a run fails with.

mod reference;

use std::{fmt, time::Duration};

pub use reference::ReferenceError;

use super::fits::StateMismatch;
use crate::{
    agent::GraphError,
    tool::{Failure, WorkflowToolError},
    wire::{
        error_debug,
        run_state::{InputGuardrailResult, OutputGuardrailResult, ToolGuardrailResult},
    },
};

/// The failure of an effect: whatever the host's own error is, kept whole.
pub type EffectError = Box<dyn std::error::Error + Send + Sync>;

/// Why a run ended without a final output.
///
/// # Retries
/// None is retried by the run itself: model and tool calls have been retried by then, after their policies. In a workflow
/// `?` turns it into a failed workflow execution of type `AgentsWorkflowError` with this message, and with the failure of an activity as its cause
/// where there is one. [`Cancelled`](Self::Cancelled) passes as a cancelled workflow.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run made all the model calls it may.
    #[error(
        "Max turns ({max_turns}) exceeded: it is the turn of agent {agent:?} again; \
         raise it with Runner::max_turns if the run is meant to be longer"
    )]
    MaxTurnsExceeded {
        /// The limit.
        max_turns: u32,
        /// The agent whose turn it would have been.
        agent: String,
    },
    /// The model did something it was not offered.
    #[error("{message} (model behaviour, agent {agent:?}, turn {turn})")]
    ModelBehavior {
        /// The agent.
        agent: String,
        /// The turn.
        turn: u32,
        /// What it did, in the words of the reference.
        message: String,
    },
    /// The model gave a call no id, or the id of another call.
    #[error("{message} (model behaviour, agent {agent:?}, turn {turn})")]
    CallIdReused {
        /// The agent.
        agent: String,
        /// The turn.
        turn: u32,
        /// What it did, in the words of the reference.
        message: String,
    },
    /// The model made more calls in one response than the run takes.
    #[error(
        "the model answered agent {agent:?} with {calls} calls in one response (turn {turn}), the limit is {limit}; if so many are \
         meant, raise RunConfig::max_calls_per_response"
    )]
    TooManyCalls {
        /// The agent.
        agent: String,
        /// The turn.
        turn: u32,
        /// How many it made: calls of tools and handoffs, and questions of hosted MCP servers.
        calls: usize,
        /// The limit.
        limit: usize,
    },
    /// The run is set up in a way that cannot work.
    #[error("{message} (agent {agent:?})")]
    User {
        /// The agent.
        agent: String,
        /// What is wrong, in the words of the reference.
        message: String,
        /// Whether what the run has done so far may be told.
        has_run_data: bool,
    },
    /// Something that came from outside, a start or a message, is more than its sender may send.
    #[error("{what} is refused: {reason} (agent {agent:?})")]
    Refused {
        /// The agent.
        agent: String,
        /// What is refused: `context key "tenant"`.
        what: String,
        /// Why, and what would let it in.
        reason: String,
    },
    /// An input guardrail has tripped.
    #[error("input guardrail {:?} of agent {agent:?} tripped{}", .result.guardrail, said(&.result.output_info))]
    InputGuardrailTripped {
        /// The agent.
        agent: String,
        /// What it found.
        result: Box<InputGuardrailResult>,
    },
    /// An output guardrail has tripped.
    #[error("output guardrail {:?} of agent {agent:?} tripped{}", .result.guardrail, said(&.result.output_info))]
    OutputGuardrailTripped {
        /// The agent.
        agent: String,
        /// What it found.
        result: Box<OutputGuardrailResult>,
        /// Whether the output came from a tool; it is then withheld everywhere.
        from_tool: bool,
    },
    /// A guardrail before a tool has ended the run.
    #[error("input guardrail {:?} of tool {tool:?} (agent {agent:?}) ended the run{}", .result.guardrail, said(&.result.output_info))]
    ToolInputGuardrailTripped {
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
        /// What it found.
        result: Box<ToolGuardrailResult>,
    },
    /// A guardrail after a tool has ended the run.
    #[error("output guardrail {:?} of tool {tool:?} (agent {agent:?}) ended the run{}", .result.guardrail, said(&.result.output_info))]
    ToolOutputGuardrailTripped {
        /// The agent.
        agent: String,
        /// The tool.
        tool: String,
        /// What it found.
        result: Box<ToolGuardrailResult>,
    },
    /// A tool failed whose failures end the run.
    #[error("Error running tool {tool}: {source} (agent {agent:?}, turn {turn})")]
    ToolFailed {
        /// The agent.
        agent: String,
        /// The turn.
        turn: u32,
        /// The tool.
        tool: String,
        /// What went wrong.
        source: Failure,
    },
    /// A function of the author failed: a guardrail, a hook, a filter, a handler.
    #[error("{function} of agent {agent:?} failed: {source}")]
    Function {
        /// Which function: `input guardrail "no_homework"`, `the call_model_input_filter`.
        function: String,
        /// The agent.
        agent: String,
        /// What went wrong.
        source: Failure,
    },
    /// The session could not be read or written.
    #[error("the session {session:?} could not be {verb}: {source}")]
    Session {
        /// The session.
        session: String,
        /// `read` or `written`.
        verb: &'static str,
        /// What went wrong.
        source: EffectError,
    },
    /// Calls wait for a decision, and nothing here can wait with them.
    #[error(
        "agent {agent:?} waits for a decision on {}; run it with run_until_paused, or give the Runner an inbox \
         (#[agent_handlers]) so that it waits for decisions by itself",
        .tools.join(", ")
    )]
    NeedsApproval {
        /// The agent.
        agent: String,
        /// The tools.
        tools: Vec<String>,
    },
    /// The state of a run does not fit the agents it is resumed with.
    #[error(transparent)]
    State(#[from] StateMismatch),
    /// The model refused to answer.
    #[error("Model refused to produce output: {refusal} (agent {agent:?})")]
    ModelRefusal {
        /// The agent.
        agent: String,
        /// The refusal.
        refusal: String,
    },
    /// The final answer is not of the agent's output type.
    #[error("Invalid JSON when parsing model output (agent {agent:?}): {reason}")]
    InvalidOutput {
        /// The agent.
        agent: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The agents are wrong; found before any model call.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A value for the run context cannot be written as JSON; found before any model call.
    #[error("the value for run context key {key:?} cannot be written as JSON: {reason}")]
    Context {
        /// The key.
        key: String,
        /// What serde says.
        reason: String,
    },
    /// The model call failed, after all its attempts.
    #[error("the model call of agent {agent:?} at turn {turn} (model {model:?}) failed: {source}")]
    Model {
        /// The agent.
        agent: String,
        /// The turn.
        turn: u32,
        /// The model's name.
        model: String,
        /// What went wrong, in the provider's own words.
        reason: String,
        /// The host's error.
        source: EffectError,
    },
    /// No worker on the task queue knows the tool.
    #[error(
        "tool {tool:?} of agent {agent:?} is not registered on task queue {task_queue:?}; {}{}",
        how_to_register(source),
        TriedFor(*tried_for)
    )]
    ToolNotRegistered {
        /// The tool.
        tool: String,
        /// The agent.
        agent: String,
        /// The task queue.
        task_queue: String,
        /// For how long a worker that has it was waited for; `None` where the run did not wait.
        tried_for: Option<Duration>,
        /// The host's error.
        source: EffectError,
    },
    /// A tool call could not be made or read.
    #[error("the call of tool {tool:?} by agent {agent:?} at turn {turn} failed: {source}")]
    Tool {
        /// The tool.
        tool: String,
        /// The agent.
        agent: String,
        /// The turn.
        turn: u32,
        /// The host's error.
        source: EffectError,
    },
    /// The tools of an MCP server could not be listed, after all attempts.
    #[error("the tools of MCP server {server:?} (agent {agent:?}, turn {turn}) could not be listed: {source}")]
    Mcp {
        /// The server.
        server: String,
        /// The agent.
        agent: String,
        /// The turn.
        turn: u32,
        /// The host's error.
        source: EffectError,
    },
    /// The model's arguments for a handoff are not of its input type.
    #[error("Invalid JSON when parsing model output (handoff {handoff:?} of agent {agent:?}): {reason}")]
    InvalidHandoffInput {
        /// The agent that hands off.
        agent: String,
        /// The handoff's function name.
        handoff: String,
        /// What is wrong with them.
        reason: String,
    },
    /// A function of the author panicked.
    #[error("{function} of agent {agent:?} panicked: {message}")]
    Panicked {
        /// Which function: `the instructions`, `inline tool "add"`.
        function: String,
        /// The agent.
        agent: String,
        /// The panic's message.
        message: String,
    },
    /// The final output is not of the type the run was asked for.
    #[error("the final output of agent {agent:?} is not a {expected}: {source}")]
    OutputType {
        /// The agent.
        agent: String,
        /// The Rust type.
        expected: &'static str,
        /// What serde says.
        source: serde_json::Error,
    },
    /// Nothing is wrong: the workflow continues as new, and the run goes on in its next execution. Pass it on with `?`, so that the
    /// workflow ends with it.
    #[error(
        "the run goes on in the next execution of the workflow (agent {agent:?}, turn {turn}): \
         this is to be passed on with `?` out of the workflow's run method, which then continues as new"
    )]
    ContinuesAsNew {
        /// The agent whose turn it is.
        agent: String,
        /// The turns so far.
        turn: u32,
        /// What the host ends the workflow with.
        next: EffectError,
    },
    /// The run should have gone on in the next execution of its workflow, and could not.
    #[error("the run could not continue as new (agent {agent:?}, turn {turn}): {source}")]
    Continuation {
        /// The agent whose turn it is.
        agent: String,
        /// The turns so far.
        turn: u32,
        /// What went wrong.
        source: EffectError,
    },
    /// The conversation is too large to be carried to the next execution of the workflow.
    #[error(
        "the conversation is too large to continue as new: the state of the run is {bytes} bytes of JSON, the limit is {limit} \
         (agent {agent:?}); shorten it with Runner::compaction, keep large results outside and give the model references to them, \
         or raise ContinueOptions::most_bytes"
    )]
    ConversationTooLarge {
        /// The agent whose turn it is.
        agent: String,
        /// The size of the state.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The run was cancelled.
    #[error("the run was cancelled while agent {agent:?} was at turn {turn}")]
    Cancelled {
        /// The agent.
        agent: String,
        /// The turn.
        turn: u32,
    },
}

error_debug!(enum RunError {
    MaxTurnsExceeded { max_turns, agent },
    ModelBehavior { agent, turn, message },
    CallIdReused { agent, turn, message },
    TooManyCalls { agent, turn, calls, limit },
    User { agent, message, has_run_data },
    Refused { agent, what, reason },
    InputGuardrailTripped { agent, result },
    OutputGuardrailTripped { agent, result, from_tool },
    ToolInputGuardrailTripped { agent, tool, result },
    ToolOutputGuardrailTripped { agent, tool, result },
    ToolFailed { agent, turn, tool, source },
    Function { function, agent, source },
    Session { session, verb, source },
    NeedsApproval { agent, tools },
    State(source),
    ModelRefusal { agent, refusal },
    InvalidOutput { agent, reason },
    Graph(source),
    Context { key, reason },
    Model { agent, turn, model, reason, source },
    ToolNotRegistered { tool, agent, task_queue, tried_for, source },
    Tool { tool, agent, turn, source },
    Mcp { server, agent, turn, source },
    InvalidHandoffInput { agent, handoff, reason },
    Panicked { function, agent, message },
    OutputType { agent, expected, source },
    ContinuesAsNew { agent, turn, next },
    Continuation { agent, turn, source },
    ConversationTooLarge { agent, bytes, limit },
    Cancelled { agent, turn },
});

/// For how long something was tried, at the end of a message: ` (tried for 300 s)`, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TriedFor(pub(crate) Option<Duration>);

impl fmt::Display for TriedFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |time| write!(f, " (tried for {} s)", time.as_secs()))
    }
}

/// What to do about a tool that nobody runs, for a message.
fn how_to_register(source: &EffectError) -> String {
    match source.downcast_ref::<WorkflowToolError>() {
        Some(error) => format!("start a worker that has it: {error}"),
        None => "add the agent to AgentsPlugin::agents on that queue's worker".to_owned(),
    }
}

/// What a guardrail says about its finding, for a message.
fn said(info: &serde_json::Value) -> String {
    match info {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => format!(": {text}"),
        other => format!(": {other}"),
    }
}
