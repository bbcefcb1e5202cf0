//! The tools that a worker runs: those of its agents and those added without an agent, checked.

use std::collections::{BTreeMap, BTreeSet};

use temporal_agents_core::{
    agent::Graph,
    tool::{OversizedOutput, ToolBinding, ToolDef, schema},
};

use super::{AgentsPlugin, InstallIssue, mcp};

/// The tools of a worker by activity type, each with its versions: tools with the same name and
/// different parameters.
pub(super) type ToolsByType = BTreeMap<String, Vec<ToolDef>>;

impl AgentsPlugin {
    /// Returns the tools of all graphs by activity type, each with all its versions, and adds the
    /// issues of graphs and tools to `issues`. A tool that is bound to another task queue runs on
    /// another worker, which must have its state.
    pub(super) fn checked_tools(&self, task_queue: &str, issues: &mut Vec<InstallIssue>) -> ToolsByType {
        let mut tools = ToolsByType::new();
        let judges = self.tools.iter().flat_map(ToolDef::guardrail_agents);
        let graphs: Vec<Graph> = self.agents.iter().chain(judges).map(Graph::new).collect();
        for graph in &graphs {
            if let Err(error) = graph.check() {
                add_unique(issues, error.issues.into_iter().map(InstallIssue::Graph));
            }
        }
        let nested: Vec<Graph> = graphs.iter().flat_map(Graph::nested).collect();
        let agents: Vec<_> = graphs.iter().chain(&nested).flat_map(Graph::agents).collect();
        mcp::check(self, &agents, task_queue, issues);
        for agent in &agents {
            for tool in agent.tools.iter().filter(|tool| runs_on(tool, task_queue)) {
                if let ToolBinding::Remote(binding) = tool.binding()
                    && self.resources.transports.get(binding.transport()).is_none()
                {
                    let (agent, tool) = (agent.name.clone(), tool.name().to_owned());
                    let transport = binding.transport().to_owned();
                    add_unique(issues, [InstallIssue::MissingTransport { agent, tool, transport }]);
                }
            }
        }
        let of_agents = agents.iter().flat_map(|agent| agent.tools.iter().chain(agent.guardrail_activities()));
        warn_unchecked_keywords(agents.iter().flat_map(|agent| &agent.tools).chain(&self.tools));
        let is_activity = |tool: &&ToolDef| matches!(tool.binding(), ToolBinding::Activity { .. });
        let of_tools = self.tools.iter().flat_map(ToolDef::guardrail_activities);
        for tool in of_agents.chain(&self.tools).chain(of_tools).filter(is_activity) {
            let versions = tools.entry(tool.activity_type()).or_default();
            match versions.iter_mut().find(|known| known.schema_digest() == tool.schema_digest()) {
                None => {
                    if runs_on(tool, task_queue) {
                        add_unique(issues, self.missing_states(tool));
                    }
                    versions.push(tool.clone());
                }
                Some(known) => {
                    let differs = differences(known, tool);
                    if differs.is_empty() {
                        // Of two equal definitions the marked one is kept, so that its calls
                        // contain their version.
                        if tool.is_versioned() {
                            *known = tool.clone();
                        }
                    } else {
                        add_unique(issues, [InstallIssue::DuplicateTool { tool: tool.name().to_owned(), differs }]);
                    }
                }
            }
        }
        for (activity_type, versions) in &mut tools {
            if self.versioned.contains(activity_type) {
                *versions = std::mem::take(versions).into_iter().map(ToolDef::versioned).collect();
            }
            check_versions(versions, issues);
        }
        tools
    }

    fn missing_states(&self, tool: &ToolDef) -> Vec<InstallIssue> {
        let spills = tool.output_limit().above == OversizedOutput::Spill && self.resources.spills.0.is_none();
        let no_store = spills.then(|| InstallIssue::MissingSpillStore { tool: tool.name().to_owned() });
        let missing = tool.requirements().iter().filter(|requirement| !self.resources.states.has(requirement));
        missing
            .map(|requirement| InstallIssue::MissingState {
                tool: tool.name().to_owned(),
                state: requirement.type_name(),
            })
            .chain(no_store)
            .collect()
    }
}

/// Logs, once for each tool, the keywords of its schema that are not checked.
fn warn_unchecked_keywords<'t>(tools: impl Iterator<Item = &'t ToolDef>) {
    let mut named = BTreeSet::new();
    for tool in tools {
        let keywords = schema::unchecked(tool.accepts());
        if !keywords.is_empty() && named.insert(tool.name()) {
            tracing::warn!(tool = tool.name(), ?keywords, "arguments are not checked against these keywords");
        }
    }
}

/// Returns `true` if a worker on this task queue runs the tool.
pub(super) fn runs_on(tool: &ToolDef, task_queue: &str) -> bool {
    match tool.binding() {
        ToolBinding::Activity { options, .. } => options.is_on(task_queue),
        ToolBinding::Mcp(binding) => binding.options().is_on(task_queue),
        ToolBinding::Remote(binding) => binding.options().is_on(task_queue),
        ToolBinding::Inline(_)
        | ToolBinding::RemoteActivity(_)
        | ToolBinding::Workflow(_)
        | ToolBinding::ChildWorkflow(_)
        | ToolBinding::Agent(_)
        | ToolBinding::Client
        | ToolBinding::ChildAgent(_) => true,
        #[cfg(feature = "nexus")]
        ToolBinding::Nexus(_) => true,
    }
}

/// Checks that each call determines its version.
fn check_versions(versions: &[ToolDef], issues: &mut Vec<InstallIssue>) {
    let unmarked: Vec<&ToolDef> = versions.iter().filter(|tool| !tool.is_versioned()).collect();
    for (place, tool) in unmarked.iter().enumerate() {
        for earlier in &unmarked[..place] {
            if schema::are_distinguishable(earlier.accepts(), tool.accepts()) {
                tracing::warn!(
                    tool = tool.name(),
                    "two versions of the tool are distinguished by their arguments only; add .versioned() to the \
                     newer one, so that a worker with the other one refuses its calls"
                );
            } else {
                add_unique(issues, [InstallIssue::UnmarkedVersion { tool: tool.name().to_owned() }]);
            }
        }
    }
}

/// Adds issues that are not in the list yet.
fn add_unique(issues: &mut Vec<InstallIssue>, found: impl IntoIterator<Item = InstallIssue>) {
    for issue in found {
        if !issues.contains(&issue) {
            issues.push(issue);
        }
    }
}

/// Returns the parts in which two definitions with the same parameters differ, so that they are not
/// of the same tool. Bodies cannot be compared, but the parts of a definition that the model and
/// the worker see can.
fn differences(one: &ToolDef, other: &ToolDef) -> Vec<&'static str> {
    let compared = [
        ("the description", one.description() == other.description()),
        ("the schema in model requests", one.parameters() == other.parameters()),
        ("strict mode", one.is_strict() == other.is_strict()),
        ("the states that the bodies require", one.requirements() == other.requirements()),
        ("the options", format!("{:?}", one.binding()) == format!("{:?}", other.binding())),
        ("the output limits", one.output_limit() == other.output_limit()),
        ("the redaction", one.redaction().is_some() == other.redaction().is_some()),
    ];
    compared.into_iter().filter(|(_, is_same)| !is_same).map(|(what, _)| what).collect()
}
