//! The errors of a run.

mod message;
mod name;
mod reference;

use std::time::Duration;

pub use message::TriedFor;
pub use reference::ReferenceError;

use self::message::{IncompleteResponse, registration_advice, said};

use super::{fits::StateMismatch, refused::MAX_SAME_REFUSALS};
use crate::{
    agent::GraphError,
    tool::BoxError,
    wire::{
        error_debug,
        run_state::{InputGuardrailResult, OutputGuardrailResult, ToolGuardrailResult},
    },
};

/// An error that ends a run without a final output.
///
/// # Retries
/// The run itself retries none of them: model and tool calls have already been retried, by their
/// policies. In a workflow, `?` turns the error into a failed workflow execution of type
/// `AgentsWorkflowError` with this message, and with the failure of an activity as its cause if
/// there is one. [`Cancelled`](Self::Cancelled) becomes a cancelled workflow.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The run has made the maximum number of model calls.
    #[error(
        "Max turns ({max_turns}) exceeded before the next turn of agent {agent:?}; if the run needs more turns, raise \
         the limit with Runner::max_turns"
    )]
    MaxTurnsExceeded {
        /// Maximum number of model calls.
        max_turns: u32,
        /// Name of the agent whose turn it would have been.
        agent: String,
    },
    /// The model's response is invalid, for example a call of a tool that it was not offered.
    #[error("{message} (model behaviour, agent {agent:?}, turn {turn})")]
    ModelBehavior {
        /// Name of the agent that called the model.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// Description of the problem, in the wording of the OpenAI Agents SDK where it has the
        /// same error.
        message: String,
    },
    /// The model gave a call no id, or the id of another call.
    #[error("{message} (model behaviour, agent {agent:?}, turn {turn})")]
    CallIdReused {
        /// Name of the agent that called the model.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// Description of the problem, in the wording of the OpenAI Agents SDK.
        message: String,
    },
    /// The model made more calls in one response than the run accepts.
    #[error(
        "the model answered agent {agent:?} with {calls} calls in one response (turn {turn}), the limit is {limit}; \
         to permit more calls, raise RunConfig::max_calls_per_response"
    )]
    TooManyCalls {
        /// Name of the agent that called the model.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// Number of calls in the response: calls of tools and handoffs, and questions of hosted
        /// MCP servers.
        calls: usize,
        /// Maximum number of calls in a response.
        limit: usize,
    },
    /// The model's response is empty, or stopped early in its calls.
    ///
    /// Such calls are not made. `RunConfig::incomplete_answers` asks the model again instead.
    #[error(
        "agent {agent:?} got no answer at turn {turn}: {}",
        IncompleteResponse { reason, calls, max_tokens: *max_tokens }
    )]
    IncompleteAnswer {
        /// Name of the agent that called the model.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// Why the response stopped early, or `empty`.
        reason: String,
        /// Names of the functions that were not called.
        calls: Vec<String>,
        /// Maximum number of tokens of the response, if the agent's settings have one.
        max_tokens: Option<u64>,
    },
    /// The model has made the same call several times in a row, and its arguments do not fit.
    #[error(
        "the model called tool {tool:?} {} times in a row with the same arguments, which do not fit: {reason} \
         (agent {agent:?}, turn {turn})",
        MAX_SAME_REFUSALS
    )]
    SameCallRefused {
        /// Name of the agent that made the calls.
        agent: String,
        /// The turn of the last call, counted from 1.
        turn: u32,
        /// Name of the tool.
        tool: String,
        /// Path of the first argument that does not fit, steps joined with dots; empty for the
        /// arguments as a whole.
        field: String,
        /// Description of what does not fit, as the model gets it. It repeats no argument.
        reason: Box<str>,
    },
    /// The run is configured in a way that cannot work.
    #[error("{message} (agent {agent:?})")]
    User {
        /// Name of the run's current agent.
        agent: String,
        /// Description of the problem, in the wording of the OpenAI Agents SDK where it has the
        /// same error.
        message: String,
        /// `true` if the data of the run so far may be reported with the error.
        has_run_data: bool,
    },
    /// The input from outside, a start or a message, exceeds the permissions of its sender.
    #[error("{what} is refused: {reason} (agent {agent:?})")]
    Refused {
        /// Name of the run's agent.
        agent: String,
        /// The refused part of the input: `context key "tenant"`.
        what: String,
        /// The reason, and the change that would permit it.
        reason: String,
    },
    /// An agent as data could not be loaded, or its spec is wrong.
    #[error("agent {agent:?} cannot be run from its spec: {source}")]
    Spec {
        /// Name of the agent.
        agent: String,
        /// A [`SpecError`](crate::agent::SpecError), or the host's error.
        source: BoxError,
    },
    /// An input guardrail has tripped.
    #[error("input guardrail {:?} of agent {agent:?} tripped{}", .result.guardrail, said(&.result.output_info))]
    InputGuardrailTripped {
        /// Name of the run's current agent.
        agent: String,
        /// Result of the guardrail.
        result: Box<InputGuardrailResult>,
    },
    /// An output guardrail has tripped.
    #[error("output guardrail {:?} of agent {agent:?} tripped{}", .result.guardrail, said(&.result.output_info))]
    OutputGuardrailTripped {
        /// Name of the agent that returned the output.
        agent: String,
        /// Result of the guardrail.
        result: Box<OutputGuardrailResult>,
        /// `true` if the output came from a tool; it is then withheld everywhere.
        from_tool: bool,
    },
    /// A guardrail before a tool has ended the run.
    #[error(
        "input guardrail {:?} of tool {tool:?} (agent {agent:?}) ended the run{}",
        .result.guardrail, said(&.result.output_info)
    )]
    ToolInputGuardrailTripped {
        /// Name of the agent that made the call.
        agent: String,
        /// Name of the tool.
        tool: String,
        /// Result of the guardrail.
        result: Box<ToolGuardrailResult>,
    },
    /// A guardrail after a tool has ended the run.
    #[error(
        "output guardrail {:?} of tool {tool:?} (agent {agent:?}) ended the run{}",
        .result.guardrail, said(&.result.output_info)
    )]
    ToolOutputGuardrailTripped {
        /// Name of the agent that made the call.
        agent: String,
        /// Name of the tool.
        tool: String,
        /// Result of the guardrail.
        result: Box<ToolGuardrailResult>,
    },
    /// A tool call failed, and the failure ends the run.
    #[error("Error running tool {tool}: {source} (agent {agent:?}, turn {turn})")]
    ToolFailed {
        /// Name of the agent that made the call.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// Name of the tool.
        tool: String,
        /// Error of the tool, or of a hook around it.
        source: BoxError,
    },
    /// A function of the author failed: a guardrail, a hook, a filter, a handler.
    #[error("{function} of agent {agent:?} failed: {source}")]
    Function {
        /// Name of the function: `input guardrail "no_homework"`, `the call_model_input_filter`.
        function: String,
        /// Name of the agent that the function was called for.
        agent: String,
        /// Error of the function.
        source: BoxError,
    },
    /// The session could not be read or written.
    #[error("the session {session:?} could not be {verb}: {source}")]
    Session {
        /// Id of the session.
        session: String,
        /// `read` or `written`.
        verb: &'static str,
        /// The host's error.
        source: BoxError,
    },
    /// Calls wait for a decision, and the host cannot wait for it.
    #[error(
        "agent {agent:?} waits for a decision on {}; call .until_paused(), or create the runner with \
         Runner::with_inbox(ctx), in a workflow with #[agent_handlers] and a field `inbox: AgentInbox`, so that the \
         run waits for decisions",
        .tools.join(", ")
    )]
    NeedsApproval {
        /// Name of the agent that made the calls.
        agent: String,
        /// Names of the tools whose calls wait.
        tools: Vec<String>,
    },
    /// The state of a run does not fit the agents it is resumed with.
    #[error(transparent)]
    State(#[from] StateMismatch),
    /// The model refused to answer.
    #[error("Model refused to produce output: {refusal} (agent {agent:?})")]
    ModelRefusal {
        /// Name of the agent that called the model.
        agent: String,
        /// The model's message of refusal.
        refusal: String,
    },
    /// The final answer is not of the agent's output type.
    #[error("Invalid JSON when parsing model output (agent {agent:?}): {reason}")]
    InvalidOutput {
        /// Name of the agent that returned the answer.
        agent: String,
        /// Description of the problem with the answer.
        reason: String,
    },
    /// The agents are invalid; found before any model call.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A value for the run context cannot be written as JSON; found before any model call.
    #[error("the value for run context key {key:?} cannot be written as JSON: {reason}")]
    Context {
        /// Key of the run context.
        key: String,
        /// Error message of the serializer.
        reason: String,
    },
    /// The model call failed, after all its attempts.
    #[error("the model call of agent {agent:?} at turn {turn} (model {model:?}) failed: {source}")]
    Model {
        /// Name of the agent that called the model.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// Name of the model.
        model: String,
        /// The provider's own error message.
        reason: String,
        /// The host's error.
        source: BoxError,
    },
    /// No worker on the task queue has the tool.
    #[error(
        "tool {tool:?} of agent {agent:?} is not registered on task queue {task_queue:?}; {}{}",
        registration_advice(source),
        TriedFor(*tried_for)
    )]
    ToolNotRegistered {
        /// Name of the tool.
        tool: String,
        /// Name of the agent that made the call.
        agent: String,
        /// Name of the task queue.
        task_queue: String,
        /// Time for which the run waited for a worker that has the tool; `None` if it did not wait.
        tried_for: Option<Duration>,
        /// The host's error.
        source: BoxError,
    },
    /// A tool call could not be made, or its result could not be read.
    #[error("the call of tool {tool:?} by agent {agent:?} at turn {turn} failed: {source}")]
    Tool {
        /// Name of the tool.
        tool: String,
        /// Name of the agent that made the call.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// The host's error.
        source: BoxError,
    },
    /// The tools of an MCP server could not be listed, after all attempts.
    #[error("the tools of MCP server {server:?} (agent {agent:?}, turn {turn}) could not be listed: {source}")]
    Mcp {
        /// Name of the MCP server.
        server: String,
        /// Name of the agent that the server belongs to.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// The host's error.
        source: BoxError,
    },
    /// The model's arguments for a handoff are not of its input type.
    #[error("Invalid JSON when parsing model output (handoff {handoff:?} of agent {agent:?}): {reason}")]
    InvalidHandoffInput {
        /// Name of the agent that hands off.
        agent: String,
        /// Function name of the handoff.
        handoff: String,
        /// Description of the problem with the arguments.
        reason: String,
    },
    /// A function of the author panicked.
    #[error("{function} of agent {agent:?} panicked: {message}")]
    Panicked {
        /// Name of the function: `the instructions`, `inline tool "add"`.
        function: String,
        /// Name of the agent that the function was called for.
        agent: String,
        /// Message of the panic.
        message: String,
    },
    /// The final output is not of the type that the caller of the run requested.
    #[error("the final output of agent {agent:?} is not a {expected}: {source}")]
    OutputType {
        /// Name of the agent that returned the output.
        agent: String,
        /// Name of the requested Rust type.
        expected: &'static str,
        /// The deserializer's error.
        source: serde_json::Error,
    },
    /// Not an error: the workflow continues as new, and the run continues in its next execution.
    /// The author returns it with `?`, so that it ends the workflow.
    #[error(
        "the run continues in the next execution of the workflow (agent {agent:?}, turn {turn}): return this error \
         with `?` from the workflow's run method, which then continues as new"
    )]
    ContinuesAsNew {
        /// Name of the agent whose turn it is.
        agent: String,
        /// Number of turns so far.
        turn: u32,
        /// The value with which the host ends the workflow.
        next: BoxError,
    },
    /// The run was to continue in the next execution of its workflow, and could not.
    #[error("the run could not continue as new (agent {agent:?}, turn {turn}): {source}")]
    Continuation {
        /// Name of the agent whose turn it is.
        agent: String,
        /// Number of turns so far.
        turn: u32,
        /// The host's error.
        source: BoxError,
    },
    /// The conversation is too large to be carried to the next execution of the workflow.
    #[error(
        "the conversation is too large to continue as new: the state of the run is {bytes} bytes of JSON, the limit \
         is {limit} (agent {agent:?}); shorten it with Runner::compaction, store large results outside of the \
         conversation and return references to them, or raise ContinueOptions::most_bytes"
    )]
    ConversationTooLarge {
        /// Name of the agent whose turn it is.
        agent: String,
        /// Size of the run's state, in bytes of JSON.
        bytes: usize,
        /// Maximum size, in bytes of JSON.
        limit: usize,
    },
    /// The run was cancelled.
    #[error("the run was cancelled while agent {agent:?} was at turn {turn}")]
    Cancelled {
        /// Name of the agent whose turn it was.
        agent: String,
        /// The turn, counted from 1; 0 before the first turn.
        turn: u32,
    },
}

error_debug!(enum RunError {
    MaxTurnsExceeded { max_turns, agent },
    ModelBehavior { agent, turn, message },
    CallIdReused { agent, turn, message },
    TooManyCalls { agent, turn, calls, limit },
    IncompleteAnswer { agent, turn, reason, calls, max_tokens },
    SameCallRefused { agent, turn, tool, field, reason },
    User { agent, message, has_run_data },
    Refused { agent, what, reason },
    Spec { agent, source },
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
