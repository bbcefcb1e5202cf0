//! Calls of registered tools: on the host of inline runs, by the rules of the loop.

use std::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
    sync::{Arc, atomic::AtomicU32},
};

use temporal_agents_core::{
    drive::{SingleAnswer, SingleCall, SingleError, call_single},
    engine::RunError,
    tool::{CallInfo, RunContext, ToolBinding, ToolDef, ToolFailure, idempotency_key, trace_context::TraceContext},
    wire::{SideData, ToolOutput, tool_call_meta::ToolCallMeta},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{ToolRegistry, error::DispatchError};
use crate::{
    events::{AttemptContext, EventPublisher, EventSink, RunObserver, within},
    inline::{
        host::{InlineHost, Patience},
        run_threads::{BodyThread, run_on_run_thread},
    },
};

impl ToolRegistry {
    /// Prepares a call of a tool, which is made when it is awaited: its arguments are checked, its
    /// guardrails run, its body runs, with the retries and the time limits of its options, and a
    /// failure is handled by its `OnToolError`. All of this is as in a run, with three exceptions:
    /// task queue and heartbeat do not apply, and the condition that enables the tool is not
    /// evaluated, since it concerns agents only.
    ///
    /// Calls share the [threads of runs](crate::inline::InlineRunner#threads). Dropping the future
    /// cancels the call.
    ///
    /// # Errors
    /// [`DispatchError`]; a tool that fails is not an error.
    ///
    /// # Panics
    /// If it is awaited outside of a tokio runtime.
    pub fn dispatch(&self, name: &str, arguments: impl Into<String>) -> Dispatch {
        let unknown =
            || DispatchError::Unknown { tool: name.to_owned(), known: self.names().map(str::to_owned).collect() };
        let tool = self.get(name).ok_or_else(unknown).and_then(|tool| self.checked(tool));
        Dispatch {
            tool,
            registry: self.clone(),
            served: None,
            arguments: arguments.into(),
            call_id: None,
            idempotency_key: None,
            agent: "registry".to_owned(),
            turn: 1,
            context: RunContext::default(),
            is_approved: false,
        }
    }

    /// Returns the tool, if the registry can run it.
    fn checked(&self, tool: &ToolDef) -> Result<ToolDef, DispatchError> {
        let name = || tool.name().to_owned();
        if let Some((kind, fix)) = elsewhere(tool.binding()) {
            return Err(DispatchError::NotDispatchable { tool: name(), kind, fix });
        }
        match tool.requirements().iter().find(|requirement| !self.resources.states.has(requirement)) {
            None => Ok(tool.clone()),
            Some(missing) => Err(DispatchError::MissingState { tool: name(), state: missing.type_name() }),
        }
    }

    fn host(&self) -> InlineHost {
        let Self { tools: _, resources, patience } = self;
        InlineHost {
            resources: resources.clone(),
            checkpoint: None,
            attempt_states: None,
            is_continued_later: None,
            run: Uuid::new_v4().to_string(),
            session_writes: AtomicU32::new(0),
            patience: Patience::clone(patience),
            cancelled: CancellationToken::new(),
            publisher: None,
            bodies: BodyThread::default(),
            metrics: None,
        }
    }
}

/// Describes a tool whose body is not in this process, and the remedy; returns `None` for other
/// tools.
fn elsewhere(binding: &ToolBinding) -> Option<(&'static str, &'static str)> {
    const IN_A_WORKFLOW: &str = "add it to an agent that a workflow runs";
    match binding {
        ToolBinding::Inline(_) | ToolBinding::Activity { .. } | ToolBinding::Remote(_) | ToolBinding::Workflow(_) => {
            None
        }
        ToolBinding::RemoteActivity(_) => Some(("an activity of another worker", IN_A_WORKFLOW)),
        ToolBinding::ChildWorkflow(_) => Some(("a child workflow", IN_A_WORKFLOW)),
        ToolBinding::ChildAgent(_) => Some(("an agent in a child workflow", IN_A_WORKFLOW)),
        #[cfg(feature = "nexus")]
        ToolBinding::Nexus(_) => Some(("a Nexus operation", IN_A_WORKFLOW)),
        ToolBinding::Agent(_) => Some(("an agent", "run it with InlineRunner, or add it to another agent")),
        ToolBinding::Client => {
            Some(("made by a client", "make the call in the client, and send its output to the model"))
        }
        ToolBinding::Mcp(_) => Some((
            "made by an MCP server that an agent's host reaches",
            "register the server's tools with ToolRegistry::register_mcp, or those of McpServer::tools_with_client",
        )),
    }
}

/// A call that is made when it is awaited. Its methods first set the values that a run would know
/// of the call.
#[must_use = "the call is made when it is awaited"]
pub struct Dispatch {
    tool: Result<ToolDef, DispatchError>,
    registry: ToolRegistry,
    served: Option<Served>,
    arguments: String,
    call_id: Option<String>,
    idempotency_key: Option<String>,
    agent: String,
    turn: u32,
    context: RunContext,
    is_approved: bool,
}

impl Dispatch {
    /// Sets the model's id of the call. Default: a random one.
    pub fn call_id(mut self, id: impl Into<String>) -> Self {
        self.call_id = Some(id.into());
        self
    }

    /// Sets the key that identifies the call to external systems ([`CallInfo::idempotency_key`]).
    /// Set the same key for the same call, for example at each attempt of the activity that makes
    /// it. Default: a key that no other call has.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Sets the name of the agent that makes the call, as the tool receives it. Default:
    /// `registry`.
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = agent.into();
        self
    }

    /// Sets the turn, counted from 1, as the tool receives it. Default 1.
    pub fn turn(mut self, turn: u32) -> Self {
        self.turn = turn;
        self
    }

    /// Sets the values that tools share; [`DispatchResult::context`] returns them with the changes
    /// of the call. Default: none.
    pub fn context(mut self, context: RunContext) -> Self {
        self.context = context;
        self
    }

    /// Marks the call as approved, if it needs approval.
    pub fn approved(mut self) -> Self {
        self.is_approved = true;
        self
    }

    /// Sets the caller of a call that a provider serves.
    pub(in crate::worker) fn served(mut self, served: Served) -> Self {
        self.served = Some(served);
        self
    }

    async fn made(self) -> Result<DispatchResult, DispatchError> {
        let Self {
            tool,
            registry,
            served,
            arguments,
            call_id,
            idempotency_key: key,
            agent,
            turn,
            context,
            is_approved,
        } = self;
        let (tool, mut host, served) = (tool?, registry.host(), served.unwrap_or_default());
        let call_id = call_id.unwrap_or_else(|| format!("call_{}", Uuid::new_v4().simple()));
        let key = key.unwrap_or_else(|| idempotency_key([&*host.run, tool.name(), &*call_id]));
        let info = CallInfo::new(tool.name(), &*call_id, agent, turn).with_idempotency_key(key);
        let entered = entered(&served.trace);
        let info = served.apply_to(&mut host, info, entered.clone());
        let (name, context) = (info.tool.clone(), context.into_values());
        let stopped = RunError::Cancelled { agent: info.agent.clone(), turn };
        let single = SingleCall { info, arguments, context, is_approved };
        let ended = run_on_run_thread(move |cancelled| async move {
            host.cancelled = cancelled;
            Box::pin(within(entered, call_single(&host, &tool, single))).await
        });
        match ended.await {
            Some(Ok(SingleAnswer { output, failure, context, side_data })) => {
                let side_data = side_data.map(|data| *data).unwrap_or_default();
                Ok(DispatchResult { output, failure, context: RunContext::new(context), side_data })
            }
            Some(Err(SingleError::Waits)) => Err(DispatchError::NeedsApproval { tool: name, call_id }),
            Some(Err(SingleError::RunEnded(error))) => Err(error.into()),
            None => Err(stopped.into()),
        }
    }
}

