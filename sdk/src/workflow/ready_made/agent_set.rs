//! The agents of a ready-made workflow, and how they run.

use std::sync::Arc;

use temporalio_workflow::WorkflowTermination;

use crate::{
    agent::{AgentDef, AgentSources},
    drive::RunConfig,
    engine::{ReasoningItemIds, RunError},
    workflow::{ActivityBackedModel, ContinueOptions, ModelActivityOptions, Runner},
};

/// The start agents of a ready-made workflow, by name, and how they run.
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
/// let agents = AgentSet::new((triage,)).config(config);
/// ```
#[derive(Clone, Debug)]
pub struct AgentSet {
    agents: Arc<[AgentDef]>,
    config: RunConfig,
    model: ActivityBackedModel,
    continue_when: ContinueOptions,
}

impl AgentSet {
    /// These agents, with the defaults of a [`Runner`].
    pub fn new(agents: impl AgentSources) -> Self {
        Self {
            agents: agents.agent_defs().into(),
            config: RunConfig::default(),
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

    /// The agent of this name, or the only one.
    ///
    /// # Errors
    /// There is none, or more than one and no name.
    pub(super) fn find(&self, name: Option<&str>) -> Result<AgentDef, WorkflowTermination> {
        let found = match (name, &*self.agents) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), agents) => agents.iter().find(|agent| agent.name == name),
        };
        found.cloned().ok_or_else(|| {
            let known: Vec<&str> = self.agents.iter().map(|agent| &*agent.name).collect();
            let known = known.join(", ");
            match name {
                Some(name) => refused(name, format!("the workflow has no agent {name:?}; it has: {known}")),
                None => refused("", format!("the input names no agent; the workflow has: {known}")),
            }
        })
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
    }
}

/// A workflow that was started with something that makes no sense fails, and is not tried again.
pub(super) fn refused(agent: &str, message: String) -> WorkflowTermination {
    RunError::User { agent: agent.to_owned(), message, has_run_data: false }.into()
}
