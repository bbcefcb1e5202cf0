//! Agents as data on a worker: the activity that loads them, and the check that it has a store.

use std::sync::Arc;

use futures::FutureExt;
use temporal_agents_core::{
    agent::{AgentDef, Graph, spec::PARTS},
    wire::load_agent::LOAD_AGENT_ACTIVITY,
};

use super::{AgentsPlugin, InstallIssue, json};
use crate::activity::{
    load_agent,
    registration::{Body, of_values},
};

impl AgentsPlugin {
    /// Returns the activity that loads agents as data, if the worker has a store of them.
    pub(super) fn loading_agents(&self) -> Option<(String, Body)> {
        let store = self.resources.agents.0.clone()?;
        let providers = self.calls_models().then(|| self.resources.providers.clone());
        let body = of_values(move |ctx, request| {
            let (store, providers) = (Arc::clone(&store), providers.clone());
            async move { json(&load_agent::run(store, providers, ctx, request).await?) }.boxed()
        });
        Some((LOAD_AGENT_ACTIVITY.to_owned(), body))
    }

    /// Returns the issues of agents as data: parts of one name, and a missing store.
    pub(super) fn issues_of_specs(&self) -> Vec<InstallIssue> {
        let parts: Vec<&AgentDef> = self.agents.iter().filter(|agent| agent.name == PARTS).collect();
        let has_no_store = !parts.is_empty() && self.resources.agents.0.is_none();
        let same_names = parts.iter().filter_map(|parts| Graph::new(parts).check_names().err());
        let same_names = same_names.flat_map(|error| error.issues).map(InstallIssue::Graph);
        has_no_store.then_some(InstallIssue::MissingAgentStore).into_iter().chain(same_names).collect()
    }
}
