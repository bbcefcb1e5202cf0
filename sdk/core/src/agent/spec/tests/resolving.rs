//! The names of specs, resolved.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Surroundings, lines, loaded, parts, resolved};
use crate::{
    agent::{Graph, SpecIssue, SpecParts, spec::suggestion},
    tool::NeedsApproval,
    wire::ToolSpec,
};

#[test]
fn a_spec_becomes_an_agent_of_the_parts() {
    let desk = json!({
        "name": "desk", "description": "Answers.", "instructions": "Be brief.", "tools": ["find_order"],
        "hosted_tools": ["web_search"], "handoffs": ["billing"], "input_guardrails": ["no_homework"],
        "output_guardrails": ["polite"], "output": {"schema": {"type": "object", "properties": {}}},
    });
    let billing = json!({"name": "billing", "handoffs": [{"agent": "desk", "tool_name": "back"}]});
    let agent = resolved(&parts(), &[desk, billing]).unwrap();
    let graph = Graph::new(&agent);
    assert_eq!(graph.agents().map(|agent| &*agent.name).collect::<Vec<_>>(), ["billing", "desk"]);
    assert_eq!(graph.handoffs_of(graph.agent("billing").unwrap()).count(), 1);
    assert_eq!((agent.tools[0].name(), agent.output.as_ref().unwrap().spec().strict), ("find_order", true));
    assert_eq!((agent.input_guardrails[0].name(), agent.output_guardrails[0].name()), ("no_homework", "polite"));
    let ToolSpec::Hosted { config, .. } = &agent.hosted_tools[0] else { panic!("a hosted tool") };
    assert_eq!(config["search_context_size"], "low", "the configuration is the operator's");
}

#[test]
fn all_unknown_names_of_all_agents_are_reported_with_suggestions() {
    let desk = json!({
        "name": "desk", "tools": ["find_ordr", "launch", {"name": "refund", "input_guardrails": ["small_amount"]}],
        "hosted_tools": ["web_search", "hosted_mcp"], "handoffs": ["billing", "bling"], "input_guardrails": ["no_home"],
        "settings": {"tool_choice": "launch"},
    });
    let billing = json!({"name": "billing", "output_guardrails": ["rude"]});
    let error = resolved(&parts(), &[desk, billing]).unwrap_err();
    assert!(error.to_string().starts_with("8 things are wrong with the spec:\n"), "{error}");
    assert_eq!(
        lines(&error),
        [
            r#"agent "desk" has the unknown tool "find_ordr"; did you mean "find_order"?; SpecParts::tool adds one"#,
            "agent \"desk\" has the unknown tool \"launch\" (there are: find_order, refund); SpecParts::tool adds one",
            "agent \"desk\" has the unknown input guardrail of tool \"refund\" \"small_amount\"; did you mean \
             \"small_amounts\"?; SpecParts has a method to add one",
            "agent \"desk\" has the hosted tool \"hosted_mcp\", which the operator has not opened; \
             SpecParts::hosted_tool opens one (open: web_search)",
            "agent \"desk\" has the unknown input guardrail \"no_home\" (there are: no_homework); SpecParts has a \
             method to add one",
            "spec \"desk\": settings.tool_choice names \"launch\", which is neither a tool nor a handoff of the agent",
            "agent \"desk\" hands off to \"bling\", of which there is no spec; did you mean \"billing\"?; store it \
             first",
            "agent \"billing\" has the unknown output guardrail \"rude\" (there are: polite); SpecParts has a method \
             to add one",
        ]
    );
}

#[test]
fn a_spec_adds_approvals_and_checks_and_takes_none_away() {
    let ask = json!({"name": "find_order", "needs_approval": true, "output_guardrails": ["no_names"]});
    let more = json!({"name": "refund", "input_guardrails": ["small_amounts"], "output_guardrails": ["no_names"]});
    let agent = resolved(&parts(), &[json!({"name": "desk", "tools": [ask, more]})]).unwrap();
    let [find_order, refund] = &*agent.tools else { panic!("two tools") };
    assert!(matches!(find_order.approval_rule(), NeedsApproval::Always));
    assert_eq!((find_order.input_guardrails().len(), find_order.output_guardrails().len()), (0, 1));
    assert!(matches!(refund.approval_rule(), NeedsApproval::When(_)), "the tool's own rule stays");
    assert_eq!(refund.input_guardrails()[0].name(), "small_amounts");
    assert_eq!(refund.output_guardrails().len(), 1, "the tool's own check stays, once");
    let stricter = json!({"name": "desk", "tools": [{"name": "refund", "needs_approval": true}]});
    let agent = resolved(&parts(), &[stricter]).unwrap();
    assert!(matches!(agent.tools[0].approval_rule(), NeedsApproval::Always));
    // Nothing is taken away from a tool that does not ask.
    let same = json!({"name": "desk", "tools": [{"name": "find_order", "needs_approval": false}]});
    assert!(resolved(&parts(), &[same]).is_ok());
    let weaker = json!({"name": "desk", "tools": [{"name": "refund", "needs_approval": false}]});
    assert_eq!(
        lines(&resolved(&parts(), &[weaker]).unwrap_err()),
        ["agent \"desk\" sets needs_approval to false for tool \"refund\", whose own rule asks for approvals; remove \
          the member: a spec can only add approvals, and AgentSet::specs decides what a tool asks for"]
    );
}

