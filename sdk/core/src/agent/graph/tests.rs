use std::collections::BTreeMap;

use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;
use crate::agent::Agent;
use crate::{
    agent::OutputType,
    tool::{ToolBinding, ToolDef},
};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Report {
    summary: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Open {
    free: BTreeMap<String, String>,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

const BAD_NAME: &str = "the name must be 1 to 64 ASCII letters, digits, '_' and '-', or models refuse every request";

fn agent(name: &str) -> Agent {
    Agent::new(name).model("gpt-5")
}

fn tool(name: &str) -> ToolDef {
    ToolDef::inline(name, "", |_ctx, Nothing {}| Ok("".into()))
}

fn graph<O>(start: &Agent<O>) -> Graph {
    Graph::new(start.def())
}

/// Returns the issues of the graph of this agent, one line per issue.
fn issues<O>(start: &Agent<O>) -> Vec<String> {
    lines(graph(start).check())
}

fn lines(checked: Result<(), GraphError>) -> Vec<String> {
    checked.map_or_else(|error| error.issues.iter().map(ToString::to_string).collect(), |()| vec![])
}

fn names<O>(start: &Agent<O>) -> Vec<String> {
    graph(start).agents().map(|agent| agent.name.clone()).collect()
}

#[test]
fn an_agent_that_was_found_starts_a_graph_of_the_same_agents() {
    let billing = agent("billing").handoff(Handoff::to("triage"));
    let start = agent("triage").handoff(billing).handoff(agent("sales"));
    let found = start.find("billing").expect("it is reached");
    assert_eq!((found.name(), graph(&found).start()), ("billing", "billing"));
    assert_eq!(names(&found), ["billing", "sales", "triage"]);
    assert_eq!(issues(&found), [""; 0]);
    let back = found.find("triage").expect("it is still reached");
    assert_eq!((names(&back), issues(&back)), (names(&start), vec![]));
    assert!(start.find("nobody").is_none());
}

#[test]
fn a_graph_holds_all_agents_that_handoffs_reach_by_name() {
    let start = agent("triage").handoff(agent("sales").handoff(agent("archive"))).handoff(agent("refunds"));
    assert_eq!(names(&start), ["archive", "refunds", "sales", "triage"]);
    assert_eq!(graph(&start).start(), "triage");
    assert_eq!(issues(&start), [""; 0]);
}

#[test]
fn the_same_agent_reached_twice_is_one_agent() {
    let archive = agent("archive").tool(tool("find"));
    let start = agent("triage")
        .handoff(agent("sales").handoff(archive.clone()))
        .handoff(agent("refunds").handoff(archive))
        .handoff(agent("archive").tool(tool("find")));
    assert_eq!(names(&start), ["archive", "refunds", "sales", "triage"]);
    assert_eq!(issues(&start), [""; 0]);
}

#[test]
fn names_make_cycles() {
    let refunds = agent("refunds").handoff(Handoff::to("triage")).handoff(Handoff::to("refunds"));
    let start = agent("triage").handoff(refunds);
    assert_eq!(issues(&start), [""; 0]);
    let graph = graph(&start);
    let targets = |agent: &str| -> Vec<String> {
        graph.handoffs_of(graph.agent(agent).unwrap()).map(|(_, target)| target.name.clone()).collect()
    };
    assert_eq!(
        (targets("triage"), targets("refunds")),
        (vec!["refunds".into()], vec!["triage".into(), "refunds".into()])
    );
}

#[test]
fn an_agent_needs_a_name() {
    assert_eq!(issues(&agent("")), ["an agent has an empty name; set one in Agent::new"]);
}

#[test]
fn different_agents_of_one_name_are_reported_once() {
    let start = agent("triage")
        .handoff(agent("sales").instructions("one"))
        .handoff(Handoff::to_agent(agent("sales").instructions("two")).tool_name("second"))
        .handoff(Handoff::to_agent(agent("sales").instructions("three")).tool_name("third"));
    assert_eq!(issues(&start), [r#"two different agents are named "sales"; rename one"#]);
}

#[test]
fn every_agent_needs_a_model_of_its_own_or_of_the_run() {
    let start = agent("triage").handoff(Agent::new("sales")).handoff(Agent::new("refunds"));
    let graph = graph(&start);
    assert_eq!(
        graph.check_models(None).unwrap_err().to_string(),
        "2 things are wrong with the agents:\n\
         - agent \"refunds\" has no model; add .model(..) to it, or to the Runner\n\
         - agent \"sales\" has no model; add .model(..) to it, or to the Runner"
    );
    assert_eq!(graph.check_models(Some("gpt-5")), Ok(()));
    assert_eq!(graph.check(), Ok(()), "the check of a worker, which knows no run, lets it pass");
}

#[rstest]
#[case::tools(agent("a").tool(tool("find")).tool(tool("find")).tool(tool("find")), "tools", "find")]
#[case::handoffs(
    agent("a").handoff(agent("b")).handoff(Handoff::to("b")),
    "handoffs",
    "transfer_to_b"
)]
#[case::handoffs_whose_names_fall_together(
    agent("a").handoff(agent("my b")).handoff(agent("My_B")),
    "handoffs",
    "transfer_to_my_b"
)]
#[case::a_tool_and_a_handoff(
    agent("a").tool(tool("transfer_to_b")).handoff(agent("b")),
    "functions (a tool and a handoff)",
    "transfer_to_b"
)]
fn two_functions_of_one_name_are_reported_once(#[case] start: Agent, #[case] what: &str, #[case] name: &str) {
    let expected = format!(
        r#"agent "a" has two {what} named "{name}"; rename a tool with #[tool(name = ..)], a handoff with .tool_name(..)"#
    );
    assert_eq!(lines(graph(&start).check_names()), [expected]);
    assert_eq!(issues(&start), [""; 0], "whether that is a mistake is for the run to say");
}

