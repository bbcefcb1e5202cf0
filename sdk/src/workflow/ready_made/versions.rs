//! Versions of the agents of a ready-made workflow, and the choice of the version of a run.
//!
//! A run has one version from its beginning to its end, over all executions. A new run has the
//! newest version, unless the run began before that version was deployed. The patch of the version
//! tells this: history has its marker, or not. A run that continues as new carries the name of its
//! version.
//!
//! # Design
//! **A run has one version of its agents from its beginning to its end.** The patch of a version is
//! evaluated where a run begins, newest version first, in the workflow task that schedules the
//! first model call. A run that continues as new carries the name of its version (`agent_version`)
//! and evaluates no patch. If the set no longer has a carried version, the run gets the newest one,
//! with a warning.
//!
//! **A chat evaluates a separate patch for each message** (`<patch>/message-<number>`, counted over
//! all executions) until one is true, and then no more in this execution. Temporal's `patched`
//! memoizes `false` for an execution that has once replayed past the call, so that with a single
//! name an open chat would keep its old agents until it continues as new. There is one marker per
//! execution, regardless of the number of messages.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use temporal_agents_core::{
    agent::{AgentDef, AgentSources, Graph, SpecParts},
    engine::RunError,
    tool::{ToolBinding, ToolDef},
    wire::digest::Digest,
};
use temporalio_workflow::WorkflowContext;

use super::agent_set::{AgentSet, invalid_input_error};

/// Agents that replace earlier ones from a patch on.
#[derive(Clone, Debug)]
pub(super) struct AgentVersion {
    patch: String,
    agents: Vec<Arc<AgentDef>>,
}

/// The agent that was chosen for a run.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) agent: Arc<AgentDef>,
    /// Patch of the agent's version; `None` for the agents that the set was created with.
    pub(crate) version: Option<String>,
}

impl AgentSet {
    /// Adds a later version of agents, for runs that begin from now on. Its agents replace those of
    /// the same name, or are added. Open runs keep their agents. `patch` names the change; it is a
    /// patch of the workflow, as with `ctx.patched`.
    /// ```
    /// use temporal_agents::{Agent, AgentsPlugin, tool::ToolError, workflow::AgentSet};
    /// # use temporal_agents::tool;
    ///
    /// /// Orders an article.
    /// #[tool]
    /// async fn order(article: String) -> Result<String, ToolError> {
    ///     Ok(format!("ordered {article}"))
    /// }
    ///
    /// /// Orders an article.
    /// #[tool(name = "order")]
    /// async fn order_with_details(article: String, details: String) -> Result<String, ToolError> {
    ///     Ok(format!("ordered {article}, {details}"))
    /// }
    ///
    /// fn desk() -> Agent {
    ///     Agent::new("desk").model("gpt-5").tool(order)
    /// }
    ///
    /// fn desk_v2() -> Agent {
    ///     Agent::new("desk").model("gpt-5").tool(order_with_details)
    /// }
    ///
    /// let agents = AgentSet::new((desk,)).version("details", (desk_v2,));
    /// // The worker runs the tools of all versions.
    /// let plugin = AgentsPlugin::default().agents(&agents);
    /// ```
    ///
    /// Call this once for each later version, in their order. A version contains start agents with
    /// all agents that they reach: if `triage` hands off to `desk`, the version has a `triage` that
    /// hands off to the new `desk`.
    ///
    /// | what was open when the version was deployed | its agents |
    /// |---|---|
    /// | a run of an `AgentWorkflow` | the old ones to its end, also after continuing as new |
    /// | a message that a chat is answering | the old ones |
    /// | the next message of this chat | the new ones |
    /// | a workflow that has ended, and is replayed or queried | those that it had |
    ///
    /// A chat evaluates a patch once for each message, `<patch>/message-<number>`, until it has
    /// moved: a result of Temporal's `patched` holds for a whole execution, so that a single patch
    /// would keep a chat on its old agents until it continues as new.
    ///
    /// # Determinism
    /// Keep a version in the set as long as histories with its marker are replayed. Once no run has
    /// the old agents any more, they can be dropped earlier, by putting the new ones in their
    /// place: `AgentSet::new((desk_v2,)).version("details", (desk_v2,))`. If the set no longer has
    /// the version of a run, the run gets the newest one, and a warning is logged.
    #[must_use]
    pub fn version(mut self, patch: impl Into<String>, agents: impl AgentSources) -> Self {
        let agents = agents.agent_defs().into_iter().map(Arc::new).collect();
        self.versions.push(Arc::new(AgentVersion { patch: patch.into(), agents }));
        self.mark_versioned_tools();
        self
    }

    /// Finds the tools that the agents, and the parts of specs, have in several versions.
    pub(super) fn mark_versioned_tools(&mut self) {
        let parts = self.specs.as_ref().map(SpecParts::tool_defs).unwrap_or_default();
        self.versioned_tools = Arc::new(several(self.all(), parts));
    }

