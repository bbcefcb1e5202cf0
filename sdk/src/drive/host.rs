//! What a host does for the loop: effects, and nothing else.

use std::{fmt, time::Duration};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::{Map, Value};

use crate::{
    agent::AgentInfo,
    engine::{EffectError, RunError},
    tool::{CallInfo, McpServer, ToolDef, ToolError, ToolErrorKind},
    wire::{
        Item, McpQuestion, McpSession, McpTarget, McpTool, ModelCall, ModelResponse, RunState, ToolOutput, Usage,
        run_state::Interruption,
    },
};

/// Why a run that was to move goes on where it is: this cannot be left now.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it cannot be left now")]
pub(crate) struct Stays;

impl Stays {
    /// Whether a host has said so.
    pub(crate) fn is_said_by(error: &RunError) -> bool {
        matches!(error, RunError::Continuation { source, .. } if source.is::<Self>())
    }
}

/// The effects of a run. Futures are `!Send`: in a workflow everything lives on one thread.
pub trait Host {
    /// A part of the run that can be cancelled by itself.
    type Scope: Clone;

    /// A new scope inside the run's own: cancelled when the run is.
    fn scope(&self) -> Self::Scope;

    /// A new scope inside another: cancelled when that one is.
    fn child(&self, scope: &Self::Scope) -> Self::Scope;

    /// Cancels what runs in this scope. The effects still resolve, and the loop awaits them.
    fn cancel(&self, scope: &Self::Scope);

    /// Calls the model.
    fn call_model<'a>(
        &'a self,
        id: EffectId,
        call: ModelCall,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ModelResponse, ModelEffectError>>;

    /// Calls a tool that does not run in the loop itself.
    fn call_tool<'a>(
        &'a self,
        call: ToolEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ToolAnswer, ToolEffectError>>;

    /// Asks an MCP server for its tools. A host that reaches none says so.
    fn list_mcp_tools<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<McpTool>, McpEffectError>> {
        let _ = (call, scope);
        std::future::ready(Err(McpEffectError::Failed("this host reaches no MCP servers".into()))).boxed_local()
    }

    /// Opens a session with a stateful MCP server. A host that reaches none says so.
    fn open_mcp_session<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<McpSession, McpEffectError>> {
        let _ = (call, scope);
        std::future::ready(Err(McpEffectError::Failed("this host reaches no MCP servers".into()))).boxed_local()
    }

    /// Closes a session, also when the run is cancelled. Whether it could be closed is of no use to the run.
    fn close_mcp_session(&self, session: McpSession, id: EffectId) -> LocalBoxFuture<'_, ()> {
        let _ = (session, id);
        std::future::ready(()).boxed_local()
    }

    /// Reads or writes a session in a store. A write is not cancelled with its scope: what was said and done is told to the
    /// session also when the run is cancelled. A host may limit the time that it still takes then.
    fn call_session<'a>(
        &'a self,
        call: SessionEffect,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<Item>, SessionEffectError>>;

    /// Waits until somebody has decided on a call the run waits for, and takes what was decided into its state. A host that
    /// cannot wait says so at once, and the run ends paused.
    fn wait_for_decisions<'a>(
        &'a self,
        state: &'a mut RunState,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, WaitOutcome> {
        let _ = (state, scope);
        std::future::ready(WaitOutcome::Undecided).boxed_local()
    }

    /// Whether the run is to go on elsewhere, from this state. Asked of the outermost run alone, where nothing of it is in flight:
    /// between two turns, and before it waits for decisions. A run that has done nothing here yet must not, or it would never.
    fn is_to_move(&self, state: &RunState) -> bool {
        let _ = state;
        false
    }

    /// Takes the run to where it goes on, once [`is_to_move`](Self::is_to_move) has said so; gives what the run here ends with. It does
    /// not end, but goes on here, with a [`RunError::Continuation`] whose source says that it stays; until the next turn the host then does
    /// not say again that it is to move.
    fn move_on<'a>(&'a self, state: &'a RunState, scope: &'a Self::Scope) -> LocalBoxFuture<'a, RunError> {
        let _ = scope;
        let source = "this host moves no runs".into();
        let error = RunError::Continuation { agent: state.agent.clone(), turn: state.turn, source };
        std::future::ready(error).boxed_local()
    }

    /// Whether this run follows the rule that `slug` names: true for new runs, false for histories recorded before it.
    fn patched(&self, slug: &str) -> bool {
        let _ = slug;
        true
    }

    /// What tells this run from all others there are, and stays when it goes on elsewhere: a part of the idempotency keys of its calls.
    fn idempotency_scope(&self) -> String {
        String::new()
    }

    /// Sees the state before each step, of runs inside the run, too. The path is what the ids of that run's effects begin with: empty for
    /// the outermost.
    fn checkpoint(&self, path: &str, state: &RunState) {
        let _ = (path, state);
    }

    /// Hears what the run does; must not change it.
    fn observe(&self, event: &RunEvent<'_>) {
        let _ = event;
    }
}

