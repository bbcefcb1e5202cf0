//! The agents of a ready-made workflow, and the settings of their runs.

use std::{collections::BTreeSet, sync::Arc};

use temporal_agents_core::{
    agent::{AgentDef, AgentSources, Graph, SpecParts},
    drive::RunConfig,
    engine::{ReasoningItemIds, RunError},
};
use temporalio_workflow::{WorkflowContext, WorkflowTermination};

use super::{threads::ThreadStore, versions::AgentVersion};
use crate::workflow::{ActivityBackedModel, ContinueOptions, HasAgentInbox, ModelActivityOptions, RunFailed, Runner};

/// The start agents of a ready-made workflow, by name, and the settings of their runs.
///
/// A caller with permission to start the workflow writes its input, which is therefore not trusted
/// beyond what a caller may request:
///
/// - Where the [configuration](Self::config) sets run context, tools may trust it, and callers set
///   only the keys that [`allow_context`](Self::allow_context) names. Where it sets none, callers
///   may set all keys.
/// - A turn limit may be lower than the configured one, never higher.
/// - Input items may be messages of users and assistants, and outputs of tools. Messages of the
///   roles system and developer, references to content that is stored at the provider, and answers
///   to approval requests are reserved for the operator, unless
///   [`allow_privileged_items`](Self::allow_privileged_items) permits them. A string is a message
///   of the user.
/// - Agents as data run only if the set has [parts](Self::specs) for them.
/// - Toolsets and devices that [`allow_toolsets`](Self::allow_toolsets) permits can be selected.
///
/// A child workflow, whose parent the server names, may receive any key and any turn limit: its
/// parent's author chooses them, with `ToolDef::with_context` and `max_turns` of the tool. Any
/// other request fails the workflow, with a message that names the setting that permits it.
///
/// ```
/// use temporal_agents::{Agent, RunConfig, workflow::AgentSet};
///
/// fn triage() -> Agent {
///     Agent::new("triage").model("gpt-5")
/// }
///
/// let config = RunConfig::builder().max_turns(50).context("tenant", "acme").build();
/// let agents = AgentSet::new((triage,)).config(config).allow_context(["locale"]);
/// ```
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct AgentSet {
    pub(super) agents: Arc<[Arc<AgentDef>]>,
    /// Later versions, in their order.
    pub(super) versions: Vec<Arc<AgentVersion>>,
    /// Activity types of the tools that have different parameters in different versions.
    pub(super) versioned_tools: Arc<BTreeSet<String>>,
    /// The parts that agents as data may use; `None` if the workflow runs none.
    pub(super) specs: Option<SpecParts>,
    pub(crate) config: Arc<RunConfig>,
    /// Keys of the run context that callers may set if the configuration sets some.
    pub(super) allow_context: BTreeSet<String>,
    /// Permits callers to send items that are reserved for the operator.
    pub(super) opens_privileged_items: bool,
    /// Makes messages of a chat begin with the agent that answered last.
    pub(crate) last_agent_continues: bool,
    /// Permits callers to choose `last_agent_continues`.
    pub(super) opens_last_agent: bool,
    /// The store of the threads that callers may name.
    pub(super) threads: Option<ThreadStore>,
    /// Gives each new chat a thread.
    pub(super) keeps_chats: bool,
    /// Toolsets that callers may select: names, or prefixes that end in `*`.
    pub(super) open_toolsets: Vec<String>,
    model: Arc<ActivityBackedModel>,
    continue_when: ContinueOptions,
}

impl AgentSet {
    /// Creates a set of these agents, with the defaults of a [`Runner`].
    pub fn new(agents: impl AgentSources) -> Self {
        Self {
            agents: agents.agent_defs().into_iter().map(Arc::new).collect(),
            versions: Vec::new(),
            versioned_tools: Arc::default(),
            specs: None,
            config: Arc::default(),
            allow_context: BTreeSet::new(),
            opens_privileged_items: false,
            last_agent_continues: false,
            opens_last_agent: false,
            threads: None,
            keeps_chats: false,
            open_toolsets: Vec::new(),
            model: Arc::default(),
            continue_when: ContinueOptions::default(),
        }
    }