#[test]
fn settings_that_reach_the_provider_unchecked_and_secrets_are_closed_until_opened() {
    let desk = json!({"name": "desk", "settings": {
        "extra_body": {"tools": [{"type": "web_search"}]},
        "extra_headers": {"authorization": {"$worker_env": "KEY"}},
        "metadata": {"a": {"$worker_env": "OTHER"}},
    }});
    let closed = lines(&resolved(&parts(), std::slice::from_ref(&desk)).unwrap_err());
    assert_eq!(closed.len(), 4, "{closed:?}");
    assert!(closed[0].starts_with("agent \"desk\" has the setting \"extra_headers\", which is merged"), "{closed:?}");
    assert!(closed[1].starts_with("agent \"desk\" has the setting \"extra_body\""), "{closed:?}");
    let env = closed.iter().filter(|line| line.ends_with("SpecParts::open_env opens one")).count();
    assert_eq!(env, 2, "{closed:?}");
    let opened = parts().open_extra_settings().open_env(["KEY", "OTHER"]);
    assert!(resolved(&opened, std::slice::from_ref(&desk)).is_ok());
    assert_eq!(lines(&resolved(&parts().open_extra_settings().open_env(["KEY"]), &[desk]).unwrap_err()).len(), 1);
}

#[test]
fn names_are_used_once() {
    let desk = json!({
        "name": "desk", "tools": ["refund", "refund", "find_order"],
        "handoffs": [{"agent": "desk", "tool_name": "find_order"}], "hosted_tools": ["web_search", "web_search"],
        "input_guardrails": ["no_homework", "no_homework"],
    });
    let found = resolved(&parts(), &[desk]).unwrap_err();
    let names: Vec<_> = found
        .issues
        .iter()
        .map(|issue| match issue {
            SpecIssue::DuplicateName { kind, name, .. } => (&**kind, &**name),
            other => panic!("{other}"),
        })
        .collect();
    let functions = "functions (tools and handoffs)";
    let expected = [
        ("hosted tools", "web_search"),
        ("entries as input guardrail", "no_homework"),
        (functions, "refund"),
        (functions, "find_order"),
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_spec_has_a_model_and_a_name_that_the_code_does_not_have() {
    let specs = loaded(&[json!({"name": "desk"})]);
    let surroundings = Surroundings { taken: BTreeSet::from(["desk".to_owned()]), has_model: false, found: Vec::new() };
    assert_eq!(
        lines(&parts().resolve(&specs, &surroundings).unwrap_err()),
        [
            r#"the workflow has an agent named "desk" in its code; choose another name for the spec"#,
            r#"agent "desk" has no model; set "model" in the spec, or RunConfig::model in AgentSet::config"#,
        ]
    );
}

#[test]
fn what_the_worker_has_found_comes_first() {
    let specs = loaded(&[json!({"name": "desk", "tools": ["launch"], "handoffs": ["nobody"]})]);
    let surroundings =
        Surroundings { has_model: true, found: vec!["the worker's words".to_owned()], ..Surroundings::default() };
    let found = lines(&parts().resolve(&specs, &surroundings).unwrap_err());
    assert_eq!(found.len(), 2, "an unknown target is reported once, by the worker: {found:?}");
    assert_eq!(found[0], "the worker's words");
}

#[test]
fn a_schema_that_cannot_be_strict_is_reported_and_may_be_lenient() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let desk = |lenient| json!({"name": "desk", "output": {"schema": schema, "lenient": lenient}});
    let error = resolved(&parts(), &[desk(false)]).unwrap_err();
    assert!(matches!(&*error.issues, [SpecIssue::Graph(_)]), "{error}");
    assert!(resolved(&parts(), &[desk(true)]).is_ok());
}

#[test]
fn messages_about_many_names_are_short_and_fast() {
    let many: Vec<_> = (0..128).map(|number| format!("unknown_tool_{number}_{}", "x".repeat(100))).collect();
    let known = SpecParts::new().tools((0..10_000).map(|number| super::tool(&format!("tool_{number}"))));
    let error = resolved(&known, &[json!({"name": "desk", "tools": many})]).unwrap_err();
    assert_eq!(error.issues.len(), 128);
    assert!(error.to_string().len() < 40_000, "{}", error.to_string().len());
    assert!(error.to_string().ends_with("- and 78 more"));
    assert_eq!(suggestion("refnd", ["find", "refund"]).as_deref(), Some("refund"));
    assert_eq!(suggestion("", ["find"]), None);
    assert_eq!(suggestion(&"x".repeat(1_000_000), ["find"]), None);
}