/// The caller of a call that a provider serves.
#[derive(Default)]
pub(in crate::worker) struct Served {
    /// The subscriber of the call's events, of which the provider passes on the deltas.
    pub(in crate::worker) events: Option<EventSink>,
    /// The run of the caller.
    pub(in crate::worker) meta: ToolCallMeta,
    /// The trace of the caller.
    pub(in crate::worker) trace: TraceContext,
}

impl Served {
    /// Sets run and publisher of the host, and returns the call with the caller's session, parent
    /// call and trace.
    fn apply_to(self, host: &mut InlineHost, info: CallInfo, entered: Option<AttemptContext>) -> CallInfo {
        let Self { events, meta, trace } = self;
        if !meta.run_id.is_empty() {
            host.run = meta.run_id;
        }
        let observer = entered.map(|entered| RunObserver {
            sink: None,
            contexts: Arc::new(move |_| entered.clone()),
            asides: None,
        });
        host.publisher = EventPublisher::of_both("", events, observer).map(Arc::new);
        let some = |id: String| Some(id).filter(|id| !id.is_empty());
        let (session_id, parent) = (some(meta.session_id), some(meta.parent_tool_call_id));
        info.with_session_and_parent(session_id, parent).with_trace_context(trace)
    }
}

/// Returns the context of code in this trace; `None` without one.
#[cfg(feature = "otel")]
fn entered(trace: &TraceContext) -> Option<AttemptContext> {
    let context = crate::trace::propagation::to_context(trace);
    (*trace != TraceContext::default()).then(|| AttemptContext::new(move || Box::new(context.clone().attach())))
}

/// Returns `None`: without the feature `otel`, code has no context.
#[cfg(not(feature = "otel"))]
fn entered(_: &TraceContext) -> Option<AttemptContext> {
    None
}

impl IntoFuture for Dispatch {
    type Output = Result<DispatchResult, DispatchError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.made())
    }
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch")
            .field("tool", &self.tool.as_ref().map(ToolDef::name))
            .field("call_id", &self.call_id)
            .field("agent", &self.agent)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DispatchResult {
    /// Output for the model: that of the tool, or the message for its failure.
    pub output: ToolOutput,
    /// The failure of the call, for logs, not for the model; `None` if it succeeded. A call that a
    /// guardrail rejects has not failed: the model receives the guardrail's message.
    pub failure: Option<ToolFailure>,
    /// The values that tools share, after the call.
    pub context: RunContext,
    /// Data that the model does not receive.
    pub side_data: SideData,
}

impl DispatchResult {
    /// Returns the output for the model as text; content parts are converted to their JSON.
    pub fn text(&self) -> String {
        self.output.to_text()
    }

    /// Returns `true` if the call has failed: the value of Anthropic's `is_error`.
    pub fn is_error(&self) -> bool {
        self.failure.is_some()
    }
}
