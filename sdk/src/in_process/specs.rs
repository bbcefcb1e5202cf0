//! Agents as data: loaded when a task begins, and kept in its row, as a workflow keeps them in its
//! history. A process that takes the task over uses the record.

use std::time::Duration;

use temporal_agents_core::{
    agent::AgentDef,
    drive::RunFailure,
    engine::RunError,
    wire::{SpecRef, agent_spec::LoadedSpec, load_agent::LoadAgentReply},
};
use tokio::time::sleep;

use super::{
    rows::{Task, json_of},
    runs::{Process, unreadable},
    task::Owned,
    writer::Entry,
};
use crate::{
    activity::load_agent::reply,
    store::{LoadError, Start, load},
};

/// Number of attempts to load a spec, and the pause after the first. Each pause is twice the one
/// before.
const MAX_ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(500);

impl Process {
    /// Returns the agent with this name: one of the code, or of the spec that the request names.
    ///
    /// # Errors
    /// There is no such agent, specs are not permitted, or the spec cannot be loaded or resolved.
    pub(super) async fn agent(
        &self,
        owned: &Owned,
        task: &Task,
        name: &str,
        spec: Option<&SpecRef>,
    ) -> Result<AgentDef, Box<RunFailure>> {
        let agents = &self.settings.agents;
        let Some(spec) = spec else {
            return Ok(AgentDef::clone(&*agents.choose(name, |_| true).map_err(failure)?.agent));
        };
        agents.check_permits_specs(spec).map_err(failure)?;
        if let Some(record) = &task.specs {
            let specs: Vec<LoadedSpec> = serde_json::from_str(record).map_err(|error| Box::new(unreadable(&error)))?;
            return agents.agent_of_record(spec, &specs, Vec::new()).map_err(failure);
        }
        let LoadAgentReply { version: _, specs, issues } = self.load_spec(owned, spec).await?;
        owned.log.push(Entry::Specs(json_of(&specs)));
        agents.agent_of_record(spec, &specs, issues).map_err(failure)
    }

    async fn load_spec(&self, owned: &Owned, spec: &SpecRef) -> Result<LoadAgentReply, Box<RunFailure>> {
        let resources = self.settings.runner.resources();
        let failed = |source| failure(RunError::Spec { agent: spec.name.clone(), source });
        let Some(store) = &resources.agents.0 else {
            return Err(failed("the process has no store of agents; add Resources::agent_store(..)".into()));
        };
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            match load(&**store, Start::Stored(spec)).await {
                Ok(loaded) => return Ok(reply(loaded, Some(resources.providers.clone())).await),
                Err(LoadError::Store(error)) if attempt < MAX_ATTEMPTS => {
                    tracing::warn!(%error, agent = spec.name, attempt, "the spec of a run cannot be loaded yet");
                    if owned.cancelled.run_until_cancelled(sleep(pause)).await.is_none() {
                        break;
                    }
                    pause *= 2;
                }
                Err(error) => return Err(failed(error.to_string().into())),
            }
        }
        Err(failure(RunError::Cancelled { agent: spec.name.clone(), turn: 0 }))
    }
}

#[expect(clippy::unnecessary_box_returns, reason = "runs of a process fail with a box")]
fn failure(error: RunError) -> Box<RunFailure> {
    Box::new(error.into())
}
