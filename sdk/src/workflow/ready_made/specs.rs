//! Agents as data in ready-made workflows: loaded when the workflow starts, and resolved to agents
//! whose parts are the set's.
//!
//! # Design
//! **The reply of the activity is the record.** An execution that a caller has started loads the
//! spec once; from then on the run uses what history holds, whatever happens to the store. The
//! next execution receives the record in its input, because it cannot read this history, and does
//! not load again.
//!
//! **A record that no longer fits the parts waits for a deploy**, like a state that no longer fits
//! its agents: the workflow task fails, and a rollback continues the run. A spec that does not fit
//! when it was just loaded fails the workflow.

use std::{collections::BTreeSet, rc::Rc, sync::Arc};

use temporal_agents_core::{
    agent::{AgentDef, SpecParts, spec::Surroundings},
    engine::RunError,
    wire::{
        SpecRef,
        agent_spec::LoadedSpec,
        load_agent::{LOAD_AGENT_ACTIVITY, LoadAgentReply},
    },
};
use temporalio_workflow::WorkflowContext;

use super::agent_set::{AgentSet, invalid_input_error};
use crate::workflow::{
    RunFailed,
    context::DurableContext,
    continuing::{fail_task, refused},
    effect::load_agent::load,
};

impl AgentSet {
    /// Permits callers to run agents as data
    /// ([`AgentRequest::of_spec`](temporal_agents_core::wire::AgentRequest::of_spec),
    /// [`ChatRequest::of_spec`](temporal_agents_core::wire::ChatRequest::of_spec)), which may use these parts. The
    /// worker's `Resources` need the store from which they are loaded.
    ///
    /// ```
    /// use temporal_agents::{Agent, agent::SpecParts, workflow::AgentSet};
    /// # use temporal_agents::tool;
    ///
    /// /// Finds an order.
    /// #[tool]
    /// async fn find_order(number: u32) -> String {
    ///     format!("order {number} is on its way")
    /// }
    ///
    /// let agents = AgentSet::new(()).specs(SpecParts::new().tool(find_order));
    /// ```
    ///
    /// A run records the specs when it starts: a later version in the store changes nothing for it,
    /// nor does a store that is unavailable. [The guide](crate::guide::agents_as_data) shows more.
    #[must_use]
    pub fn specs(mut self, parts: SpecParts) -> Self {
        self.specs = Some(parts);
        self.mark_versioned_tools();
        self
    }

    /// Returns the name of the agent of a request: that of its spec, or that of an agent in the
    /// code.
    ///
    /// # Errors
    /// The names in the request differ, or no version of the set has the agent.
    pub(crate) fn name_of(&self, agent: Option<&str>, spec: Option<&SpecRef>) -> Result<String, RunError> {
        match (agent, spec) {
            (agent, None) => self.name(agent),
            (Some(agent), Some(spec)) if agent != spec.name => {
                let message = format!("the input names agent {agent:?}, and the spec of {:?}; name one", spec.name);
                Err(invalid_input_error(agent, message))
            }
            (_, Some(spec)) => Ok(spec.name.clone()),
        }
    }

    /// Checks that callers may run agents as data.
    ///
    /// # Errors
    /// [`RunError::Refused`].
    pub(crate) fn check_permits_specs(&self, spec: &SpecRef) -> Result<(), RunError> {
        self.parts(spec).map(drop)
    }

    /// Returns the agent of a spec from its record; `issues` are the problems that were found when
    /// it was loaded.
    ///
    /// # Errors
    /// [`RunError::Refused`] if the set runs no specs, [`RunError::Spec`].
    pub(crate) fn agent_of_record(
        &self,
        spec: &SpecRef,
        specs: &[LoadedSpec],
        issues: Vec<String>,
    ) -> Result<AgentDef, RunError> {
        let resolved = self.parts(spec)?.resolve(specs, &self.surroundings(issues));
        resolved.map_err(|error| RunError::Spec { agent: spec.name.clone(), source: error.into() })
    }

    fn parts(&self, spec: &SpecRef) -> Result<&SpecParts, RunError> {
        let closed = || refused(&spec.name, "an agent as data", "the workflow runs none; AgentSet::specs permits it");
        self.specs.as_ref().ok_or_else(closed)
    }

    fn surroundings(&self, found: Vec<String>) -> Surroundings {
        let taken: BTreeSet<String> = self.all().map(|agent| agent.name.clone()).collect();
        Surroundings { taken, has_model: self.config.model.is_some(), found }
    }
}

/// The agent of a spec, and the record from which it was made.
pub(super) struct SpecAgent {
    pub(super) agent: Arc<AgentDef>,
    pub(super) loaded: Vec<LoadedSpec>,
}

/// Returns the agent of a spec: from the record that the previous execution has left, or loaded
/// now.
///
/// # Errors
/// [`RunError::Refused`] if the set runs no specs, [`RunError::Spec`], [`RunError::Cancelled`].
pub(super) async fn spec_agent<W: 'static>(
    ctx: &WorkflowContext<W>,
    set: &AgentSet,
    spec: &SpecRef,
    loaded: Vec<LoadedSpec>,
) -> Result<SpecAgent, RunFailed> {
    let invalid = |source| RunError::Spec { agent: spec.name.clone(), source };
    let is_carried = !loaded.is_empty();
    let resolved = match set.check_permits_specs(spec) {
        Err(error) => Err(error),
        Ok(()) if is_carried => {
            let resolved = set.agent_of_record(spec, &loaded, Vec::new());
            resolved.map(|agent| SpecAgent { agent: Arc::new(agent), loaded })
        }
        Ok(()) => {
            let durable: Rc<dyn DurableContext> = Rc::new(ctx.clone());
            let LoadAgentReply { version: _, specs, issues } =
                load(&durable, spec, set.calls_models_elsewhere()).await?;
            if specs.first().is_some_and(|first| first.spec.name != spec.name) {
                let message = format!("{LOAD_AGENT_ACTIVITY} has returned another agent than {:?}", spec.name);
                return Err(invalid(message.into()).into());
            }
            let resolved = set.agent_of_record(spec, &specs, issues);
            resolved.map(|agent| SpecAgent { agent: Arc::new(agent), loaded: specs })
        }
    };
    if let (Err(error), true) = (&resolved, is_carried) {
        fail_task(ctx, &spec.name, error).await;
    }
    Ok(resolved?)
}
