//! The runner, by which a workflow's author runs agents.
//!
//! | file | content |
//! |---|---|
//! | this file | the runner and its settings |
//! | `running.rs` | runs, from an input or from a state |
//! | `tools.rs` | its settings about tools: gate, questions, selected toolsets |
//! | `carried.rs` | runs that continue over several executions of their workflow |
//! | `begin.rs` | the input of a run's loop, and its host |
//!
//! # Design
//! **`Runner<W>`** has the workflow's type because only then the compiler checks that
//! `continue_with` makes the workflow's input. Everything below the runner does without this type.

mod begin;
mod carried;
mod running;
mod tools;

use std::{cell::RefCell, collections::BTreeSet, rc::Rc, sync::Arc};

use serde::Serialize;
use serde_json::{Map, Value};
use temporal_agents_core::{
    drive::{RunConfig, SessionRef},
    tool::OnToolError,
    wire::{Ledger, ModelSettings},
};
use temporalio_workflow::{WorkflowCancellationToken, WorkflowContext};

use super::{
    activity_backed_model::ActivityBackedModel,
    context::DurableContext,
    continuing::{ActiveRuns, Announcement, AutoContinue, ContinueOptions},
    effect::model_activity_options::ModelActivityOptions,
    inbox::{HasAgentInbox, InboxContext},
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
///     pub async fn run(
///         ctx: &mut WorkflowContext<Self>,
///         question: String,
///     ) -> WorkflowResult<String> {
///         let result = Runner::new(ctx).max_turns(8).run(&triage(), question).await?;
///         Ok(result.final_output)
///     }
/// }
/// ```
///
/// # Determinism
/// Safe: everything goes through the workflow context. Several runs of one workflow, one after
/// another or at the same time, do not affect each other.
///
/// # History
/// Runs of one runner, or of its clones, refer to content that earlier runs have recorded: a chat
/// of many messages should keep its runner, so that each of its items is in history once.
///
/// # Cancellation
/// A run ends with its workflow, or with a [token](Self::cancellation_token) of its own. Dropping
/// its future, as `select!` does with the loser, cancels nothing: its activities continue to run,
/// and their results are lost.
///
/// `W` is the workflow type; it is inferred from the context.
pub struct Runner<W> {
    workflow: WorkflowContext<W>,
    ctx: Rc<dyn DurableContext>,
    inbox: Option<Rc<dyn InboxContext>>,
    /// Shared by the runs of a ready-made workflow, as the model is.
    config: Arc<RunConfig>,
    model: Arc<ActivityBackedModel>,
    token: Option<WorkflowCancellationToken>,
    /// The content that history holds of the conversations of this runner and its clones.
    ledger: Rc<RefCell<Ledger>>,
    continuing: Option<AutoContinue>,
    announcement: Announcement,
    /// Active runs of this runner and its clones.
    at_work: ActiveRuns,
    continue_when: ContinueOptions,
    /// Activity types of tools with several versions, in addition to the tools that are marked.
    versioned_tools: Arc<BTreeSet<String>>,
}

impl<W: 'static> Runner<W> {
    /// Creates a runner in this workflow, with the defaults of [`RunConfig`] and
    /// [`ModelActivityOptions`].
    pub fn new(ctx: &WorkflowContext<W>) -> Self {
        Self::with_config(ctx, RunConfig::default())
    }

    /// Creates a runner in this workflow with this configuration for all agents of its runs. The
    /// methods of the runner change it further.
    ///
    /// ```
    /// # use temporal_agents::{RunConfig, Runner, run::NameCollisions};
    /// # use temporalio_workflow::WorkflowContext;
    /// # fn runner<W: 'static>(ctx: &WorkflowContext<W>) -> Runner<W> {
    /// let config = RunConfig::builder().name_collisions(NameCollisions::LastWins).build();
    /// Runner::with_config(ctx, config).max_turns(20)
    /// # }
    /// ```
    pub fn with_config(ctx: &WorkflowContext<W>, config: RunConfig) -> Self {
        Self::with_shared_config(ctx, Arc::new(config))
    }

    /// Creates a runner with a configuration that other runners also have.
    pub(in crate::workflow) fn with_shared_config(ctx: &WorkflowContext<W>, config: Arc<RunConfig>) -> Self {
        Self {
            workflow: ctx.clone(),
            ctx: Rc::new(ctx.clone()),
            inbox: None,
            config,
            model: Arc::default(),
            token: None,
            ledger: Rc::default(),
            continuing: None,
            announcement: Announcement::default(),
            at_work: ActiveRuns::default(),
            continue_when: ContinueOptions::default(),
            versioned_tools: Arc::default(),
        }
    }

    /// Returns a clone of the runner with another configuration. For the conformance suite, whose
    /// runs of one workflow have different configurations and one ledger.
    #[doc(hidden)]
    #[must_use]
    pub fn reconfigured(&self, config: RunConfig) -> Self {
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// Creates a runner that takes decisions on calls from the workflow's inbox, and waits for them
    /// there.
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
    ///     pub async fn run(
    ///         ctx: &mut WorkflowContext<Self>,
    ///         request: String,
    ///     ) -> WorkflowResult<String> {
    ///         Ok(Runner::with_inbox(ctx).run(&refunds(), request).await?.final_output)
    ///     }
    /// }
    /// ```
    ///
    /// A run that is dropped before its end stays listed in the inbox: see
    /// [`AgentInbox::abandon_runs`].
    ///
    /// [`AgentInbox::abandon_runs`]: super::AgentInbox::abandon_runs
    pub fn with_inbox(ctx: &WorkflowContext<W>) -> Self
    where
        W: HasAgentInbox,
    {
        Self::new(ctx).inbox()
    }

    /// Takes decisions on calls from the workflow's inbox, and waits for them there, as a runner
    /// [with an inbox](Self::with_inbox) does: `Runner::with_config(ctx, config).inbox()`.
    #[must_use]
    pub fn inbox(mut self) -> Self
    where
        W: HasAgentInbox,
    {
        self.inbox = Some(Rc::new(self.workflow.clone()));
        self
    }

    /// Sets the model of all agents of the run, regardless of the models that they name.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.config_mut().model = Some(model.into());
        self
    }

    /// Sets model settings that override those of each agent.
    #[must_use]
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.config_mut().settings = settings;
        self
    }

    /// Sets the maximum number of model calls of a run, over all its agents. Default 10.
    #[must_use]
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.config_mut().max_turns = Some(max_turns);
        self
    }

    /// Removes the limit on model calls.
    #[must_use]
    pub fn unlimited_turns(mut self) -> Self {
        self.config_mut().max_turns = None;
        self
    }

    /// Sets the rule for failed calls of tools that have none of their own:
    /// [`OnToolError::describe_argument_errors`] reports to the model which arguments do not fit.
    /// See [`RunConfig::on_tool_error`].
    #[must_use]
    pub fn on_tool_error(mut self, rule: OnToolError) -> Self {
        self.config_mut().on_tool_error = rule;
        self
    }

    /// Runs the activity tools of one response in one activity. See [`RunConfig::batch_tools`].
    #[must_use]
    pub fn batch_tools(mut self) -> Self {
        self.config_mut().batch_tools = true;
        self
    }

    /// Sets a key of the run context. A value that cannot be written as JSON (a map with keys that
    /// are not strings, for example) fails the run.
    #[must_use]
    pub fn context(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        self.config_mut().set_context(key, value);
        self
    }

    /// Sets the whole run context.
    #[must_use]
    pub fn context_values(mut self, values: Map<String, Value>) -> Self {
        self.config_mut().context = values;
        self
    }

    /// Sets the session from which the run reads the earlier conversation, and to which it adds its
    /// own items.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionRef>) -> Self {
        self.config_mut().session = Some(session.into());
        self
    }

    /// Sets the session of a chat with this id, regardless of the [configuration](Self::with_config).
    pub(in crate::workflow) fn with_chat_session(mut self, session: Option<SessionRef>, id: &str) -> Self {
        let config = self.config_mut();
        config.session = session;
        config.session_id = Some(id.to_owned());
        self
    }

    /// Sets the activity types of the tools that the agents of these runs have in several versions.
    pub(in crate::workflow) fn versioned_tools(mut self, activity_types: Arc<BTreeSet<String>>) -> Self {
        self.versioned_tools = activity_types;
        self
    }

    /// Sets the token that cancels the runs of this runner. Default: the workflow's own token. Use
    /// a child of that token, so that the run also ends with its workflow. A cancelled run cancels
    /// its activities, awaits its tools and fails with
    /// [`RunError::Cancelled`](temporal_agents_core::engine::RunError::Cancelled).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use temporal_agents::{Agent, Runner, RunFailed, run::RunError};
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
    /// #     pub async fn run(
    /// #         ctx: &mut WorkflowContext<Self>,
    /// #         question: String,
    /// #     ) -> WorkflowResult<String> {
    /// let token = ctx.cancellation_token().child_token();
    /// let runner = Runner::new(ctx).cancellation_token(token.clone());
    /// let agent = triage();
    /// let hurry = async {
    ///     ctx.timer(Duration::from_mins(5)).await;
    ///     token.cancel();
    /// };
    /// let (answer, ()) = join!(runner.run(&agent, question).into_future(), hurry);
    /// match answer {
    ///     Err(RunFailed { error: RunError::Cancelled { .. }, .. }) => {
    ///         Ok("That takes too long.".to_owned())
    ///     }
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

    /// Sets the model that makes the calls, with options for all agents and for individual agents.
    #[must_use]
    pub fn activity_backed_model(mut self, model: ActivityBackedModel) -> Self {
        self.model = Arc::new(model);
        self
    }

    /// Sets a model that other runners also have.
    pub(in crate::workflow) fn with_shared_model(mut self, model: Arc<ActivityBackedModel>) -> Self {
        self.model = model;
        self
    }

    /// Sets the options for scheduling model calls.
    #[must_use]
    pub fn model_activity(mut self, options: ModelActivityOptions) -> Self {
        *Arc::make_mut(&mut self.model).options_mut() = options;
        self
    }

    /// Sets the options for scheduling the model calls of one agent.
    #[must_use]
    pub fn model_activity_for(mut self, agent: impl Into<String>, options: ModelActivityOptions) -> Self {
        self.model = Arc::new(Arc::unwrap_or_clone(self.model).for_agent(agent, options));
        self
    }

    fn config_mut(&mut self) -> &mut RunConfig {
        Arc::make_mut(&mut self.config)
    }
}

impl<W> Clone for Runner<W> {
    fn clone(&self) -> Self {
        Self {
            workflow: self.workflow.clone(),
            ctx: Rc::clone(&self.ctx),
            inbox: self.inbox.clone(),
            config: Arc::clone(&self.config),
            model: Arc::clone(&self.model),
            token: self.token.clone(),
            continuing: self.continuing.clone(),
            announcement: self.announcement.clone(),
            at_work: self.at_work.clone(),
            continue_when: self.continue_when.clone(),
            versioned_tools: Arc::clone(&self.versioned_tools),
            ledger: Rc::clone(&self.ledger),
        }
    }
}

impl<W> std::fmt::Debug for Runner<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("config", &self.config).field("model", &self.model).finish_non_exhaustive()
    }
}
