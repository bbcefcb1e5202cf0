//! What a workflow's author calls to run agents.

mod carried;

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use temporalio_workflow::{WorkflowCancellationToken, WorkflowContext};

use super::{
    activity_backed_model::ActivityBackedModel,
    context::DurableContext,
    continuing::{Arrived, ContinueOptions, Continuing, Moving, arrive},
    host::{self, WorkflowHost},
    inbox::{AgentInbox, HasAgentInbox, InboxContext, RunInbox, Waits},
    model_activity_options::ModelActivityOptions,
};
use crate::{
    agent::{Agent, AgentDef, Graph},
    drive::{
        Run, RunConfig, RunFailure, RunInput, RunOutcome, RunResult, SessionRef, finished, run_paused_or_typed,
        run_untyped,
    },
    engine::{EffectError, RunError},
    wire::{Carried, Ledger, ModelSettings, RunState},
};

/// Runs agents durably inside a workflow.
///
/// ```
/// use temporal_agents::{Agent, Runner};
/// use temporalio_macros::{workflow, workflow_methods};
/// use temporalio_workflow::{WorkflowContext, WorkflowResult};
///
/// # fn main() {}
/// # fn triage() -> Agent { Agent::new("triage").model("gpt-5") }
/// #[workflow]
/// #[derive(Default)]
/// pub struct Support;
///
/// #[workflow_methods]
/// impl Support {
///     #[run(name = "support")]
///     pub async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
///         let result = Runner::new(ctx).max_turns(8).run(&triage(), question).await?;
///         Ok(result.final_output)
///     }
/// }
/// ```
///
/// # Determinism
/// Safe: everything goes through the workflow context. Several runs of one workflow, one after another or at the same
/// time, keep apart by themselves.
///
/// # History
/// Runs of one runner, or of its clones, know what the runs before have recorded: a chat of many messages should keep its runner, so
/// that each of its items is in history once.
///
/// # Cancellation
/// A run ends with its workflow, or with a [token](Self::cancellation_token) of its own. Dropping its future, as `select!` does with
/// the one that loses, cancels nothing: its activities run on, and nobody hears of what they give.
///
/// `W` is the workflow; it comes from the context.
pub struct Runner<W> {
    workflow: WorkflowContext<W>,
    ctx: Rc<dyn DurableContext>,
    inbox: Option<Rc<dyn InboxContext>>,
    config: RunConfig,
    model: ActivityBackedModel,
    token: Option<WorkflowCancellationToken>,
    /// What history holds of the conversations of this runner and its clones.
    ledger: Rc<RefCell<Ledger>>,
    continuing: Option<Continuing>,
    announce: Option<Rc<dyn Fn()>>,
    continue_when: ContinueOptions,
}

