//! What a run begins with, and what it runs on.

use std::{cell::OnceCell, rc::Rc, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use temporalio_workflow::WorkflowCancellationToken;

use super::Runner;
use crate::{
    agent::{Agent, AgentDef, Graph},
    drive::{Run, RunFailure, RunOutcome, run_paused_or_typed, run_untyped},
    engine::{EffectError, RunError},
    wire::{Carried, RunState},
    workflow::{
        continuing::{Arrived, Moving, arrive, check_origin},
        host::{self, WorkflowHost},
        inbox::{AgentInbox, RunInbox, Waits},
    },
};

/// What a run begins with.
pub(super) enum Beginning {
    /// What is given here.
    Here(Run),
    /// What the execution before has left.
    Before(Box<Carried>),
    /// What was taken up of that.
    Arrived(Box<RunState>, Arrived),
}

impl<R: Into<Run>> From<R> for Beginning {
    fn from(run: R) -> Self {
        Self::Here(run.into())
    }
}

impl<W: 'static> Runner<W> {
    pub(super) async fn typed<O>(
        &self,
        agent: &Agent<O>,
        run: Beginning,
        waits: Waits,
    ) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        let _at_work = self.at_work.one();
        let (host, run) = self.begin(agent.def(), run, waits).await?;
        let outcome = host.settled(run_paused_or_typed(&host, agent.def(), &self.config, run)).await;
        host.ended(&outcome);
        outcome
    }

    pub(super) async fn untyped<O>(
        &self,
        agent: &Agent<O>,
        run: Beginning,
        waits: Waits,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped_def(agent.def(), run, waits).await
    }

    pub(super) async fn untyped_def(
        &self,
        agent: &AgentDef,
        run: Beginning,
        waits: Waits,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        let _at_work = self.at_work.one();
        let (host, run) = self.begin(agent, run, waits).await?;
        let outcome = host.settled(run_untyped(&host, agent, &self.config, run)).await;
        host.ended(&outcome);
        outcome
    }

    /// The host of a run, and what the loop begins with.
    ///
    /// # Errors
    /// What only a runner knows to be wrong, and why a run that was carried over cannot be gone on with.
    async fn begin(
        &self,
        agent: &AgentDef,
        beginning: Beginning,
        waits: Waits,
    ) -> Result<(WorkflowHost, Run), RunError> {
        Graph::new(agent).judged_by(self.config.judges()).check_known(self.model.agents_with_options())?;
        let id = OnceCell::new();
        let (run, arrived) = match beginning {
            Beginning::Here(run) => (run, None),
            Beginning::Before(carried) => {
                let (state, arrived) = self.arrived(agent, *carried, &id).await?;
                (Run::GoOn(Box::new(state)), Some(arrived))
            }
            Beginning::Arrived(state, arrived) => (Run::GoOn(state), Some(arrived)),
        };
        let moving = self.moving(agent, arrived)?;
        let paused = match &run {
            Run::Resume(state) | Run::GoOn(state) => Some(&**state),
            Run::Start(_) => None,
        };
        let inbox = self.inbox.clone().map(|ctx| RunInbox::begin(ctx, waits, paused));
        let host = self.host(inbox, moving, id);
        Ok((host, run))
    }

    pub(super) fn host(&self, inbox: Option<RunInbox>, moving: Option<Moving>, id: OnceCell<String>) -> WorkflowHost {
        let (ctx, model, ledger) = (Rc::clone(&self.ctx), self.model.clone(), Rc::clone(&self.ledger));
        WorkflowHost::new(ctx, model, inbox, self.cancels(), ledger, moving)
            .with_id(id)
            .with_tool_concurrency(self.config.max_tool_concurrency)
            .with_versioned_tools(Arc::clone(&self.versioned_tools))
    }

    fn cancels(&self) -> WorkflowCancellationToken {
        self.token.clone().unwrap_or_else(|| self.ctx.cancellation_token())
    }

    /// How a run of this agent continues as new, if it does.
    pub(super) fn moving(&self, agent: &AgentDef, arrived: Option<Arrived>) -> Result<Option<Moving>, RunError> {
        let Some(continuing) = &self.continuing else { return Ok(None) };
        let (announcement, at_work) = (self.announcement.clone(), self.at_work.clone());
        continuing.begin(&agent.name, self.continue_when.clone(), announcement, at_work, arrived).map(Some)
    }

    /// The state that the execution before has left; its inbox is taken over.
    pub(super) async fn arrived(
        &self,
        agent: &AgentDef,
        carried: Carried,
        id: &OnceCell<String>,
    ) -> Result<(RunState, Arrived), RunError> {
        let Carried { version: _, continued, state, inbox } = carried;
        check_origin(&agent.name, self.ctx.continued_from(), &state)?;
        self.take_over(agent, inbox)?;
        let draw = || host::run_id(id, &self.ctx).to_owned();
        arrive(&self.ctx, &agent.name, draw, (continued, state), &self.cancels(), &self.ledger).await
    }

    /// Takes over the inbox of the execution before.
    fn take_over(&self, agent: &AgentDef, inbox: Option<Value>) -> Result<(), RunError> {
        let Some(inbox) = inbox else { return Ok(()) };
        let unreadable = |source: EffectError| RunError::Continuation { agent: agent.name.clone(), turn: 0, source };
        let before = AgentInbox::deserialize(inbox).map_err(|error| unreadable(error.into()))?;
        let Some(ctx) = &self.inbox else {
            let why = "it was continued with an inbox of decisions, and this runner has none: use Runner::with_inbox";
            return Err(unreadable(why.into()));
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
