use serde_json::json;
use temporal_agents_core::agent::Agent;

use super::*;

fn agent(name: &str, model: &str) -> Agent {
    Agent::new(name).model(model)
}

fn set() -> AgentSet {
    AgentSet::new((agent("desk", "first"), agent("clerk", "first")))
        .version("details", (agent("desk", "details"),))
        .version("colours", (agent("desk", "colours"), agent("painter", "colours")))
}

/// Returns the model of the agent that a run begins with, and the patches that were evaluated.
fn chosen(name: &str, patches: &[&str]) -> (Option<String>, Vec<String>) {
    let mut asked = Vec::new();
    let found = set().choose(name, |patch| {
        asked.push(patch.to_owned());
        patches.contains(&patch)
    });
    (found.ok().and_then(|chosen| chosen.agent.model.clone()), asked)
}

#[test]
fn a_run_begins_with_the_newest_version_that_is_patched() {
    assert_eq!(chosen("desk", &["details", "colours"]), (Some("colours".to_owned()), vec!["colours".to_owned()]));
    let both = vec!["colours".to_owned(), "details".to_owned()];
    assert_eq!(chosen("desk", &["details"]), (Some("details".to_owned()), both.clone()));
    assert_eq!(chosen("desk", &[]), (Some("first".to_owned()), both));
}

#[test]
fn versions_without_the_agent_are_not_asked_for() {
    assert_eq!(chosen("clerk", &[]), (Some("first".to_owned()), vec![]));
    assert_eq!(chosen("painter", &["colours"]), (Some("colours".to_owned()), vec!["colours".to_owned()]));
    assert_eq!(chosen("painter", &["details"]), (None, vec!["colours".to_owned()]));
}

#[test]
fn a_carried_run_keeps_its_version_and_has_the_newest_where_that_is_gone() {
    let carried = |version| {
        let (chosen, is_same) = set().carried("desk", version).expect("there is a desk");
        (chosen.agent.model.clone(), is_same)
    };
    assert_eq!(carried(None), (Some("first".to_owned()), true));
    assert_eq!(carried(Some("details")), (Some("details".to_owned()), true));
    assert_eq!(carried(Some("sizes")), (Some("colours".to_owned()), false));
}

#[test]
fn without_a_name_the_only_agent_that_the_set_began_with_is_meant() {
    let one = AgentSet::new((agent("desk", "first"),)).version("colours", (agent("painter", "colours"),));
    assert_eq!(one.name(None).ok(), Some("desk".to_owned()));
    assert_eq!(one.name(Some("painter")).ok(), Some("painter".to_owned()));
    assert!(set().name(None).is_err() && set().name(Some("nobody")).is_err());
}

#[test]
fn tools_with_other_parameters_are_those_in_several_versions() {
    let tool = |name: &str, member: &str| {
        let body = ToolDef::activity(name, "A tool.", |_, (): ()| Box::pin(async { Ok("".into()) }));
        let binding = body.binding().clone();
        let parameters = json!({"type": "object", "properties": {member: {"type": "string"}}, "required": [member]});
        ToolDef::new(name, "A tool.", parameters, binding)
    };
    let desk = |member: &str| agent("desk", "m").tool(tool("order", member)).tool(tool("count", "all"));
    let triage = |member: &str| agent("triage", "m").handoff(desk(member));
    let set = AgentSet::new((triage("article"),)).version("details", (triage("details"),));
    assert_eq!((&set).versioned_tools(), BTreeSet::from(["agents.tool.order".to_owned()]));
    let set = AgentSet::new((triage("article"),)).version("words", (triage("article"),));
    assert_eq!((&set).versioned_tools(), BTreeSet::new());
}
