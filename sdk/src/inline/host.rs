//! The host of a run without Temporal. It calls models and tools in this process, and keeps nothing
//! after the run has ended.

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{Either, LocalBoxFuture, select},
};
use temporal_agents_core::{
    agent::{Graph, GraphIssue},
    drive::{
        EffectId, Host, KeptDecisionsEffect, LoopEvent, McpEffect, McpEffectError, ModelEffectError, SessionEffect,
        SessionEffectError, SourceEffectError, ToolAnswer, ToolEffect, ToolEffectError, ToolsetsEffect,
        model_limits::{FACTOR, LONGEST_PAUSE, Retries},
    },
    tool::{CallInfo, DeltaTransport, StateMap, ToolBinding, ToolDef},
    wire::{
        AgentInterruption, Interruption, Item, McpTool, ModelCall, ModelFailureKind, ModelResponse, RunState,
        SelectedToolset,
        asked_questions::AskedQuestions,
        event::{NoteKind, RunNote},
        kept_decision::KeptDecision,
        mcp_call::McpSession,
    },
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    deltas::DeltaPublisher, effects, mcp::Unlisted, model, observed_call::ObservedCall, run_threads::BodyThread, states,
};
use crate::{
    activity::tool::GRACE, events::EventPublisher, metrics::Metrics, remote::ToolsetQuery, resources::Resources,
};

/// The retry configuration of a run without Temporal. Its pauses are shorter than with Temporal,
/// because the caller waits.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// Maximum number of attempts at a model call, including the first.
    pub(crate) model_attempts: u32,
    /// Pause before the first retry.
    pub(crate) first_pause: Duration,
}

impl Patience {
    /// Returns the retry rule of a model call whose settings specify none.
    pub(crate) fn of_models(self) -> Retries {
        let Self { model_attempts: attempts, first_pause: initial } = self;
        Retries { initial, factor: FACTOR, longest: LONGEST_PAUSE, attempts }
    }

    /// Returns the pause after this attempt of a tool or of the listing of an MCP server's tools.
    pub(crate) fn pause(self, attempt: u32) -> Duration {
        self.first_pause.saturating_mul(2_u32.saturating_pow(attempt - 1)).min(Duration::from_secs(30))
    }
}

/// A function that receives the state of a run before each step.
pub(crate) type Checkpoint = Arc<dyn Fn(&RunState) + Send + Sync>;

/// A function that returns the states for one attempt at a call.
pub(crate) type AttemptStates = Arc<dyn Fn(&CallInfo) -> StateMap + Send + Sync>;

/// The failure of a call of a tool that only a workflow can call.
#[derive(Debug, thiserror::Error)]
#[error(
    "tool {tool:?} runs as an activity or workflow of another worker, which an inline run cannot reach; run the agent \
     with Runner in a workflow, or use another tool of that name in the inline run"
)]
struct NoWorkflow {
    tool: String,
}

/// The failure of a call of a Nexus operation, which only a workflow can call.
#[cfg(feature = "nexus")]
#[derive(Debug, thiserror::Error)]
#[error(
    "tool {tool:?} is a Nexus operation, which only a workflow can call; run the agent with Runner in a workflow, or \
     use another tool of that name in the inline run"
)]
struct NexusToolNeedsWorkflow {
    tool: String,
}

/// The outcome of a tool call.
pub(crate) struct Settled {
    pub(crate) outcome: Result<ToolAnswer, ToolEffectError>,
    /// `true` if the call was cancelled before it ended.
    pub(crate) is_late: bool,
}

/// The host of one run.
pub(crate) struct InlineHost {
    pub(crate) resources: Resources,
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Returns the states for each attempt at a call, in place of those of the resources; `None` if
    /// all attempts get the same ones.
    pub(crate) attempt_states: Option<AttemptStates>,
    /// Returns `true` if a cancelled call is continued by a later attempt of this host's run; `None`
    /// if there is never one.
    pub(crate) is_continued_later: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Unique id of the run; at a provider that of the caller. Part of the keys of its session
    /// writes, and the scope of its idempotency keys.
    pub(crate) run: String,
    /// Number of session writes so far; each write has its number in its key.
    pub(crate) session_writes: AtomicU32,
    pub(crate) patience: Patience,
    pub(crate) cancelled: CancellationToken,
    /// The publisher of its events; `None` without a subscriber, unless the facts are kept.
    pub(crate) publisher: Option<Arc<EventPublisher>>,
    /// The thread that polls the bodies of its tools.
    pub(crate) bodies: BodyThread,
    /// Counts its attempts.
    pub(crate) metrics: Option<Metrics>,
}

impl Host for InlineHost {
    type Scope = CancellationToken;