impl<W: 'static> Runner<W> {
    /// A runner in this workflow, with the defaults of [`RunConfig`] and [`ModelActivityOptions`].
    pub fn new(ctx: &WorkflowContext<W>) -> Self {
        Self {
            workflow: ctx.clone(),
            ctx: Rc::new(ctx.clone()),
            inbox: None,
            config: RunConfig::default(),
            model: ActivityBackedModel::default(),
            token: None,
            ledger: Rc::default(),
            continuing: None,
            announce: None,
            continue_when: ContinueOptions::default(),
        }
    }

    /// A runner that takes decisions on calls from the workflow's inbox, and waits for them there.
    ///
    /// ```
    /// use temporal_agents::{Agent, Runner, agent_handlers, workflow::AgentInbox};
    /// use temporalio_macros::{workflow, workflow_methods};
    /// use temporalio_workflow::{WorkflowContext, WorkflowResult};
    ///
    /// # fn main() {}
    /// # fn refunds() -> Agent { Agent::new("refunds").model("gpt-5") }
    /// #[workflow]
    /// #[derive(Default)]
    /// pub struct Refunds {
    ///     inbox: AgentInbox,
    /// }
    ///
    /// #[agent_handlers]
    /// #[workflow_methods]
    /// impl Refunds {
    ///     #[run(name = "refunds")]
    ///     pub async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
    ///         Ok(Runner::with_inbox(ctx).run(&refunds(), request).await?.final_output)
    ///     }
    /// }
    /// ```
    ///
    /// A run that is dropped before its end stays listed in the inbox: see [`AgentInbox::forget_runs`].
    ///
    /// [`AgentInbox::forget_runs`]: super::AgentInbox::forget_runs
    pub fn with_inbox(ctx: &WorkflowContext<W>) -> Self
    where
        W: HasAgentInbox,
    {
        Self { inbox: Some(Rc::new(ctx.clone())), ..Self::new(ctx) }
    }

    /// The model of all agents of the run, whatever they name themselves.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.config.model = Some(model.into());
        self
    }

    /// Model settings laid over those of each agent.
    #[must_use]
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.config.settings = settings;
        self
    }

    /// Most model calls of a run, over all its agents. Default 10.
    #[must_use]
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.config.max_turns = Some(max_turns);
        self
    }

    /// No limit on model calls.
    #[must_use]
    pub fn unlimited_turns(mut self) -> Self {
        self.config.max_turns = None;
        self
    }

    /// Sets a key of the run context. A value that cannot be written as JSON (a map with keys that are no strings, say)
    /// fails the run.
    #[must_use]
    pub fn context(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        self.config.set_context(key, value);
        self
    }

    /// Sets the whole run context.
    #[must_use]
    pub fn context_values(mut self, values: Map<String, Value>) -> Self {
        self.config.context = values;
        self
    }

    /// Where the run finds what was said before, and leaves what it adds.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionRef>) -> Self {
        self.config.session = Some(session.into());
        self
    }

    /// No session, whatever the [configuration](Self::config) says.
    pub(in crate::workflow) fn without_session(mut self) -> Self {
        self.config.session = None;
        self
    }

    /// What cancels the runs of this runner. Default: the workflow's own token. Make it a child of that, so that the run ends
    /// with its workflow, too. A cancelled run tells its activities, awaits its tools and fails with [`RunError::Cancelled`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use temporal_agents::{Agent, Runner, drive::RunFailure, engine::RunError};
    /// # use temporalio_macros::{workflow, workflow_methods};
    /// # use temporalio_workflow::{WorkflowContext, WorkflowResult, workflows::join};
    /// # fn main() {}
    /// # fn triage() -> Agent { Agent::new("triage").model("gpt-5") }
    /// # #[workflow]
    /// # #[derive(Default)]
    /// # pub struct Hurried;
    /// # #[workflow_methods]
    /// # impl Hurried {
    /// #     #[run(name = "hurried")]
    /// #     pub async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
    /// let token = ctx.cancellation_token().child_token();
    /// let runner = Runner::new(ctx).cancellation_token(token.clone());
    /// let agent = triage();
    /// let hurry = async {
    ///     ctx.timer(Duration::from_mins(5)).await;
    ///     token.cancel();
    /// };
    /// let (answer, ()) = join!(runner.run(&agent, question), hurry);
    /// match answer {
    ///     Err(RunFailure { error: RunError::Cancelled { .. }, .. }) => Ok("That takes too long.".to_owned()),
    ///     answer => Ok(answer?.final_output),
    /// }
    /// #     }
    /// # }
    /// ```
    #[must_use]
    pub fn cancellation_token(mut self, token: WorkflowCancellationToken) -> Self {
        self.token = Some(token);
        self
    }

    /// Everything that holds for all agents of the run, at once.
    #[must_use]
    pub fn config(mut self, config: RunConfig) -> Self {
        self.config = config;
        self
    }

    /// What model calls go through, with options for all agents and for single ones.
    #[must_use]
    pub fn activity_backed_model(mut self, model: ActivityBackedModel) -> Self {
        self.model = model;
        self
    }

    /// How model calls are scheduled.
    #[must_use]
    pub fn model_activity(mut self, options: ModelActivityOptions) -> Self {
        *self.model.options_mut() = options;
        self
    }

    /// How the model calls of one agent are scheduled.
    #[must_use]
    pub fn model_activity_for(mut self, agent: impl Into<String>, options: ModelActivityOptions) -> Self {
        self.model = self.model.for_agent(agent, options);
        self
    }

    /// Runs an agent, and the agents it hands off to, until there is a final output. With an
    /// [inbox](Self::with_inbox) it waits for decisions on the way, for as long as it takes.
    ///
    /// # Errors
    /// [`RunFailure`], with the state of the run. A graph that is wrong fails before any model call, and so does one whose agents have different
    /// output types: see [`run_any`](Self::run_any). Without an inbox, a call that needs approval fails the run.
    pub async fn run<O>(&self, agent: &Agent<O>, input: impl Into<RunInput>) -> Result<RunResult<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        finished(self.typed(agent, Run::from(input.into()).into(), Waits::UntilDecided).await?)
    }

    /// Like [`run`](Self::run) for agents with different output types; [`RunResult::parse`] reads the output.
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_any<O>(
        &self,
        agent: &Agent<O>,
        input: impl Into<RunInput>,
    ) -> Result<RunResult<Value>, RunFailure> {
        finished(self.untyped(agent, Run::from(input.into()).into(), Waits::UntilDecided).await?)
    }

    /// Like [`run`](Self::run) for a run that may end paused, with calls that wait for a decision. It takes the decisions that
    /// are in its inbox already, and waits for none.
    ///
    /// # Determinism
    /// Safe; to wait for a decision afterwards, the condition is [`AgentInbox::has_decisions_on`]. A worker without the workflow in
    /// its cache may be given a pause and the decision that ends it at once, and on replay one after the other. The run does the
    /// same in both cases, and so does code that waits. Code that counts pauses, say, does not.
    ///
    /// [`AgentInbox::has_decisions_on`]: super::AgentInbox::has_decisions_on
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_until_paused<O>(
        &self,
        agent: &Agent<O>,
        input: impl Into<RunInput>,
    ) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        self.typed(agent, Run::from(input.into()).into(), Waits::NotAtAll).await
    }

    /// Like [`run_until_paused`](Self::run_until_paused) for agents with different output types.
    ///
    /// # Determinism
    /// Safe; to wait for a decision afterwards, the condition is [`AgentInbox::has_decisions_on`]. A worker without the workflow in
    /// its cache may be given a pause and the decision that ends it at once, and on replay one after the other. The run does the
    /// same in both cases, and so does code that waits. Code that counts pauses, say, does not.
    ///
    /// [`AgentInbox::has_decisions_on`]: super::AgentInbox::has_decisions_on
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn run_any_until_paused<O>(
        &self,
        agent: &Agent<O>,
        input: impl Into<RunInput>,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped(agent, Run::from(input.into()).into(), Waits::NotAtAll).await
    }

    /// Goes on with a paused run, after decisions on its calls: in this workflow, after continue-as-new, or with the state of a
    /// run that paused elsewhere. With an [inbox](Self::with_inbox) it waits for the decisions that are missing; without, what
    /// was not decided keeps it paused.
    ///
    /// # Errors
    /// [`RunFailure`]; a state that does not fit the agents fails with a list of what is missing.
    pub async fn resume<O>(&self, agent: &Agent<O>, state: RunState) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        self.typed(agent, state.into(), Waits::UntilDecided).await
    }

    /// Like [`resume`](Self::resume) for agents with different output types.
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn resume_any<O>(&self, agent: &Agent<O>, state: RunState) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped(agent, state.into(), Waits::UntilDecided).await
    }

    /// Like [`resume`](Self::resume), but it waits for nothing: it takes the decisions that are in its inbox already.
    ///
    /// # Determinism
    /// Safe; to wait for a decision afterwards, the condition is [`AgentInbox::has_decisions_on`]. A worker without the workflow in
    /// its cache may be given a pause and the decision that ends it at once, and on replay one after the other. The run does the
    /// same in both cases, and so does code that waits. Code that counts pauses, say, does not.
    ///
    /// [`AgentInbox::has_decisions_on`]: super::AgentInbox::has_decisions_on
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn resume_until_paused<O>(&self, agent: &Agent<O>, state: RunState) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        self.typed(agent, state.into(), Waits::NotAtAll).await
    }

    /// Like [`resume_until_paused`](Self::resume_until_paused) for agents with different output types.
    ///
    /// # Determinism
    /// Safe; to wait for a decision afterwards, the condition is [`AgentInbox::has_decisions_on`]. A worker without the workflow in
    /// its cache may be given a pause and the decision that ends it at once, and on replay one after the other. The run does the
    /// same in both cases, and so does code that waits. Code that counts pauses, say, does not.
    ///
    /// [`AgentInbox::has_decisions_on`]: super::AgentInbox::has_decisions_on
    ///
    /// # Errors
    /// [`RunFailure`].
    pub async fn resume_any_until_paused<O>(
        &self,
        agent: &Agent<O>,
        state: RunState,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped(agent, state.into(), Waits::NotAtAll).await
    }

    async fn typed<O>(&self, agent: &Agent<O>, run: Beginning, waits: Waits) -> Result<RunOutcome<O>, RunFailure>
    where
        O: DeserializeOwned,
    {
        let (host, run) = self.begin(agent.def(), run, waits).await?;
        let outcome = run_paused_or_typed(&host, agent.def(), &self.config, run).await;
        host.ended(&outcome);
        outcome
    }

    async fn untyped<O>(
        &self,
        agent: &Agent<O>,
        run: Beginning,
        waits: Waits,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        self.untyped_def(agent.def(), run, waits).await
    }

    async fn untyped_def(
        &self,
        agent: &AgentDef,
        run: Beginning,
        waits: Waits,
    ) -> Result<RunOutcome<Value>, RunFailure> {
        let (host, run) = self.begin(agent, run, waits).await?;
        let outcome = run_untyped(&host, agent, &self.config, run).await;
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
        Graph::new(agent).check_known(self.model.agents_with_options())?;
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

    fn host(&self, inbox: Option<RunInbox>, moving: Option<Moving>, id: OnceCell<String>) -> WorkflowHost {
        let (ctx, model, ledger) = (Rc::clone(&self.ctx), self.model.clone(), Rc::clone(&self.ledger));
        WorkflowHost::new(ctx, model, inbox, self.cancels(), ledger, moving).with_id(id)
    }

    fn cancels(&self) -> WorkflowCancellationToken {
        self.token.clone().unwrap_or_else(|| self.ctx.cancellation_token())
    }

    /// How a run of this agent continues as new, if it does.
    fn moving(&self, agent: &AgentDef, arrived: Option<Arrived>) -> Result<Option<Moving>, RunError> {
        let Some(continuing) = &self.continuing else { return Ok(None) };
        let announce = self.announce.clone();
        continuing.begin(&agent.name, self.continue_when.clone(), announce, arrived).map(Some)
    }

    /// The state that the execution before has left; its inbox is taken over.
    async fn arrived(
        &self,
        agent: &AgentDef,
        carried: Carried,
        id: &OnceCell<String>,
    ) -> Result<(RunState, Arrived), RunError> {
        let Carried { version: _, continued, state, inbox } = carried;
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

/// What a run begins with.
enum Beginning {
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

impl<W> Clone for Runner<W> {
    fn clone(&self) -> Self {
        Self {
            workflow: self.workflow.clone(),
            ctx: Rc::clone(&self.ctx),
            inbox: self.inbox.clone(),
            config: self.config.clone(),
            model: self.model.clone(),
            token: self.token.clone(),
            continuing: self.continuing.clone(),
            announce: self.announce.clone(),
            continue_when: self.continue_when.clone(),
            ledger: Rc::clone(&self.ledger),
        }
    }
}

impl<W> std::fmt::Debug for Runner<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("config", &self.config).field("model", &self.model).finish_non_exhaustive()
    }
}
