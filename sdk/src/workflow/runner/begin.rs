//! The beginning of a run: the input of its loop, and the host that it runs on.

use std::{cell::OnceCell, rc::Rc, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use temporal_agents_core::{
    agent::{AgentDef, Graph},
    drive::{Outputs, Run, RunFailure, RunOutcome, check_resumed, installed::warn_without_plugin, run_graph},
    engine::RunError,
    tool::BoxError,
    wire::{Carried, RunState},
};
use temporalio_workflow::WorkflowCancellationToken;

use super::Runner;
use crate::workflow::{
    continuing::{ContinuableRun, RestoredRun, arrive, check_origin, fail_task, record_deploy_patch},
    headers::TraceKey,
    host::{self, WorkflowHost},
    inbox::{AgentInbox, RunInbox, Waits},
    replay_journal::{ReplayNote, note, note_failure},
};

/// The origin of a run of a request.
#[derive(Debug)]
pub enum Start {
    /// An input or a state.
    Here(Run),
    /// A run that the previous execution has carried over.
    Before(Box<Carried>),
}

impl From<Run> for Start {
    fn from(run: Run) -> Self {
        Self::Here(run)
    }
}

/// The origin of a run.
pub(super) enum Beginning {
    /// The origin that a request has.
    Requested(Start),
    /// A carried run whose state was already restored.
    RestoredRun(Box<RunState>, RestoredRun),
}

impl<W: 'static> Runner<W> {
    /// Runs an agent until it ends, or pauses where that is possible.
    pub(super) async fn run_to_outcome<O: DeserializeOwned>(
        &self,
        agent: &Arc<AgentDef>,
        beginning: Beginning,
        waits: Waits,
        outputs: Outputs,
    ) -> Result<RunOutcome<O>, RunFailure> {
        let _at_work = self.at_work.one();
        let graph = Graph::of(agent).judged_by(self.config.judges());
        // Boxed, because a run that waits no longer needs it.
        let (host, run) = Box::pin(self.begun(agent, &graph, beginning, waits)).await?;
        let config = self.config.traced_as(&run);
        let host = host.with_trace(&config.trace);
        // The author may have withdrawn questions since the latest run.
        host.record_open_questions();
        let running = host.settled(run_graph(&host, &graph, &config, run, outputs));
        let outcome = if config.trace.is_empty() {
            running.await
        } else {
            self.workflow.with_context_value::<TraceKey, _>(config.trace.clone(), running).await
        };
        host.ended(&outcome);
        // Another run of this runner may be between two calls of a conversation.
        if self.at_work.count() == 1 {
            self.ledger.borrow_mut().rest_between_runs();
        }
        outcome
    }

    /// Begins a run, and notes that in the journal of a check that replays, as well as the failure
    /// of a run that cannot begin.
    async fn begun(
        &self,
        agent: &AgentDef,
        graph: &Graph,
        beginning: Beginning,
        waits: Waits,
    ) -> Result<(WorkflowHost, Run), RunFailure> {
        note(&*self.ctx, || ReplayNote::Began { agent: Box::new(agent.clone()) });
        if !self.ctx.is_replaying() && !self.model.has_task_queue() {
            warn_without_plugin(&self.ctx.workflow_id(), &agent.name);
        }
        let begun = self.begin(agent, graph, beginning, waits).await.map_err(RunFailure::from);
        begun.inspect_err(|failure| note_failure(&*self.ctx, failure))
    }

    /// Creates the host of a run, and the input of its loop.
    ///
    /// # Errors
    /// Errors that only a runner can detect, and the reason why a carried run cannot be continued.
    async fn begin(
        &self,
        agent: &AgentDef,
        graph: &Graph,
        beginning: Beginning,
        waits: Waits,
    ) -> Result<(WorkflowHost, Run), RunError> {
        graph.check_known(self.model.agents_with_options())?;
        let id = OnceCell::new();
        let (run, arrived) = match beginning {
            Beginning::Requested(Start::Here(run)) => (run, None),
            Beginning::Requested(Start::Before(carried)) => {
                let (state, arrived) = self.arrived(agent, *carried, &id).await?;
                (Run::Continue(Box::new(state)), Some(arrived))
            }
            Beginning::RestoredRun(state, arrived) => (Run::Continue(state), Some(arrived)),
        };
        let paused = match &run {
            Run::Resume(state) | Run::Continue(state) => Some(&**state),
            Run::Start(_) => None,
        };
        if let Some(state) = paused {
            self.check_continued(graph, state).await;
        }
        let moving = self.moving(agent, arrived)?;
        let inbox = self.inbox.clone().map(|ctx| RunInbox::begin(ctx, waits, paused));
        let used = paused.map(|state| state.usage.clone()).unwrap_or_default();
        let host = self.host(inbox, moving, id).with_usage(&used);
        Ok((host, run))
    }

    pub(super) fn host(
        &self,
        inbox: Option<RunInbox>,
        moving: Option<ContinuableRun>,
        id: OnceCell<String>,
    ) -> WorkflowHost {
        let (ctx, model, ledger) = (Rc::clone(&self.ctx), Arc::clone(&self.model), Rc::clone(&self.ledger));
        WorkflowHost::new(ctx, model, inbox, self.cancels(), ledger, moving)
            .with_id(id)
            .with_tool_concurrency(self.config.max_tool_concurrency)
            .with_versioned_tools(Arc::clone(&self.versioned_tools))
    }

    fn cancels(&self) -> WorkflowCancellationToken {
        self.token.clone().unwrap_or_else(|| self.ctx.cancellation_token())
    }

    /// Returns the state for the automatic continue-as-new of a run of this agent, if it is
    /// enabled.
    pub(super) fn moving(
        &self,
        agent: &AgentDef,
        arrived: Option<RestoredRun>,
    ) -> Result<Option<ContinuableRun>, RunError> {
        let Some(continuing) = &self.continuing else { return Ok(None) };
        let (announcement, at_work) = (self.announcement.clone(), self.at_work.clone());
        continuing.begin(&agent.name, self.continue_when.clone(), announcement, at_work, arrived).map(Some)
    }

    /// Restores the state that the previous execution left, and merges its inbox.
    pub(super) async fn arrived(
        &self,
        agent: &AgentDef,
        carried: Carried,
        id: &OnceCell<String>,
    ) -> Result<(RunState, RestoredRun), RunError> {
        let Carried { version: _, continued, state, inbox } = carried;
        check_origin(&agent.name, self.ctx.continued_from(), &state)?;
        record_deploy_patch(&*self.ctx);
        self.take_over(agent, inbox).await?;
        let draw = || host::run_id(id, &self.ctx).to_owned();
        arrive(&self.ctx, &agent.name, draw, (continued, state), &self.cancels(), &self.ledger).await
    }

    /// Fails the workflow task if a state does not fit these agents and the server says that the
    /// execution was continued: a deploy has changed the agents of the run. In an execution that a
    /// caller has started, the run fails instead.
    async fn check_continued(&self, graph: &Graph, state: &RunState) {
        if let Err(error) = check_resumed(state, graph, &self.config)
            && may_fit_another_build(&error)
            && self.ctx.continued_from().is_ok()
        {
            fail_task(&*self.ctx, &state.agent, error).await;
        }
    }

    /// Merges the inbox of the previous execution. An inbox that does not fit this build fails the
    /// workflow task.
    async fn take_over(&self, agent: &AgentDef, inbox: Option<Value>) -> Result<(), RunError> {
        let Some(inbox) = inbox else { return Ok(()) };
        let (before, ctx) = match (AgentInbox::deserialize(inbox), &self.inbox) {
            (Ok(before), Some(ctx)) => (before, ctx),
            (before, _) => {
                let source: BoxError = match before {
                    Err(error) => error.into(),
                    Ok(_) => NO_INBOX.into(),
                };
                fail_task(&*self.ctx, &agent.name, &source).await;
                return Err(RunError::Continuation { agent: agent.name.clone(), turn: 0, source });
            }
        };
        let mut before = Some(before);
        ctx.change(&mut |inbox| {
            if let Some(before) = before.take() {
                inbox.take_over(before);
            }
        });
        Ok(())
    }
}

const NO_INBOX: &str = "it was continued with an inbox of decisions, and this runner has none: use Runner::with_inbox";

/// Returns `true` if a build with other agents could resume a state that was refused with this
/// error.
fn may_fit_another_build(error: &RunError) -> bool {
    match error {
        RunError::State(mismatch) => mismatch.is_resumable_by_other_agents(),
        // A session that either only the state or only the runner has.
        error => matches!(error, RunError::User { .. }),
    }
}
