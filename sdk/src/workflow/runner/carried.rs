//! Runs that continue over several executions of their workflow.

use std::{cell::OnceCell, rc::Rc, sync::Arc};

use serde_json::Value;
use temporal_agents_core::{
    agent::AgentDef,
    drive::{Compaction, IntoRun, Outputs, RunFailure, RunResult, Stays, continue_idle, finished},
    engine::RunError,
    wire::{Carried, RunState},
};
use temporalio_workflow::{__private::sdk::WorkflowImplementation, ContinueAsNewOptions, common::WorkflowDefinition};

use super::{Runner, begin::Beginning};
use crate::workflow::{
    continuing::{AutoContinue, ContinuableRun, ContinueOptions, RestoredRun},
    inbox::{RunInbox, Waits},
};

impl<W: 'static> Runner<W> {
    /// Makes the workflow continue as new automatically, when a run has put
    /// [enough](ContinueOptions) into its history: between two turns, or before the run waits for
    /// decisions. `input` makes the input of the next execution from what is carried.
    ///
    /// ```
    /// use serde::{Deserialize, Serialize};
    /// use temporal_agents::{Agent, Runner, wire::Carried};
    /// use temporalio_macros::{workflow, workflow_methods};
    /// use temporalio_workflow::{WorkflowContext, WorkflowResult};
    ///
    /// # fn main() {}
    /// # fn researcher() -> Agent { Agent::new("researcher").model("gpt-5") }
    /// #[derive(Serialize, Deserialize)]
    /// pub enum Research {
    ///     Question(String),
    ///     Continued(Carried),
    /// }
    ///
    /// #[workflow]
    /// #[derive(Default)]
    /// pub struct Researcher;
    ///
    /// #[workflow_methods]
    /// impl Researcher {
    ///     #[run(name = "researcher")]
    ///     pub async fn run(
    ///         ctx: &mut WorkflowContext<Self>,
    ///         research: Research,
    ///     ) -> WorkflowResult<String> {
    ///         let runner = Runner::new(ctx).unlimited_turns().continue_with(Research::Continued);
    ///         let result = match research {
    ///             Research::Question(question) => runner.run(&researcher(), question).await?,
    ///             Research::Continued(carried) => {
    ///                 runner.run(&researcher(), carried).await?
    ///             }
    ///         };
    ///         Ok(result.final_output)
    ///     }
    /// }
    /// ```
    ///
    /// The `?` ends this execution: the run fails with
    /// [`RunError::ContinuesAsNew`](temporal_agents_core::engine::RunError::ContinuesAsNew), which becomes Temporal's
    /// continue-as-new. Code that handles failures must pass this one on
    /// ([`continues_as_new`](RunFailure::continues_as_new)).
    ///
    /// The whole state of the run is carried: conversation, usage, turns, run context, approvals,
    /// the part of the conversation that is in its session, and the [inbox](Self::with_inbox).
    /// `input` adds any other data of the workflow to its input, such as a `MemorySession`.
    ///
    /// `input` may be called twice: if the state makes the input too large, the input is made again
    /// with the state in history.
    ///
    /// Do not use it in a handler: only the run method of a workflow can end the workflow. The run
    /// waits for handlers to finish before it continues as new; a run that is itself inside a
    /// handler fails after [`ContinueOptions::handler_timeout`]. Any other run continues in this
    /// execution if handlers have not finished by then, and tries again after the next turn
    /// ([`on_continue_as_new_aborted`](Self::on_continue_as_new_aborted)).
    ///
    /// Do not use it for two runs at the same time: the second one that may continue as new fails
    /// at once. As long as other runs of this runner, of its clones, or of its inbox are active,
    /// the run does not continue as new. Anything else that the workflow has under way is lost, as
    /// with any continue-as-new.
    ///
    /// Do not use it under a cron schedule, where [`run`](Self::run) refuses the input of the next
    /// execution: start such workflows by a Temporal schedule. A retry of an execution that was
    /// continued is also refused, so do not set a retry policy for the workflow.
    ///
    /// # Determinism
    /// Adding this to a workflow, or removing it, changes the behavior of running executions: those
    /// with long histories would now continue as new where, on replay, their histories continue.
    /// Let them finish, or use `ctx.patched("..")` to decide whether to call it.
    #[must_use]
    pub fn continue_with(mut self, input: impl Fn(Carried) -> <W::Run as WorkflowDefinition>::Input + 'static) -> Self
    where
        W: WorkflowImplementation,
    {
        let ctx = self.workflow.clone();
        self.continuing = Some(AutoContinue::new(Rc::new(move |carried| {
            let Err(ended) = ctx.continue_as_new(input(carried), ContinueAsNewOptions::default());
            ended
        })));
        self
    }

    /// Sets the limits at which runs [continue as new](Self::continue_with), and the maximum size
    /// of their states.
    ///
    /// # Determinism
    /// The limits are part of the workflow's code: see [`ContinueOptions`] before you change them
    /// for running executions.
    #[must_use]
    pub fn continue_when(mut self, options: ContinueOptions) -> Self {
        self.continue_when = options;
        self
    }

    /// Shortens the conversation before the workflow [continues as new](Self::continue_with).
    #[must_use]
    pub fn compaction(mut self, compaction: Compaction) -> Self {
        self.config_mut().compaction = Some(compaction);
        self
    }

    /// Sets a callback that reports to the workflow that a run is about to continue as new, and
    /// that the run waits for handlers to finish. Handlers that would wait for the run check the
    /// value that the callback sets, and end.
    ///
    /// ```
    /// # use temporal_agents::Runner;
    /// # use temporalio_workflow::WorkflowContext;
    /// # struct Support { is_leaving: bool }
    /// # fn runner(ctx: &WorkflowContext<Support>) -> Runner<Support> {
    /// Runner::new(ctx).on_continue_as_new(|support| support.is_leaving = true)
    /// # }
    /// ```
    #[must_use]
    pub fn on_continue_as_new(mut self, tell: impl Fn(&mut W) + 'static) -> Self {
        let ctx = self.workflow.clone();
        self.announcement.tell = Some(Rc::new(move || ctx.state_mut(&tell)));
        self
    }

    /// Sets a callback that reverts [`on_continue_as_new`](Self::on_continue_as_new), if the
    /// workflow does not continue as new after all: handlers have not finished in time, so that the
    /// run continues in this execution and tries again after its next turn; or the run has failed,
    /// or was cancelled.
    #[must_use]
    pub fn on_continue_as_new_aborted(mut self, take_back: impl Fn(&mut W) + 'static) -> Self {
        let ctx = self.workflow.clone();
        self.announcement.take_back = Some(Rc::new(move || ctx.state_mut(&take_back)));
        self
    }
}

