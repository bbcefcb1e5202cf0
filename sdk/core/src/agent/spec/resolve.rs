//! Specs, resolved to agents of the parts.
//!
//! A pure function over the record of a run: the workflow calls it, again on replay.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{
    issue::{SpecError, SpecIssue},
    names::{cut, listed, suggestion},
    parts::SpecParts,
    settings::{check_tool_choice, extra_settings, variables},
};
use crate::{
    agent::{AgentDef, Graph, Handoff, OutputDef},
    wire::{
        AgentSpec,
        agent_spec::{LoadedSpec, SpecHandoff},
    },
};

/// The place in which specs run.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Names of the agents in the code, which a spec must not have.
    pub taken: BTreeSet<String>,
    /// `true` if the run has a model for agents without one.
    pub has_model: bool,
    /// Problems that the worker has found when it loaded the specs.
    pub found: Vec<String>,
}

impl SpecParts {
    /// Resolves specs, of which the first is the start agent.
    ///
    /// # Errors
    /// [`SpecError`] with all problems.
    #[doc(hidden)]
    pub fn resolve(&self, specs: &[LoadedSpec], surroundings: &Surroundings) -> Result<AgentDef, SpecError> {
        let mut issues: Vec<SpecIssue> =
            surroundings.found.iter().map(|message| SpecIssue::Loading { message: message.clone() }).collect();
        let known: BTreeSet<&str> = specs.iter().map(|loaded| &*loaded.spec.name).collect();
        let mut agents = Vec::with_capacity(specs.len());
        for LoadedSpec { version: _, spec } in specs {
            if surroundings.taken.contains(&spec.name) {
                issues.push(SpecIssue::NameTaken { agent: spec.name.clone() });
            }
            if spec.model.is_none() && !surroundings.has_model {
                issues.push(SpecIssue::NoModel { agent: spec.name.clone() });
            }
            let agent = self.agent_of(spec, &mut issues);
            for handoff in spec.handoffs.iter().filter(|handoff| !known.contains(&*handoff.agent)) {
                // The worker has reported it, with the names that the store has.
                if surroundings.found.is_empty() {
                    issues.push(unknown_target(spec, handoff, &known));
                }
            }
            agents.push(Arc::new(agent));
        }
        let Some((start, others)) = agents.split_first() else {
            issues.push(SpecIssue::Loading { message: "the record of the run has no spec".to_owned() });
            return Err(SpecError { issues });
        };
        let mut start = AgentDef::clone(start);
        start.found_among = others.to_vec();
        if issues.is_empty()
            && let Err(error) = Graph::new(&start).check()
        {
            issues.extend(error.issues.into_iter().map(SpecIssue::Graph));
        }
        if issues.is_empty() { Ok(start) } else { Err(SpecError { issues }) }
    }

    /// Returns the agent of a spec, as far as its names are known.
    fn agent_of(&self, spec: &AgentSpec, issues: &mut Vec<SpecIssue>) -> AgentDef {
        let AgentSpec {
            version: _,
            name,
            description,
            model,
            instructions,
            settings,
            tools: _,
            hosted_tools: _,
            handoffs,
            input_guardrails: _,
            output_guardrails: _,
            output,
        } = spec;
        let mut agent = Self::blank(name);
        agent.handoff_description.clone_from(description);
        agent.model.clone_from(model);
        if let Some(text) = instructions {
            agent.instructions = text.as_str().into();
        }
        self.check_open_settings(spec, issues);
        agent.settings = settings.clone();
        agent.tools = self.tools_of(spec, issues);
        agent.hosted_tools = self.hosted_tools_of(spec, issues);
        agent.handoffs = handoffs.iter().map(handoff).collect();
        (agent.input_guardrails, agent.output_guardrails) = self.guardrails_of(spec, issues);
        agent.output = output
            .as_ref()
            .map(|output| OutputDef::from_schema(&*output.name, Value::clone(&output.schema), !output.lenient));
        check_functions(&agent, issues);
        agent
    }

    fn check_open_settings(&self, spec: &AgentSpec, issues: &mut Vec<SpecIssue>) {
        let agent = || spec.name.clone();
        if !self.opens_extra_settings {
            let closed = extra_settings(&spec.settings);
            issues
                .extend(closed.map(|setting| SpecIssue::SettingNotOpened { agent: agent(), setting: setting.into() }));
        }
        let mut named = Vec::new();
        variables(&serde_json::to_value(&spec.settings).unwrap_or_default(), &mut named);
        let closed = named.iter().filter(|variable| !self.env.contains(*variable));
        issues.extend(closed.map(|variable| SpecIssue::EnvNotOpened { agent: agent(), variable: cut(variable) }));
    }
}

fn handoff(spec: &SpecHandoff) -> Handoff {
    let SpecHandoff { agent, version: _, tool_name, tool_description } = spec;
    let mut handoff = Handoff::to(&**agent);
    if let Some(name) = tool_name {
        handoff = handoff.tool_name(&**name);
    }
    if let Some(description) = tool_description {
        handoff = handoff.tool_description(&**description);
    }
    handoff
}

/// Adds a problem for each name that several functions of an agent share, and one if its settings
/// request a function that it does not have.
fn check_functions(agent: &AgentDef, issues: &mut Vec<SpecIssue>) {
    let tools = agent.tools.iter().map(|tool| tool.name().to_owned());
    let mut names: Vec<String> = tools.chain(agent.handoffs.iter().map(Handoff::name)).collect();
    let mut seen = BTreeSet::new();
    let mut reported = BTreeSet::new();
    for name in &names {
        if !seen.insert(name) && reported.insert(name) {
            let (agent, kind) = (agent.name.clone(), "functions (tools and handoffs)".to_owned());
            issues.push(SpecIssue::DuplicateName { agent, kind, name: cut(name) });
        }
    }
    names.extend(agent.hosted_tools.iter().map(|tool| tool.name().to_owned()));
    check_tool_choice(&agent.name, &agent.settings, &names, issues);
}

fn unknown_target(spec: &AgentSpec, handoff: &SpecHandoff, known: &BTreeSet<&str>) -> SpecIssue {
    SpecIssue::UnknownTarget {
        agent: spec.name.clone(),
        target: cut(&handoff.agent),
        suggestion: suggestion(&handoff.agent, known.iter().copied()),
        known: listed(known.iter().copied()),
    }
}
