//! Runs that go on over several executions of their workflow.

use std::{cell::OnceCell, rc::Rc};

use serde::de::DeserializeOwned;
use serde_json::Value;
use temporalio_workflow::{__private::sdk::WorkflowImplementation, ContinueAsNewOptions, common::WorkflowDefinition};

use super::{Runner, begin::Beginning};
use crate::{
    agent::{Agent, AgentDef},
    drive::{Compaction, Run, RunFailure, RunInput, RunOutcome, RunResult, Stays, finished, move_idle},
    engine::RunError,
    wire::{Carried, RunState},
    workflow::{
        continuing::{Arrived, ContinueOptions, Continuing, Moving},
        inbox::{RunInbox, Waits},
    },
};

impl<W: 'static> Runner<W> {
    /// Lets the workflow continue as new by itself, when a run has put [enough](ContinueOptions) into its history: between two turns,
    /// or before the run waits for decisions. `input` makes the input of the next execution of what is carried.
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
    ///     pub async fn run(ctx: &mut WorkflowContext<Self>, research: Research) -> WorkflowResult<String> {
    ///         let runner = Runner::new(ctx).unlimited_turns().continue_with(Research::Continued);
    ///         let result = match research {
    ///             Research::Question(question) => runner.run(&researcher(), question).await?,
    ///             Research::Continued(carried) => runner.run_carried(&researcher(), carried).await?,
    ///         };
    ///         Ok(result.final_output)
    ///     }
    /// }
    /// ```
    ///
    /// The `?` is what ends this execution: the run fails with [`RunError::ContinuesAsNew`](crate::RunError::ContinuesAsNew), and that
    /// becomes Temporal's continue-as-new. Who looks at failures passes this one on
    /// ([`continues_as_new`](RunFailure::continues_as_new)).
    ///
    /// Carried is the whole state of the run: conversation, usage, turns, run context, approvals, what of it is in its session, and the
    /// [inbox](Self::with_inbox). What else the workflow has goes into its input by `input`, a `MemorySession` say.
    ///
    /// `input` may be asked twice: what would be too large for an input is made again with the state in history.
    ///
    /// Not in a handler: only the run method of a workflow can end it. The run waits for handlers to finish before it continues; one
    /// that is itself inside a handler fails after [`ContinueOptions::handlers_have`]. Any other goes on here when handlers have not
    /// finished by then, and tries again after the next turn ([`not_continuing`](Self::not_continuing)).
    ///
    /// And not for two runs at the same time: the second one that may continue as new fails at once. As long as other runs of this
    /// runner, of its clones, or of its inbox are at work, the run does not continue as new. Whatever else the workflow has under
    /// way besides it is lost, as with any continue-as-new.
    ///
    /// Not under a cron schedule, where the next execution refuses [what it is given](Self::run_carried): start such workflows by a
    /// Temporal schedule. A retry of an execution that was continued is refused, too, so give the workflow no retry policy.
    ///
    /// # Determinism
    /// Adding it to a workflow, or taking it away, changes what executions do that run already: those with long histories would now
    /// continue as new where, on replay, their histories go on. Let them finish, or ask `ctx.patched("..")` whether to call it.
    #[must_use]
    pub fn continue_with(mut self, input: impl Fn(Carried) -> <W::Run as WorkflowDefinition>::Input + 'static) -> Self
    where
        W: WorkflowImplementation,
    {
        let ctx = self.workflow.clone();
        self.continuing = Some(Continuing::new(Rc::new(move |carried| {
            let Err(ended) = ctx.continue_as_new(input(carried), ContinueAsNewOptions::default());
            ended
        })));
        self
    }

    /// When runs [continue as new](Self::continue_with), and how large their states may be.
    ///
    /// # Determinism
    /// The limits are a part of the workflow's code: see [`ContinueOptions`] before you change them for executions that run.
    #[must_use]
    pub fn continue_when(mut self, options: ContinueOptions) -> Self {
        self.continue_when = options;
        self
    }

    /// Shortens the conversation before the workflow [continues as new](Self::continue_with).
    #[must_use]
    pub fn compaction(mut self, compaction: Compaction) -> Self {
        self.config.compaction = Some(compaction);
        self
    }

    /// Tells the workflow that a run is about to continue as new, and waits for handlers to finish: for those that would wait for the
    /// run. They look for what is set here, and end.
    ///
    /// ```
    /// # use temporal_agents::Runner;
    /// # use temporalio_workflow::WorkflowContext;
    /// # struct Support { is_leaving: bool }
    /// # fn runner(ctx: &WorkflowContext<Support>) -> Runner<Support> {
    /// Runner::new(ctx).before_continuing(|support| support.is_leaving = true)
    /// # }
    /// ```
    #[must_use]
    pub fn before_continuing(mut self, tell: impl Fn(&mut W) + 'static) -> Self {
        let ctx = self.workflow.clone();
        self.announcement.tell = Some(Rc::new(move || ctx.state_mut(&tell)));
        self
    }

    /// Takes back what [`before_continuing`](Self::before_continuing) has told the workflow, which does not continue as new after all:
    /// handlers have not finished in time, so that the run goes on here and tries again after its next turn; or it has failed, or was
    /// cancelled.
    #[must_use]
    pub fn not_continuing(mut self, take_back: impl Fn(&mut W) + 'static) -> Self {
        let ctx = self.workflow.clone();
        self.announcement.take_back = Some(Rc::new(move || ctx.state_mut(&take_back)));
        self
    }

    /// Goes on with a run that the execution before has [carried over](Self::continue_with), as [`run`](Self::run) would have.
    ///
    /// Whoever starts the workflow writes its input, and a run in it would begin behind its guardrails, with decisions that nobody has
    /// made. So it counts only where the server says that the workflow itself has continued as new. It is refused in an execution
    /// that a caller has started, in a retry of the workflow, and under a cron schedule: these begin with an input that a caller may
    /// have written. A workflow that continues as new itself must not pass on a [`Carried`] that a caller has sent.
    ///
    /// A run that an execution before has left, but that this build cannot read or whose state does not fit these agents, is not lost: the workflow
    /// *task* fails with a message that names agent, tool and cure, and is tried again until a worker of another build continues the run.
    ///
    /// # Errors
    /// [`RunFailure`]. A run that no execution before has left fails with [`RunError::Refused`](crate::RunError::Refused), a state that
    /// cannot be loaded with [`RunError::Continuation`](crate::RunError::Continuation).
    pub async fn run_carried<O>(&self, agent: &Agent<O>, carried: Carried) -> Result<RunResult<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        finished(self.typed(agent, before(carried), Waits::UntilDecided).await?)
    }

    /// Like [`run_carried`](Self::run_carried) for agents with different output types.
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_any_carried<O>(&self, agent: &Agent<O>, carried: Carried) -> Result<RunResult<Value>, RunFailure> {
        finished(self.untyped(agent, before(carried), Waits::UntilDecided).await?)
    }

    /// Like [`run_carried`](Self::run_carried) for a run that may end paused.
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_carried_until_paused<O>(
        &self,
        agent: &Agent<O>,
        carried: Carried,
    ) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        self.typed(agent, before(carried), Waits::NotAtAll).await
    }

    /// Like [`run_carried_until_paused`](Self::run_carried_until_paused) for agents with different output types.
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_any_carried_until_paused<O>(
        &self,
        agent: &Agent<O>,
        carried: Carried,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped(agent, before(carried), Waits::NotAtAll).await
    }
}