/// Functions for the ready-made workflows: agents without their output types, and the individual
/// steps of continuing a run.
impl<W: 'static> Runner<W> {
    /// Runs this agent.
    pub(in crate::workflow) async fn run_def(
        &self,
        agent: &Arc<AgentDef>,
        from: impl IntoRun<Self>,
    ) -> Result<RunResult<Value>, RunFailure> {
        self.run_def_to_output(agent, Beginning::Requested(from.into_start())).await
    }

    /// Continues a run of this agent whose state was [restored](Self::take_up).
    pub(in crate::workflow) async fn run_def_arrived(
        &self,
        agent: &Arc<AgentDef>,
        state: RunState,
        arrived: RestoredRun,
    ) -> Result<RunResult<Value>, RunFailure> {
        self.run_def_to_output(agent, Beginning::RestoredRun(Box::new(state), arrived)).await
    }

    async fn run_def_to_output(
        &self,
        agent: &Arc<AgentDef>,
        beginning: Beginning,
    ) -> Result<RunResult<Value>, RunFailure> {
        finished(self.run_to_outcome(agent, beginning, Waits::UntilDecided, Outputs::OfAnyType).await?)
    }

    /// Restores the state that the previous execution left.
    pub(in crate::workflow) async fn take_up(
        &self,
        agent: &AgentDef,
        carried: Carried,
    ) -> Result<(RunState, RestoredRun), RunError> {
        self.arrived(agent, carried, &OnceCell::new()).await
    }

    /// Records the restored state of a conversation, which is not continued as a run.
    pub(in crate::workflow) fn has_arrived(&self, arrived: RestoredRun) {
        if let Some(continuing) = &self.continuing {
            continuing.has_arrived(arrived);
        }
    }

    /// Returns `true` if the runs of this execution have together put enough into its history.
    pub(in crate::workflow) fn has_enough(&self) -> bool {
        self.continuing.as_ref().is_some_and(|continuing| {
            continuing.has_enough(&self.continue_when, self.polls(), |slug| self.ctx.patched(slug))
        })
    }

    /// Returns the number of polls of the workflow's stream after which it has enough.
    pub(in crate::workflow) fn polls_until_enough(&self) -> Option<u32> {
        self.continuing.as_ref().map(|continuing| continuing.polls_until_enough(&self.continue_when))
    }

    fn polls(&self) -> u32 {
        let mut polls = 0;
        if let Some(inbox) = &self.inbox {
            inbox.look(&mut |inbox| polls = inbox.stream().polls().total());
        }
        polls
    }

    /// Continues as new with this state while no run is active. Returns `None` if that is not
    /// possible now. Not for handlers.
    pub(in crate::workflow) async fn leave(&self, agent: &AgentDef, state: RunState) -> Option<RunFailure> {
        let moving = match self.moving(agent, None) {
            Ok(moving) => moving.map(ContinuableRun::outside_handlers),
            Err(error) => return Some(error.into()),
        };
        let inbox = self.inbox.clone().map(|ctx| RunInbox::begin(ctx, Waits::NotAtAll, None));
        let host = self.host(inbox, moving, OnceCell::new());
        let left = Err(continue_idle(&host, agent, &self.config, state).await);
        host.ended::<Value>(&left);
        left.err().filter(|failure| !Stays::is_source_of(&failure.error))
    }
}