    /// Sets the configuration of all agents of a run. (A chat keeps its conversation itself: a
    /// session in the configuration has no effect.)
    #[must_use]
    pub fn config(mut self, config: RunConfig) -> Self {
        self.config = Arc::new(config);
        self
    }

    /// Permits callers to set these keys of the run context, even if the
    /// [configuration](Self::config) sets keys itself, or sets these very keys.
    #[must_use]
    pub fn allow_context<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.allow_context.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Permits callers to send input items that act for the operator: messages of the roles system
    /// and developer, references to items at the provider, and answers to approval requests of
    /// hosted MCP servers. For workflows that only trusted programs start.
    #[must_use]
    pub fn allow_privileged_items(mut self) -> Self {
        self.opens_privileged_items = true;
        self
    }

    /// Begins each message of a chat with the agent that answered the previous message, which
    /// differs from the start agent after a handoff. Default: with the agent that the chat was
    /// started with, like each run of the Agents SDK.
    ///
    /// The agent is looked up by its name among those that the start agent's handoffs reach. If it
    /// no longer exists, the message begins with the start agent, and a warning is logged. Each message
    /// is checked by the input guardrails of the agent that it begins with, of the start agent, and of
    /// `RunConfig::input_guardrails`.
    ///
    /// # Determinism
    /// This may be added while chats are open; they apply it from the next message on. Once chats
    /// have applied it, it must stay until they have ended.
    #[must_use]
    pub fn last_agent_continues(mut self) -> Self {
        self.last_agent_continues = true;
        self
    }

    /// Permits callers to choose, with
    /// [`ChatRequest::last_agent_continues`](temporal_agents_core::wire::ChatRequest::last_agent_continues), that
    /// messages begin [with the agent that answered last](Self::last_agent_continues). A caller may
    /// always choose that messages do not begin with that agent.
    #[must_use]
    pub fn open_last_agent(mut self) -> Self {
        self.opens_last_agent = true;
        self
    }

    /// Sets the options for scheduling model calls.
    #[must_use]
    pub fn model_activity(mut self, options: ModelActivityOptions) -> Self {
        *Arc::make_mut(&mut self.model).options_mut() = options;
        self
    }

    /// Sets the model that makes the calls, with options for all agents and for individual agents.
    #[must_use]
    pub fn activity_backed_model(mut self, model: ActivityBackedModel) -> Self {
        self.model = Arc::new(model);
        self
    }

    /// Sets the limits at which the workflow continues as new.
    #[must_use]
    pub fn continue_when(mut self, options: ContinueOptions) -> Self {
        self.continue_when = options;
        self
    }

    /// Returns `true` if models are called on another task queue than the workflow's own.
    pub(super) fn calls_models_elsewhere(&self) -> bool {
        self.model.has_task_queue()
    }

    /// Creates a runner as [`runner`](Self::runner) does, for an agent that is not in the code:
    /// options for the model calls of other agents are left out, since its graph does not have
    /// them.
    pub(super) fn runner_of<W: HasAgentInbox + 'static>(
        &self,
        ctx: &WorkflowContext<W>,
        agent: &AgentDef,
    ) -> Runner<W> {
        let mut set = self.clone();
        Arc::make_mut(&mut set.model).keep_agents(&Graph::new(agent));
        set.runner(ctx)
    }

    pub(super) fn reasoning_item_ids(&self) -> ReasoningItemIds {
        self.config.reasoning_item_ids
    }

    /// Creates a runner with the settings of the set, and the inbox of the workflow.
    pub(super) fn runner<W: HasAgentInbox + 'static>(&self, ctx: &WorkflowContext<W>) -> Runner<W> {
        Runner::with_shared_config(ctx, Arc::clone(&self.config))
            .inbox()
            .with_shared_model(Arc::clone(&self.model))
            .continue_when(self.continue_when.clone())
            .versioned_tools(Arc::clone(&self.versioned_tools))
    }
}

/// Returns the failure of a workflow that was started with invalid input; it is not retried.
pub(super) fn nonsense(agent: &str, message: String) -> WorkflowTermination {
    RunFailed::from(invalid_input_error(agent, message)).into()
}

pub(super) fn invalid_input_error(agent: &str, message: String) -> RunError {
    RunError::User { agent: agent.to_owned(), message, has_run_data: false }
}