    fn scope(&self) -> Self::Scope {
        self.cancelled.child_token()
    }

    fn child(&self, scope: &Self::Scope) -> Self::Scope {
        scope.child_token()
    }

    fn cancel(&self, scope: &Self::Scope) {
        scope.cancel();
    }

    fn idempotency_scope(&self) -> String {
        self.run.clone()
    }

    fn lacks(&self, graph: &Graph) -> Vec<GraphIssue> {
        states::missing(graph, |requirement| self.resources.states.has(requirement))
    }

    fn tool_deltas(&self, path: &str, tool: &ToolDef) -> Option<Arc<dyn DeltaTransport>> {
        Some(Arc::new(self.deltas(path, tool)?))
    }

    fn checkpoint(&self, _path: &str, state: &RunState) {
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint(state);
        }
    }

    fn observe(&self, event: &LoopEvent<'_>) {
        event.warn();
        if let LoopEvent::Resumed { state } = event {
            self.note("", RunNote::resumed(state), &[]);
        }
    }

    fn note(&self, path: &str, note: RunNote, interruptions: &[Interruption]) {
        let Some(publisher) = &self.publisher else { return };
        let questions = (note.note == NoteKind::Paused).then(|| {
            let waits_for = interruptions.iter().cloned().map(AgentInterruption::from);
            AskedQuestions::new(&*note.agent, note.turn, waits_for)
        });
        let note = RunNote { run: publisher.run_at(path), ..note };
        publisher.observe(|facts| facts.noted(note, questions));
    }

    fn call_model<'a>(
        &'a self,
        id: EffectId,
        call: ModelCall,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ModelResponse, ModelEffectError>> {
        async move {
            let observed = self.observed_call(&id, &call.agent, call.turn);
            observed.model_scheduled(&call);
            let calling = model::call(&self.resources.providers, self.patience, call, &observed);
            let answered = scope.run_until_cancelled(calling).await;
            match &answered {
                Some(Ok(response)) => observed.model_answered(response),
                Some(Err(error)) => observed.model_failed(error),
                None => {}
            }
            match answered {
                Some(Ok(response)) => Ok(response),
                Some(Err(error)) if error.kind == ModelFailureKind::ConversationNotFound => {
                    Err(ModelEffectError::ConversationLost { reason: error.to_string(), source: Box::new(error) })
                }
                Some(Err(error)) => {
                    Err(ModelEffectError::Failed { reason: error.to_string(), source: Box::new(error) })
                }
                None => Err(ModelEffectError::Cancelled),
            }
        }
        .boxed_local()
    }

    fn list_mcp_tools<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<McpTool>, McpEffectError>> {
        async move {
            let pause = |attempt| self.patience.pause(attempt);
            let listing = self.resources.list_mcp_tools_with_retries(call.server, call.session, pause);
            match scope.run_until_cancelled(listing).await {
                None => Err(McpEffectError::Cancelled),
                Some(Ok(tools)) => Ok(tools),
                Some(Err(Unlisted { error, session_lost: true, .. })) => Err(McpEffectError::SessionLost(error)),
                Some(Err(Unlisted { error, .. })) => Err(McpEffectError::Failed(error)),
            }
        }
        .boxed_local()
    }

    fn open_mcp_session<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<McpSession, McpEffectError>> {
        async move {
            let opening = timeout(call.server.listing().start_to_close, self.resources.open_mcp_session(call.server));
            match scope.run_until_cancelled(opening).await {
                None => Err(McpEffectError::Cancelled),
                Some(Ok(opened)) => opened.map_err(|Unlisted { error, .. }| McpEffectError::Failed(error)),
                Some(Err(elapsed)) => Err(McpEffectError::Failed(Box::new(elapsed))),
            }
        }
        .boxed_local()
    }

    fn close_mcp_session(&self, session: McpSession, _id: EffectId) -> LocalBoxFuture<'_, ()> {
        self.resources.close_mcp_session(&session);
        std::future::ready(()).boxed_local()
    }

    fn find_toolsets<'a>(
        &'a self,
        call: ToolsetsEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<SelectedToolset>, SourceEffectError>> {
        async move {
            let query = ToolsetQuery::new(call.names, call.user);
            let finding = self.resources.toolsets.find(&query);
            let found = scope.run_until_cancelled(finding).await.ok_or(SourceEffectError::Cancelled)?;
            found.map_err(SourceEffectError::Failed)
        }
        .boxed_local()
    }

    fn kept_decisions<'a>(
        &'a self,
        call: KeptDecisionsEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<KeptDecision>, SourceEffectError>> {
        async move {
            let asking = self.resources.decisions.ask(&call.user, call.keep.as_ref());
            let found = scope.run_until_cancelled(asking).await.ok_or(SourceEffectError::Cancelled)?;
            found.map_err(SourceEffectError::Failed)
        }
        .boxed_local()
    }

    fn call_session<'a>(
        &'a self,
        call: SessionEffect,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<Item>, SessionEffectError>> {
        self.session_call(call, scope).boxed_local()
    }

    fn call_tool<'a>(
        &'a self,
        call: ToolEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ToolAnswer, ToolEffectError>> {
        async move {
            let Settled { outcome, is_late } = self.call_tool_with_grace_period(call, scope).await;
            if is_late { Err(ToolEffectError::Cancelled) } else { outcome }
        }
        .boxed_local()
    }
}

