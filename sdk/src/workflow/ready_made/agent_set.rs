//! The agents of a ready-made workflow, and how they run.

use std::{collections::BTreeSet, sync::Arc};

use temporalio_workflow::WorkflowTermination;

use super::versions::AgentVersion;
use crate::{
    agent::{AgentDef, AgentSources},
    drive::RunConfig,
    engine::{ReasoningItemIds, RunError},
    workflow::{ActivityBackedModel, ContinueOptions, ModelActivityOptions, Runner},
};

/// The start agents of a ready-made workflow, by name, and how they run.
///
/// Whoever may start the workflow writes its input, which is therefore not believed beyond what a caller may ask:
///
/// - Where the [configuration](Self::config) sets run context, tools may trust it, and callers set only the keys that
///   [`open_context`](Self::open_context) names. Where it sets none, all keys are the callers'.
/// - A turn limit may be lower than the configured one, never higher.
/// - Input items may be what users and assistants have said and tools have returned. Messages of the roles system and developer,
///   references to what is stored at the provider, and answers to approval requests are the operator's, unless
///   [`open_privileged_items`](Self::open_privileged_items) says otherwise. A text is a message of the user.
///
/// A child workflow, whose parent the server names, may be given any key and any turn limit: its parent's author chooses them, with
/// `ToolDef::with_context` and `max_turns` of the tool. Anything else fails the workflow, and says which setting lets it in.
///
/// ```
/// use temporal_agents::{Agent, RunConfig, workflow::AgentSet};
///
/// fn triage() -> Agent {
///     Agent::new("triage").model("gpt-5")
/// }
///
/// let mut config = RunConfig::default();
/// config.max_turns = Some(50);
/// config.set_context("tenant", "acme");
/// let agents = AgentSet::new((triage,)).config(config).open_context(["locale"]);
/// ```
#[derive(Clone, Debug)]
pub struct AgentSet {
    pub(super) agents: Arc<[AgentDef]>,
    /// Later versions, in their order.
    pub(super) versions: Vec<Arc<AgentVersion>>,
    /// The activity types of tools that the versions have with other parameters.
    pub(super) versioned_tools: Arc<BTreeSet<String>>,
    pub(super) config: RunConfig,
    /// The keys of the run context that callers may set where the configuration sets some.
    pub(super) open_context: BTreeSet<String>,
    /// Whether callers may send items that are the operator's.
    pub(super) opens_privileged_items: bool,
    /// Whether messages of a chat begin with the agent that answered last.
    pub(super) last_agent_continues: bool,
    /// Whether callers may choose that.
    pub(super) opens_last_agent: bool,
    model: ActivityBackedModel,
    continue_when: ContinueOptions,
}

impl AgentSet {
    /// These agents, with the defaults of a [`Runner`].
    pub fn new(agents: impl AgentSources) -> Self {
        Self {
            agents: agents.agent_defs().into(),
            versions: Vec::new(),
            versioned_tools: Arc::default(),
            config: RunConfig::default(),
            open_context: BTreeSet::new(),
            opens_privileged_items: false,
            last_agent_continues: false,
            opens_last_agent: false,
            model: ActivityBackedModel::default(),
            continue_when: ContinueOptions::default(),
        }
    }

    /// What holds for all agents of a run. (A chat keeps its conversation itself: a session in it has no effect.)
    #[must_use]
    pub fn config(mut self, config: RunConfig) -> Self {
        self.config = config;
        self
    }

    /// Lets callers set these keys of the run context, also where the [configuration](Self::config) sets keys itself: these, too, if
    /// they are among them.
    #[must_use]
    pub fn open_context<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.open_context.extend(keys.into_iter().map(Into::into));
        self
    }

    /// Lets callers send input items that speak for the operator: messages of the roles system and developer, references to items at
    /// the provider, and answers to approval requests of hosted MCP servers. For workflows that only trusted programs start.
    #[must_use]
    pub fn open_privileged_items(mut self) -> Self {
        self.opens_privileged_items = true;
        self
    }

    /// Begins each message of a chat with the agent that answered the message before, where that is another one after a handoff. Default: with
    /// the agent that the chat was started with, as each run of the Agents SDK.
    ///
    /// The agent is looked up by its name among those that the start agent's handoffs reach. Where it is not there any more, the message begins
    /// with the start agent, and a warning is logged. Input guardrails are those of the agent that a message begins with, so that the
    /// start agent's do not check messages that begin with another: give each agent its own, or the run, with
    /// `RunConfig::input_guardrails`.
    ///
    /// # Determinism
    /// It may be added while chats are open; they follow it from the next message on. Once chats have, it must stay until they have ended.
    #[must_use]
    pub fn last_agent_continues(mut self) -> Self {
        self.last_agent_continues = true;
        self
    }

    /// Lets callers choose, with [`ChatRequest::last_agent_continues`](crate::wire::ChatRequest::last_agent_continues), that messages begin
    /// [with the agent that answered last](Self::last_agent_continues). They choose with it whose input guardrails check a
    /// message. That it does not, a caller may always choose.
    #[must_use]
    pub fn open_last_agent(mut self) -> Self {
        self.opens_last_agent = true;
        self
    }

    /// How model calls are scheduled.
    #[must_use]
    pub fn model_activity(mut self, options: ModelActivityOptions) -> Self {
        *self.model.options_mut() = options;
        self
    }

    /// What model calls go through, with options for all agents and for single ones.
    #[must_use]
    pub fn activity_backed_model(mut self, model: ActivityBackedModel) -> Self {
        self.model = model;
        self
    }

    /// When the workflow continues as new.
    #[must_use]
    pub fn continue_when(mut self, options: ContinueOptions) -> Self {
        self.continue_when = options;
        self
    }

    pub(super) fn reasoning_item_ids(&self) -> ReasoningItemIds {
        self.config.reasoning_item_ids
    }

    /// A runner as the set says.
    pub(super) fn runner<W: 'static>(&self, runner: Runner<W>) -> Runner<W> {
        runner
            .config(self.config.clone())
            .activity_backed_model(self.model.clone())
            .continue_when(self.continue_when.clone())
            .versioned_tools(Arc::clone(&self.versioned_tools))
    }
}

/// A workflow that was started with something that makes no sense fails, and is not tried again.
pub(super) fn nonsense(agent: &str, message: String) -> WorkflowTermination {
    wrong_start(agent, message).into()
}

pub(super) fn wrong_start(agent: &str, message: String) -> RunError {
    RunError::User { agent: agent.to_owned(), message, has_run_data: false }
}
