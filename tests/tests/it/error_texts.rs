//! What `main` and `unwrap` print of an error: `Debug`, which ends in what `Display` says.

use std::{collections::BTreeMap, error::Error, fs, io, path::Path, time::Duration};

use rstest::rstest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunError, ToolError,
    agent::GraphError,
    agentic_session::AgenticSessionError,
    client::{AgentHandleError, transcript::TranscriptError},
    inline::InlineRunner,
    mcp::McpFailure,
    provider::{GenaiConfigError, ModelError, OpenAiConfigError},
    run::RunFailure,
    tool::{SettingError, WorkflowToolError},
    wire::{Decision, Item, ModelFailureKind, RunState},
    worker::{AgentsPlugin, AgentsWorkerError, DispatchError, InstallError, RegisterError},
};
use temporal_agents_core::{agent::Graph, tool::schema::parse_arguments};
use temporal_agents_testing::{
    FakeModel,
    environment::EnvironmentError,
    fake_model::tool_call,
    history::{self, HistoryFileError},
    session_environment::AttemptError,
};
use temporalio_sdk::WorkerOptions;

fn graph() -> GraphError {
    Graph::new(Agent::new("clerk").def()).check_models(None).expect_err("the clerk has no model")
}

fn uninstalled() -> InstallError {
    let mut options = WorkerOptions::new("desk").build();
    AgentsPlugin::default().install(&mut options).expect_err("it has nothing")
}

fn broken_json() -> serde_json::Error {
    serde_json::from_str::<Value>("{").expect_err("it is broken")
}

fn error(error: impl Error + 'static) -> Box<dyn Error> {
    Box::new(error)
}

const NO_MODEL: &str = "GraphError { issues: [NoModel { agent: \"clerk\" }] }";

#[rstest]
#[case::of_a_provider(error(OpenAiConfigError::KeyNotSet), "KeyNotSet")]
#[case::of_another_provider(
    error(GenaiConfigError::KeyEmpty { adapter: "anthropic".to_owned() }),
    "KeyEmpty { adapter: \"anthropic\" }"
)]
#[case::of_a_worker(error(uninstalled()), "InstallError { issues: [Empty] }")]
#[case::of_a_worker_with_sessions(
    error(AgentsWorkerError::Install(uninstalled())),
    "Install(InstallError { issues: [Empty] })"
)]
#[case::of_agents(error(graph()), NO_MODEL)]
#[case::of_a_run(error(RunError::from(graph())), &format!("Graph({NO_MODEL})"))]
#[case::of_a_run_that_never_began(
    error(RunFailure::from(graph())),
    &format!("RunFailure {{ error: Graph({NO_MODEL}), state: None }}")
)]
#[case::of_a_handle(
    error(AgentHandleError::NotFound { workflow_id: "refund-7".to_owned() }),
    "NotFound { workflow_id: \"refund-7\" }"
)]
#[case::of_a_transcript(error(TranscriptError::NoStart), "NoStart")]
#[case::of_a_registration(error(RegisterError::Duplicate { tool: "add".to_owned() }), "Duplicate { tool: \"add\" }")]
#[case::of_a_dispatch(
    error(DispatchError::RunEnded(RunError::from(graph()))),
    &format!("RunEnded(Graph({NO_MODEL}))")
)]
#[case::of_an_mcp_server(
    error(McpFailure::Lost { server: "crm".to_owned(), reason: "closed".to_owned() }),
    "Lost { server: \"crm\", reason: \"closed\" }"
)]
#[case::of_a_setting(error(SettingError::Missing { name: "region".to_owned() }), "Missing { name: \"region\" }")]
#[case::of_a_workflow_tool(
    error(WorkflowToolError::Cancelled { what: "activity \"pay\"".to_owned() }),
    "Cancelled { what: \"activity \\\"pay\\\"\" }"
)]
#[case::of_an_environment(error(EnvironmentError::NoWorkflow), "NoWorkflow")]
#[case::of_an_attempt(
    error(AttemptError::Hangs { patience: Duration::from_secs(1) }),
    "Hangs { patience: 1s }"
)]
fn an_error_is_printed_as_its_structure_and_then_what_it_says(#[case] error: Box<dyn Error>, #[case] structure: &str) {
    assert_eq!(format!("{error:?}"), format!("{structure}: {error}"));
    assert!(format!("{error:#?}").ends_with(&format!("\n{error}")), "{error:#?}");
}