/// What came of waiting for decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitOutcome {
    /// At least one call is decided, in the state: the run goes on.
    Decided,
    /// None is: the run ends paused.
    Undecided,
    /// The run was cancelled while it waited.
    Cancelled,
}

/// The id of an effect, unique in its run: short ASCII, never text from a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId {
    id: String,
    /// The length of the part that all effects of the same run inside the run have.
    path: usize,
}

impl EffectId {
    pub(super) fn new(path: &str, name: impl fmt::Display) -> Self {
        Self { id: format!("{path}{name}"), path: path.len() }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// The id of the same effect, tried once more after so many times.
    pub(super) fn again(&self, time: u32) -> Self {
        Self { id: format!("{}-again-{time}", self.id), path: self.path }
    }

    /// What the ids of all effects of the same nested run begin with; empty for the run itself.
    pub fn path(&self) -> &str {
        &self.id[..self.path]
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// A read or a write of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionEffect {
    /// The store.
    pub store: String,
    /// The session.
    pub session_id: String,
    /// What to do.
    pub action: SessionAction,
    /// Whose turn it is, or will be.
    pub agent: AgentInfo,
}

/// What to do with a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionAction {
    /// Give its items, the latest ones if there is a limit; oldest first.
    Read {
        /// Most items.
        limit: Option<u32>,
    },
    /// Add these items at the end.
    Add {
        /// The items.
        items: Vec<Item>,
    },
}

/// A tool call for the host to make.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolEffect<'a> {
    /// The tool; its binding says where it runs. Never one that runs in the loop itself, as inline tools and agents do.
    pub tool: &'a ToolDef,
    /// The call.
    pub info: CallInfo,
    /// Its id in the run.
    pub id: EffectId,
    /// The arguments, checked.
    pub arguments: Map<String, Value>,
    /// The keys of the run context the tool asked for.
    pub context: Map<String, Value>,
    /// Which tool of an MCP server this is; none for any other tool.
    pub mcp: Option<McpTarget>,
    /// The session of the call, where that server is stateful.
    pub mcp_session: Option<McpSession>,
}

/// An MCP server to be asked for its tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpEffect<'a> {
    /// The server.
    pub server: &'a McpServer,
    /// The id of the effect.
    pub id: EffectId,
    /// The agent whose server it is.
    pub agent: &'a str,
    /// The turn.
    pub turn: u32,
    /// The session to ask in, where the server is stateful.
    pub session: Option<&'a McpSession>,
}

/// Why an MCP server listed nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum McpEffectError {
    /// It was cancelled.
    Cancelled,
    /// It failed, after all attempts.
    Failed(EffectError),
    /// The session is gone.
    SessionLost(EffectError),
}

/// What a tool call gave.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// What the model gets.
    pub output: ToolOutput,
    /// Changes to the run context.
    pub context_patch: Option<Value>,
    /// What a run behind the call has used.
    pub usage: Usage,
    /// What an MCP server has asked people; the output counts for nothing then.
    pub question: Option<McpQuestion>,
}

impl ToolAnswer {
    /// This output and nothing else.
    pub fn new(output: ToolOutput) -> Self {
        Self { output, context_patch: None, usage: Usage::default(), question: None }
    }
}

/// Why a model call gave nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelEffectError {
    /// It was cancelled.
    Cancelled,
    /// It failed, after all its attempts.
    Failed {
        /// What went wrong, in the provider's own words.
        reason: String,
        /// The host's error.
        source: EffectError,
    },
}