/// For workflows that are there already: agents without their output types, and the parts of going on.
impl<W: 'static> Runner<W> {
    /// A run of this agent.
    pub(in crate::workflow) async fn run_def(
        &self,
        agent: &AgentDef,
        input: RunInput,
    ) -> Result<RunResult<Value>, RunFailure> {
        finished(self.untyped_def(agent, Run::from(input).into(), Waits::UntilDecided).await?)
    }

    /// A run of this agent that the execution before has left.
    pub(in crate::workflow) async fn run_def_carried(
        &self,
        agent: &AgentDef,
        carried: Carried,
    ) -> Result<RunResult<Value>, RunFailure> {
        finished(self.untyped_def(agent, before(carried), Waits::UntilDecided).await?)
    }

    /// A run of this agent that was [taken up](Self::take_up).
    pub(in crate::workflow) async fn run_def_arrived(
        &self,
        agent: &AgentDef,
        state: RunState,
        arrived: Arrived,
    ) -> Result<RunResult<Value>, RunFailure> {
        finished(self.untyped_def(agent, Beginning::Arrived(Box::new(state), arrived), Waits::UntilDecided).await?)
    }

    /// Takes up what the execution before has left.
    pub(in crate::workflow) async fn take_up(
        &self,
        agent: &AgentDef,
        carried: Carried,
    ) -> Result<(RunState, Arrived), RunError> {
        self.arrived(agent, carried, &OnceCell::new()).await
    }

    /// Something that is no run has arrived.
    pub(in crate::workflow) fn has_arrived(&self, arrived: Arrived) {
        if let Some(continuing) = &self.continuing {
            continuing.has_arrived(arrived);
        }
    }

    /// Whether the runs of this execution have together put enough into its history.
    pub(in crate::workflow) fn has_enough(&self) -> bool {
        self.continuing
            .as_ref()
            .is_some_and(|continuing| continuing.has_enough(&self.continue_when, |slug| self.ctx.patched(slug)))
    }

    /// Continues as new with this state while no run is at work; nothing, where that cannot be now. Not in a handler.
    pub(in crate::workflow) async fn leave(&self, agent: &AgentDef, state: RunState) -> Option<RunFailure> {
        let moving = match self.moving(agent, None) {
            Ok(moving) => moving.map(Moving::in_no_handler),
            Err(error) => return Some(error.into()),
        };
        let inbox = self.inbox.clone().map(|ctx| RunInbox::begin(ctx, Waits::NotAtAll, None));
        let host = self.host(inbox, moving, OnceCell::new());
        let left = Err(move_idle(&host, agent, &self.config, state).await);
        host.ended::<Value>(&left);
        left.err().filter(|failure| !Stays::is_said_by(&failure.error))
    }
}

fn before(carried: Carried) -> Beginning {
    Beginning::Before(Box::new(carried))
}
