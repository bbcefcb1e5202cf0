//! The context of a tool call: the call, the values of the run, states and settings.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::trace_context::TraceContext;
use super::{deltas::DeltaTransport, idempotency::idempotency_key, run_context::RunContext, state::StateMap};
use crate::wire::{Bounds, ServerData, SideData, error_debug};

/// A call of a tool: the agent that made it, and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallInfo {
    /// Name of the tool.
    pub tool: String,
    /// The model's id of the call.
    pub call_id: String,
    /// Name of the agent that made the call.
    pub agent: String,
    /// The turn in which the call was made, counted from 1; at a
    /// `ToolProvider` that of the caller, or 1.
    pub turn: u32,
    /// The attempt, counted from 1; always 1 for inline tools.
    pub attempt: u32,
    idempotency_key: String,
    run_id: String,
    caller: Option<Arc<CallerOfRun>>,
}

/// The session, the parent call and the trace of a run. Most runs have none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CallerOfRun {
    session_id: Option<String>,
    parent_call_id: Option<String>,
    trace: TraceContext,
}

static NO_TRACE: TraceContext =
    TraceContext { traceparent: String::new(), tracestate: String::new(), baggage: String::new() };

impl CallInfo {
    /// Creates the first attempt of a call. Its idempotency key is derived from agent, turn and
    /// call id alone, which is enough for unit tests of tools.
    pub fn new(tool: impl Into<String>, call_id: impl Into<String>, agent: impl Into<String>, turn: u32) -> Self {
        let (call_id, agent) = (call_id.into(), agent.into());
        let idempotency_key = idempotency_key([&*agent, &*turn.to_string(), &*call_id]);
        Self {
            tool: tool.into(),
            call_id,
            agent,
            turn,
            attempt: 1,
            idempotency_key,
            run_id: String::new(),
            caller: None,
        }
    }

    /// Sets the idempotency key that the host derived for the call.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = key.into();
        self
    }

    /// Returns the key that identifies this call to external services, so that an effect is not
    /// repeated: 16 characters of `A-Z a-z 0-9 - _`.
    ///
    /// It is the same at every attempt, after continue-as-new, and when the workflow is reset to a
    /// point after the model made the call. No other call has it: it is a hash of the id of the
    /// workflow's first execution (which no other workflow of any namespace has), the run of
    /// agents, the path of agents, the turn, the model's response and the call's id. (Without
    /// Temporal, a random id of the run replaces the first two.) A guardrail in an activity has one
    /// key for each input or output that it checks.
    pub fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }

    /// Returns the id of the run that makes the call: in a workflow that of the workflow, without
    /// Temporal a random one, and in a `ToolProvider` the one that
    /// the caller states. Empty where the body runs in the workflow itself.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Sets the id of the run.
    #[must_use]
    pub fn with_run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = id.into();
        self
    }

    /// Returns the session id of the run, or of the run that contains it: the id of its stored session, or
    /// else [`RunConfig::session_id`](crate::drive::RunConfig::session_id), which ready-made chats set to their
    /// id.
    pub fn session_id(&self) -> Option<&str> {
        self.caller.as_ref()?.session_id.as_deref()
    }

    /// Sets the id of the session.
    #[must_use]
    pub fn with_session_id(self, id: impl Into<String>) -> Self {
        self.with_caller(|caller| caller.session_id = Some(id.into()))
    }

    /// Returns the idempotency key of the call that an agent, used as a tool, answers with the run
    /// that makes this call.
    pub fn parent_call_id(&self) -> Option<&str> {
        self.caller.as_ref()?.parent_call_id.as_deref()
    }

    /// Sets the idempotency key of the call that the run answers.
    #[must_use]
    pub fn with_parent_call_id(self, id: impl Into<String>) -> Self {
        self.with_caller(|caller| caller.parent_call_id = Some(id.into()))
    }

    /// Returns the ids of session and parent call.
    #[doc(hidden)]
    pub fn session_and_parent(&self) -> (Option<String>, Option<String>) {
        (self.session_id().map(str::to_owned), self.parent_call_id().map(str::to_owned))
    }

    /// Sets the ids of session and parent call.
    #[doc(hidden)]
    #[must_use]
    pub fn with_session_and_parent(self, session_id: Option<String>, parent_call_id: Option<String>) -> Self {
        if session_id.is_none() && parent_call_id.is_none() {
            return self;
        }
        self.with_caller(|caller| (caller.session_id, caller.parent_call_id) = (session_id, parent_call_id))
    }

    /// Returns the trace in which the caller of a `ToolProvider`
    /// makes the call, for requests of the tool to other services; otherwise an empty one. With
    /// feature `otel`, the body also runs in this trace.
    pub fn trace_context(&self) -> &TraceContext {
        self.caller.as_ref().map_or(&NO_TRACE, |caller| &caller.trace)
    }

    /// Sets the trace of the call.
    #[must_use]
    pub fn with_trace_context(self, trace: TraceContext) -> Self {
        self.with_caller(|caller| caller.trace = trace)
    }

    /// Sets the trace that the fields of a header name, as JSON, if they name one.
    #[doc(hidden)]
    #[must_use]
    pub fn with_caller_trace(self, fields: Option<&[u8]>) -> Self {
        match fields.and_then(TraceContext::from_json) {
            Some(trace) => self.with_trace_context(trace),
            None => self,
        }
    }

    fn with_caller(mut self, set: impl FnOnce(&mut CallerOfRun)) -> Self {
        let mut caller = self.caller.take().unwrap_or_default();
        set(Arc::make_mut(&mut caller));
        self.caller = Some(caller).filter(|caller| **caller != CallerOfRun::default());
        self
    }

    /// Sets the number of the attempt.
    #[must_use]
    pub fn at_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }
}