fn no_item() -> Box<dyn Error> {
    error(Item::try_from(json!("no item")).expect_err("it is no item"))
}

fn bad_arguments() -> Box<dyn Error> {
    error(parse_arguments("add", "{", &json!({"type": "object"})).expect_err("it is no JSON"))
}

fn no_question() -> Box<dyn Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/wire/v1.1/run_state-turn_due.json");
    let mut state: RunState = serde_json::from_slice(&fs::read(path).expect("it is there")).expect("a run state");
    error(state.decide("call_1", Decision::approve()).expect_err("it does not wait"))
}

fn no_history() -> Box<dyn Error> {
    error(history::from_json("{").expect_err("it is no history"))
}

fn no_file() -> Box<dyn Error> {
    error(HistoryFileError::Io { path: "runs/7.json".into(), source: io::Error::other("gone") })
}

#[rstest]
#[case::of_an_item(no_item())]
#[case::of_arguments(bad_arguments())]
#[case::of_a_decision(no_question())]
#[case::of_a_history(no_history())]
#[case::of_a_file(no_file())]
#[case::of_a_model(error(ModelError::new(ModelFailureKind::RateLimit, "slow down")))]
#[case::of_a_message(error(temporal_agents::wire::WireDecodeError::Malformed { message: "chat reply", source: broken_json() }))]
fn what_an_error_says_is_printed_last(#[case] error: Box<dyn Error>) {
    let said = error.to_string();
    assert!(format!("{error:?}").ends_with(&format!(": {said}")), "{error:?}");
    assert!(format!("{error:#?}").ends_with(&said), "{error:#?}");
}

#[tokio::test]
async fn a_failed_run_is_printed_without_its_conversation() {
    let model = FakeModel::function(|_, _| tool_call("nothing", json!({})));
    let agent = Agent::new("clerk").model("gpt-5");
    let runner = InlineRunner::new(model);
    let failure = runner.run(&agent, "the whole conversation").await.expect_err("there is no such tool");
    let printed = format!("{failure:?}");
    assert!(printed.contains("state: Some(RunState { agent: \"clerk\", turn: 1, items: "), "{printed}");
    assert!(printed.ends_with(&format!(" }}: {failure}")), "{printed}");
    assert!(!printed.contains("the whole conversation"), "{printed}");
}

#[test]
fn what_a_worker_refuses_is_printed_with_its_list() {
    let printed = format!("{:?}", uninstalled());
    assert!(
        printed.ends_with(
            ": the worker cannot run its agents:\n- the plugin has neither a model provider nor agents nor tools"
        ),
        "{printed}"
    );
}

/// An answer with a map.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "nobody answers with it")]
struct Prices {
    prices: BTreeMap<String, u32>,
}

#[tokio::test]
async fn an_output_type_with_a_map_is_told_what_it_can_be_instead() {
    let agent = Agent::new("clerk").model("gpt-5").output::<Prices>();
    let refused = InlineRunner::default().run(&agent, "Prices?").await.err().expect("the type cannot be strict");
    let refused = refused.to_string();
    assert!(refused.contains(" of agent \"clerk\" cannot be strict at \"#/properties/prices"), "{refused}");
    let advice = ": a map has free keys; use a Vec of {key, value} structs, or a String that holds JSON";
    assert!(refused.ends_with(advice), "{refused}");
}

#[test]
fn what_is_no_error_itself_is_printed_with_what_it_says() {
    let told = ToolError::tell_model("no such product");
    assert!(format!("{told:?}").ends_with(" }: no such product"), "{told:?}");
    assert!(format!("{told:#?}").ends_with("}\nno such product"), "{told:#?}");
    let session = AgenticSessionError::other("nobody is in");
    assert_eq!(format!("{session:?}"), "AgenticSessionError: nobody is in");
}

#[test]
fn a_hang_names_the_calls_that_wait_for_a_decision() {
    let hangs = |waits_for: &[&str]| EnvironmentError::Hangs {
        workflow_id: "desk-0".to_owned(),
        patience: Duration::from_mins(2),
        waits_for: waits_for.iter().map(|&call| call.to_owned()).collect(),
    };
    assert_eq!(
        hangs(&["call_0_0 (refund)"]).to_string(),
        "workflow \"desk-0\" did not end within 120s: it waits for decisions on call_0_0 (refund); start it with \
         AgentEnvironment::start_workflow, and decide with agent_handle(..)"
    );
    assert!(hangs(&[]).to_string().contains("no worker polls for an activity"));
}