#[test]
fn a_name_must_be_one_of_the_graph() {
    let start = agent("triage").handoff(agent("sales")).handoff(Handoff::to("nobody"));
    assert_eq!(
        issues(&start),
        [r#"agent "triage" hands off to "nobody", which is not an agent of the graph (it has: sales, triage)"#]
    );
}

#[test]
fn the_issues_of_tools_are_those_of_the_graph() {
    let open = ToolDef::inline("open", "", |_ctx, Open { free: _ }| Ok("".into()));
    let start = agent("triage").handoff(agent("sales").tool(tool("look up")).tool(open));
    let [name, strict] = &*issues(&start) else { panic!("{:?}", issues(&start)) };
    assert_eq!(name, &format!(r#"tool "look up" of agent "sales": {BAD_NAME}"#));
    assert!(
        strict.starts_with(r#"tool "open" of agent "sales": the argument schema cannot be strict at "#),
        "{strict}"
    );
}

#[test]
fn the_input_of_a_handoff_must_fit_strict_mode() {
    let typed = Handoff::to_agent(agent("sales")).on_handoff::<Open>(|_, _| Ok(()));
    let [issue] = &*issues(&agent("triage").handoff(typed)) else { panic!("one issue") };
    let start = r#"the input type of handoff "transfer_to_sales" of agent "triage" cannot be strict at "#;
    assert!(issue.starts_with(start), "{issue}");
}

#[test]
fn an_output_type_must_fit_strict_mode() {
    let [issue] = &*issues(&agent("triage").output::<Open>()) else { panic!("one issue") };
    assert!(issue.starts_with(r#"the output type Open of agent "triage" cannot be strict at "#), "{issue}");
}

#[test]
fn agents_of_a_typed_run_answer_with_its_type() {
    fn check<O: OutputType>(start: &Agent<O>) -> Result<(), GraphError> {
        graph(start).check_outputs()
    }
    let mixed = agent("triage").handoff(agent("sales").output::<Report>()).handoff(agent("refunds"));
    assert_eq!(
        check(&mixed).unwrap_err().to_string(),
        "one thing is wrong with the agents:\n\
         - agent \"sales\" answers with Report, but the run of \"triage\" with text; \
         give both one output type, or run it with .untyped()"
    );
    let typed = agent("triage").output::<Report>().handoff(agent("sales"));
    assert_eq!(
        check(&typed).unwrap_err().issues,
        [GraphIssue::OutputDiffers {
            agent: "sales".to_owned(),
            found: "text".to_owned(),
            start: "triage".to_owned(),
            expected: "Report".to_owned(),
        }]
    );
    assert_eq!(check(&agent("triage").output::<Report>().handoff(agent("sales").output::<Report>())), Ok(()));
}

#[test]
fn what_is_wrong_with_an_agent_deep_inside_is_reported_once() {
    let mut nested = agent("deepest").tool(tool("look up"));
    for depth in 0..24 {
        nested = agent(&format!("depth_{depth}")).tool(nested.as_tool());
    }
    let start = agent("start").tool(nested.as_tool()).tool(nested.as_tool().name("again"));
    assert_eq!(issues(&start), [format!(r#"tool "look up" of agent "deepest": {BAD_NAME}"#)]);
}

#[test]
fn all_issues_are_reported_in_the_order_of_the_agents_names() {
    let nameless = ToolDef::new("", "", serde_json::json!({"type": "object", "properties": {}}), binding());
    let start = agent("zeta").handoff(Handoff::to("nobody")).handoff(agent("alpha").tool(nameless));
    assert_eq!(
        graph(&start).check().unwrap_err().to_string(),
        format!(
            "2 things are wrong with the agents:\n\
             - tool \"\" of agent \"alpha\": {BAD_NAME}\n\
             - agent \"zeta\" hands off to \"nobody\", which is not an agent of the graph (it has: alpha, zeta)"
        )
    );
}

fn binding() -> ToolBinding {
    ToolBinding::Inline(Arc::new(|_ctx, _arguments| Ok("".into())))
}

#[test]
fn an_agent_used_as_a_tool_is_known_by_its_name() {
    let desk = graph(&agent("desk").tool(agent("translator").as_tool().description("Translates.")));
    assert!(desk.check_known(["desk", "translator"].into_iter()).is_ok());
    let unknown = desk.check_known(["translater"].into_iter()).unwrap_err();
    let known = vec!["desk".to_owned(), "translator".to_owned()];
    assert_eq!(unknown.issues, [GraphIssue::UnknownAgent { agent: "translater".to_owned(), known }]);
}

#[test]
fn judges_of_a_run_are_checked_with_all_that_runs_inside_them() {
    let judge_of_judge = Agent::new("judge_of_judge").tool(tool("look up"));
    let guardrail =
        crate::agent::InputGuardrail::by_agent("judged", judge_of_judge, |_: &serde_json::Value| panic!("unused"));
    let helper = Agent::new("helper");
    let judge = Agent::new("judge").input_guardrail(guardrail).tool(helper.as_tool()).handoff(Agent::new("second"));
    let judged = graph(&agent("desk")).judged_by(std::iter::once(judge.def()));
    assert_eq!(lines(judged.check()), [format!(r#"tool "look up" of agent "judge_of_judge": {BAD_NAME}"#)]);
    let without: Vec<String> = lines(judged.check_models(None));
    assert_eq!(without.len(), 4, "{without:?}");
    assert!(judged.check_known(["judge", "judge_of_judge", "helper", "second"].into_iter()).is_ok());
    assert_eq!(judged.agents().count(), 1, "a judge is no agent that the run hands off to");
}