/// Reports to a tool that its call was cancelled.
///
/// The worker implements it over the activity, and the inline host over its cancellation token.
/// Tools that run in the workflow have none.
pub trait Heartbeat: Send + Sync {
    /// Returns `true` if the call was cancelled.
    fn is_cancelled(&self) -> bool;

    /// Returns `true` if the call was cancelled because its run was cancelled or has ended, so that
    /// no attempt follows. Returns `false` if its worker stops, or if the reason cannot be found out.
    fn is_cancelled_for_good(&self) -> BoxFuture<'_, bool> {
        std::future::ready(false).boxed()
    }
}

/// The error of a setting that is missing, or is not of the requested type.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The setting was not set.
    #[error("the tool has no setting {name:?}; add it where the agent gets the tool, with .setting({name:?}, ..)")]
    Missing {
        /// Name of the setting.
        name: String,
    },
    /// The setting has a value of another type.
    #[error("setting {name:?} of the tool is not a {expected}: {source}")]
    OtherType {
        /// Name of the setting.
        name: String,
        /// The Rust type that was requested.
        expected: &'static str,
        /// The error of serde.
        source: serde_json::Error,
    },
}

error_debug!(enum SettingError {
    Missing { name },
    OtherType { name, expected, source },
});

/// The context of a tool call, passed to a parameter of type `&ToolContext` or `&mut ToolContext`.
#[derive(Clone)]
pub struct ToolContext {
    info: CallInfo,
    run: RunContext,
    states: StateMap,
    settings: Map<String, Value>,
    heartbeat: Option<Arc<dyn Heartbeat>>,
    deltas: Option<Arc<dyn DeltaTransport>>,
    side_data: SideData,
}

impl ToolContext {
    /// Creates a context without states and settings, for this call and these run values: for unit
    /// tests of tools.
    pub fn new(info: CallInfo, run: RunContext) -> Self {
        Self {
            info,
            run,
            states: StateMap::default(),
            settings: Map::new(),
            heartbeat: None,
            deltas: None,
            side_data: SideData::default(),
        }
    }