/// Why a session was not read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionEffectError {
    /// The run was cancelled; a write may have been made.
    Cancelled,
    /// It failed, after all its attempts.
    Failed(EffectError),
}

impl From<EffectError> for McpEffectError {
    fn from(source: EffectError) -> Self {
        Self::Failed(source)
    }
}

impl From<EffectError> for SessionEffectError {
    fn from(source: EffectError) -> Self {
        Self::Failed(source)
    }
}

/// Why a tool call gave nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolEffectError {
    /// The tool failed; the model is told as the tool says.
    Failed {
        /// The text for the model, where the tool chose one.
        tell_model: Option<String>,
        /// What went wrong, in the tool's own words.
        message: String,
        /// What went wrong.
        source: EffectError,
    },
    /// The tool says that the run ends.
    FailsRun {
        /// Why, in the tool's own words.
        message: String,
        /// What went wrong.
        source: EffectError,
    },
    /// The body panicked at its last attempt.
    Panicked {
        /// The panic's message.
        message: String,
        /// What went wrong.
        source: EffectError,
    },
    /// It has run, and its output is larger than the tool or the server lets it be.
    Oversized {
        /// Which tool, how large, and the limit.
        message: String,
        /// What went wrong.
        source: EffectError,
    },
    /// No attempt ended in time.
    TimedOut {
        /// The time one attempt had.
        after: Duration,
        /// What went wrong.
        source: EffectError,
    },
    /// The only attempt broke off, and the tool is not idempotent: it may have taken effect.
    OutcomeUnknown {
        /// What went wrong.
        source: EffectError,
    },
    /// The agent behind the call failed, in a run of its own.
    Agent {
        /// What went wrong, in its own words.
        message: String,
        /// What it has used until then.
        usage: Usage,
        /// What went wrong.
        source: EffectError,
    },
    /// No worker on this task queue knows the tool.
    NotRegistered {
        /// The task queue.
        task_queue: String,
        /// What went wrong.
        source: EffectError,
    },
    /// What the tool stands for is not there; the error says what to do.
    Absent(EffectError),
    /// The session with a stateful MCP server is gone.
    SessionLost {
        /// Whether the call had begun by then: it may have taken effect.
        began: bool,
        /// What went wrong.
        source: EffectError,
    },
    /// It was cancelled.
    Cancelled,
    /// The host itself failed.
    Host(EffectError),
}

impl From<&ToolError> for ToolEffectError {
    fn from(error: &ToolError) -> Self {
        let (message, source) = (error.message().to_owned(), error.message().into());
        match error.kind() {
            ToolErrorKind::FailRun => Self::FailsRun { message, source },
            ToolErrorKind::TellModel => Self::Failed { tell_model: Some(message.clone()), message, source },
            ToolErrorKind::Failed | ToolErrorKind::Transient => Self::Failed { tell_model: None, message, source },
        }
    }
}

/// Something a run does, for observers.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// A turn begins.
    TurnStarted {
        /// The agent.
        agent: &'a str,
        /// The turn, counted from 1.
        turn: u32,
    },
    /// The model answered.
    ModelAnswered {
        /// The agent.
        agent: &'a str,
        /// The turn.
        turn: u32,
        /// The answer.
        response: &'a ModelResponse,
    },
    /// Tools are called.
    ToolsCalled {
        /// The agent.
        agent: &'a str,
        /// The turn.
        turn: u32,
        /// The tools, in call order.
        tools: &'a [&'a str],
    },
    /// A call whose reason the model is not told: arguments that do not fit, or a failed tool that is no activity of ours. For most of them
    /// this is the only place that says why.
    CallRefused {
        /// The call.
        call: &'a CallInfo,
        /// Why.
        reason: &'a str,
    },
    /// A summary of the conversation could not be had; the run goes on with all of it.
    NotSummarized {
        /// The agent.
        agent: &'a str,
        /// The turn.
        turn: u32,
        /// Why.
        reason: &'a str,
    },
    /// The run waits for decisions.
    Paused {
        /// The calls that wait.
        interruptions: &'a [Interruption],
    },
    /// The conversation moves to another agent.
    HandedOff {
        /// From this agent.
        from: &'a str,
        /// To this one.
        to: &'a str,
    },
}