impl InlineHost {
    /// Returns the transport of what this tool sends, without the redaction of secrets.
    pub(super) fn deltas(&self, path: &str, tool: &ToolDef) -> Option<DeltaPublisher> {
        let publisher = self.publisher.as_ref().filter(|publisher| publisher.subscriber().is_some())?;
        Some(DeltaPublisher::new(publisher, path, tool.redaction()))
    }

    /// Returns a call of this run, which is reported to the publisher of its events.
    pub(crate) fn observed_call<'t>(&'t self, id: &'t EffectId, agent: &str, turn: u32) -> ObservedCall<'t> {
        ObservedCall::new(self.publisher.as_ref(), self.metrics.as_ref(), id, agent, turn)
    }

    /// Calls a tool. When `scope` is cancelled, the body has the grace period to notice and to
    /// clean up, as in an activity; the outcome of a body that ends in that time is also returned.
    pub(crate) async fn call_tool_with_grace_period(&self, call: ToolEffect<'_>, scope: &CancellationToken) -> Settled {
        let (id, info, is_recorded) = (call.id.clone(), call.info.clone(), call.tool.binding().leaves_a_reply());
        let observed = self.observed_call(&id, &info.agent, info.turn);
        if is_recorded {
            observed.tool_scheduled();
        }
        let calling = std::pin::pin!(self.tool(call, scope, &observed));
        match select(calling, std::pin::pin!(scope.cancelled())).await {
            Either::Left((outcome, _)) => {
                if is_recorded {
                    observed.tool_ended(&info, &outcome);
                }
                Settled { outcome, is_late: false }
            }
            Either::Right(((), calling)) => {
                let outcome = timeout(GRACE, calling).await.unwrap_or(Err(ToolEffectError::Cancelled));
                observed.aside_ended(&info, &outcome);
                Settled { outcome, is_late: true }
            }
        }
    }

    async fn tool(
        &self,
        call: ToolEffect<'_>,
        scope: &CancellationToken,
        observed: &ObservedCall<'_>,
    ) -> Result<ToolAnswer, ToolEffectError> {
        match call.tool.binding() {
            ToolBinding::Activity { body, options } => self.activity(body, options, call, scope, observed).await,
            ToolBinding::Mcp(binding) => {
                let ((body, question), session) = (self.resources.mcp_body(&call)?, call.mcp_session.clone());
                // Checked before the call and after a failure: once the session's connection is
                // closed, the session is lost, whatever the failure is.
                let lost = |began| {
                    let is_lost = session.as_ref().is_some_and(|session| !self.resources.has_mcp_session(session));
                    let source =
                        || format!("the connection to MCP server {:?} is closed", binding.server().name()).into();
                    is_lost.then(|| ToolEffectError::SessionLost { began, source: source() })
                };
                if let Some(lost) = lost(false) {
                    return Err(lost);
                }
                let answer = self.activity(&body, binding.options(), call, scope, observed).await;
                let answer = answer.map_err(|error| lost(true).unwrap_or(error))?;
                Ok(ToolAnswer { question: question.take(), ..answer })
            }
            ToolBinding::Remote(binding) => {
                let body = self.resources.remote_body(binding, &call)?;
                self.activity(&body, binding.options(), call, scope, observed).await
            }
            ToolBinding::Workflow(body) => {
                let deltas = self.tool_deltas(call.id.path(), call.tool);
                effects::call(body, call, scope, deltas).await
            }
            ToolBinding::RemoteActivity(_) | ToolBinding::ChildWorkflow(_) | ToolBinding::ChildAgent(_) => {
                Err(ToolEffectError::Host(Box::new(NoWorkflow { tool: call.info.tool })))
            }
            #[cfg(feature = "nexus")]
            ToolBinding::Nexus(_) => {
                Err(ToolEffectError::Host(Box::new(NexusToolNeedsWorkflow { tool: call.info.tool })))
            }
            ToolBinding::Inline(_) | ToolBinding::Agent(_) | ToolBinding::Client => {
                unreachable!("the loop itself runs inline tools and agents")
            }
        }
    }
}