    /// Returns the agents of all versions.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<AgentDef>> {
        self.agents.iter().chain(self.versions.iter().flat_map(|version| &version.agents))
    }

    /// Returns the name of the agent with this name or, without a name, of the only agent that the
    /// set was created with.
    ///
    /// # Errors
    /// No version has the agent, or there is no name and more than one agent.
    pub(crate) fn name(&self, name: Option<&str>) -> Result<String, RunError> {
        let known = || {
            let names: Vec<&str> = self.all().map(|agent| &*agent.name).collect();
            // Lists each name once, at its first place.
            let first = |place: &usize| !names[..*place].contains(&names[*place]);
            (0..names.len()).filter(first).map(|place| names[place]).collect::<Vec<_>>().join(", ")
        };
        match (name, &*self.agents) {
            (None, [only]) => Ok(only.name.clone()),
            (None, _) => {
                Err(invalid_input_error("", format!("the input names no agent; the workflow has: {}", known())))
            }
            (Some(name), _) if self.all().any(|agent| agent.name == name) => Ok(name.to_owned()),
            (Some(name), _) => Err(unknown(name, &known())),
        }
    }

    /// Chooses the agent of a run that begins. Calls `patched` for the versions that have the
    /// agent, newest first, until it returns `true`.
    ///
    /// # Errors
    /// Only later versions have the agent, and the run began before them.
    pub(crate) fn choose(&self, name: &str, mut patched: impl FnMut(&str) -> bool) -> Result<Chosen, RunError> {
        let versions = self.versions_with(name);
        let mut chosen = versions.into_iter().rev().filter(|(patch, _)| patch.is_none_or(&mut patched));
        chosen.next().map(Chosen::from).ok_or_else(|| {
            let known: Vec<&str> = self.agents.iter().map(|agent| &*agent.name).collect();
            unknown(name, &known.join(", "))
        })
    }

    /// Returns the agent of a run that the previous execution left with this version, and `true` if
    /// the set still has this version.
    ///
    /// # Errors
    /// No version has the agent.
    pub(crate) fn carried(&self, name: &str, version: Option<&str>) -> Result<(Chosen, bool), RunError> {
        let versions = self.versions_with(name);
        let same = versions.iter().find(|(patch, _)| *patch == version);
        let chosen = same.or(versions.last()).copied().map(Chosen::from);
        chosen.map(|chosen| (chosen, same.is_some())).ok_or_else(|| unknown(name, "others"))
    }

    /// Returns the versions that have the agent, each as its patch and the agent. The first version
    /// has no patch.
    fn versions_with(&self, name: &str) -> Vec<(Option<&str>, &Arc<AgentDef>)> {
        let named = |agents| <[Arc<AgentDef>]>::iter(agents).find(|agent| agent.name == name);
        let first = named(&self.agents).map(|agent| (None, agent));
        let later = self.versions.iter().filter_map(|version| Some((Some(&*version.patch), named(&version.agents)?)));
        first.into_iter().chain(later).collect()
    }
}

fn unknown(name: &str, known: &str) -> RunError {
    invalid_input_error(name, format!("the workflow has no agent {name:?}; it has: {known}"))
}

impl From<(Option<&str>, &Arc<AgentDef>)> for Chosen {
    fn from((patch, agent): (Option<&str>, &Arc<AgentDef>)) -> Self {
        Self { agent: Arc::clone(agent), version: patch.map(str::to_owned) }
    }
}

/// Returns the agent of a run that the previous execution left with this version; logs a warning if
/// the set no longer has the version.
///
/// # Errors
/// No version has the agent.
pub(super) fn carried_version<W>(
    ctx: &WorkflowContext<W>,
    set: &AgentSet,
    name: &str,
    version: Option<&str>,
) -> Result<Chosen, RunError> {
    let (chosen, is_same) = set.carried(name, version)?;
    if !is_same && !ctx.is_replaying_history_events() {
        let version = version.unwrap_or("the first");
        let newest = chosen.version.as_deref().unwrap_or("the first");
        tracing::warn!(
            agent = name,
            version,
            newest,
            "the set does not have the version that the run has; it continues with the newest"
        );
    }
    Ok(chosen)
}

/// Provides the agents of all versions of a set.
impl AgentSources for &AgentSet {
    fn agent_defs(self) -> Vec<AgentDef> {
        self.all().map(|agent| AgentDef::clone(agent)).collect()
    }

    fn versioned_tools(&self) -> BTreeSet<String> {
        BTreeSet::clone(&self.versioned_tools)
    }

    fn spec_parts(&self) -> Option<SpecParts> {
        self.specs.clone()
    }

    fn open_toolsets(&self) -> Vec<String> {
        self.open_toolsets.clone()
    }

    fn keeps_chats(&self) -> bool {
        AgentSet::keeps_chats(self)
    }

    fn runs_untyped(&self) -> bool {
        true
    }
}

/// Returns the activity types of the tools that these agents and parts have with different
/// parameters.
fn several<'a>(agents: impl Iterator<Item = &'a Arc<AgentDef>>, parts: &[ToolDef]) -> BTreeSet<String> {
    let mut schemas: BTreeMap<String, Digest> = BTreeMap::new();
    let mut several = BTreeSet::new();
    let graphs: Vec<Graph> =
        agents.map(|agent| Graph::new(agent)).flat_map(|graph| [graph.nested(), vec![graph]].concat()).collect();
    let agents = graphs.iter().flat_map(Graph::agents);
    let tools = agents.flat_map(|agent| agent.tools.iter().chain(agent.guardrail_activities())).chain(parts);
    for tool in tools.filter(|tool: &&ToolDef| matches!(tool.binding(), ToolBinding::Activity { .. })) {
        let schema = tool.schema_digest();
        // A schema other than the first one of this activity type.
        if *schemas.entry(tool.activity_type()).or_insert_with(|| schema.clone()) != schema {
            several.insert(tool.activity_type());
        }
    }
    several
}

#[cfg(test)]
mod tests;