    /// Adds a state for parameters of type `State<T>`; there is one per type.
    #[must_use]
    pub fn with_state<T: Clone + Send + Sync + 'static>(mut self, state: T) -> Self {
        self.states.insert(state);
        self
    }

    /// Sets the states of the worker.
    #[doc(hidden)]
    #[must_use]
    pub fn with_states(mut self, states: StateMap) -> Self {
        self.states = states;
        self
    }

    /// Adds the heartbeat of the activity.
    #[doc(hidden)]
    #[must_use]
    pub fn with_heartbeat(mut self, heartbeat: Arc<dyn Heartbeat>) -> Self {
        self.heartbeat = Some(heartbeat);
        self
    }

    /// Sets the transport of what the tool sends while it works, if there is one.
    #[doc(hidden)]
    #[must_use]
    pub fn with_deltas(mut self, deltas: Option<Arc<dyn DeltaTransport>>) -> Self {
        self.deltas = deltas;
        self
    }

    /// Returns the transport of what the tool sends while it works.
    pub(super) fn deltas(&self) -> Option<&dyn DeltaTransport> {
        self.deltas.as_deref()
    }

    /// Sets the settings of the tool.
    #[must_use]
    pub fn with_settings(mut self, settings: Map<String, Value>) -> Self {
        self.settings = settings;
        self
    }

    /// Returns the tool's setting of this name ([`ToolDef::setting`](super::ToolDef::setting)),
    /// with secrets filled in.
    ///
    /// # Errors
    /// [`SettingError`] if the setting is missing, or is not a `T`.
    pub fn setting<T: DeserializeOwned>(&self, name: &str) -> Result<T, SettingError> {
        let value = self.settings.get(name).ok_or_else(|| SettingError::Missing { name: name.to_owned() })?;
        T::deserialize(value).map_err(|source| SettingError::OtherType {
            name: name.to_owned(),
            expected: std::any::type_name::<T>(),
            source,
        })
    }

    /// Returns the call.
    pub fn info(&self) -> &CallInfo {
        &self.info
    }

    /// Returns the values of the run: all of them for an inline tool, the named keys for an
    /// activity tool.
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// Returns the values of the run for the tool to change.
    pub fn run_mut(&mut self) -> &mut RunContext {
        &mut self.run
    }

    /// Adds data for other readers than the model, which never receives it: people who watch the
    /// run, audits, the workflow itself. It counts towards the limit of the tool's output.
    ///
    /// The data is in [`NewItem::side_data`](crate::wire::NewItem::side_data) of the call's output,
    /// and in the event of the output.
    pub fn add_server_data(&mut self, data: ServerData) {
        self.side_data.server_data.push(data);
    }

    /// States the part of a whole that the output is; see
    /// [`ToolDef::bounded`](super::ToolDef::bounded).
    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.side_data.bounds = Some(bounds);
    }

    /// Removes and returns the data that the model does not receive.
    #[doc(hidden)]
    pub fn take_side_data(&mut self) -> SideData {
        std::mem::take(&mut self.side_data)
    }

    /// Returns the states of the worker.
    pub(crate) fn states(&self) -> &StateMap {
        &self.states
    }

    /// Returns `true` if the call was cancelled; a long activity tool should check it regularly.
    /// Always `false` for inline tools.
    pub fn is_cancelled(&self) -> bool {
        self.heartbeat.as_ref().is_some_and(|heartbeat| heartbeat.is_cancelled())
    }

    /// Returns `true` if the call was cancelled, and no later attempt follows.
    #[doc(hidden)]
    pub async fn is_cancelled_for_good(&self) -> bool {
        match &self.heartbeat {
            Some(heartbeat) if heartbeat.is_cancelled() => heartbeat.is_cancelled_for_good().await,
            _ => false,
        }
    }

    /// Returns the run context, consuming this context.
    pub fn into_run(self) -> RunContext {
        self.run
    }
}

impl std::fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolContext").field("info", &self.info).field("run", &self.run).finish_non_exhaustive()
    }
}
