//! What goes wrong without a history: it is refused before it begins, or it is in the log.

use std::{error::Error, fmt};

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Resources, Runner, State, Tool, ToolError,
    agentic_session::{AgenticSession, SessionResults},
    inline::InlineRunner,
    tool,
    tool::ToolDef,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, SessionEnvironment,
    fake_model::{text, tool_call},
    session_environment::AttemptError,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use crate::logs;

#[derive(Clone)]
struct Db;

/// Counts the rows.
#[tool]
async fn count(State(_db): State<Db>) -> u32 {
    7
}

/// Counts the rows, and keeps the number.
#[tool]
async fn count_and_keep(State(results): State<SessionResults>) -> Result<u32, ToolError> {
    results.push(7)?;
    Ok(7)
}

const MISSING: &str = "- tool \"count\" requires State<it::inline_failures::Db>; add it with Resources::state(..)";

fn resources(model: &FakeModel) -> Resources {
    model.clone().into()
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(count)
}

#[rstest]
#[case::of_the_agent(clerk())]
#[case::of_one_that_it_hands_off_to(Agent::new("triage").model("gpt-5").handoff(clerk()))]
#[case::of_one_that_is_a_tool(Agent::new("boss").model("gpt-5").tool(clerk().as_tool()))]
#[tokio::test]
async fn an_inline_run_refuses_a_missing_state_before_the_first_call(#[case] agent: Agent) -> anyhow::Result<()> {
    let model = FakeModel::script([]);
    let refused = InlineRunner::new(resources(&model)).run(&agent, "How many?").await.expect_err("there is no Db");
    assert_eq!(refused.to_string(), format!("one thing is wrong with the agents:\n{MISSING}"));
    assert_eq!(model.calls().len(), 0);

    let model = FakeModel::script([text("seven")]);
    assert_eq!(InlineRunner::new(resources(&model).state(Db)).run(&agent, "How many?").await?.final_output, "seven");
    Ok(())
}

#[tokio::test]
async fn everything_that_is_wrong_with_the_agents_is_reported_at_once() {
    let agent = Agent::new("clerk").tool(count).tool(count).handoff(temporal_agents::Handoff::to("nobody"));
    let refused = InlineRunner::new(FakeModel::script([])).run(&agent, "hi").await.expect_err("all is wrong");
    let expected = [
        "4 things are wrong with the agents:",
        "- agent \"clerk\" hands off to \"nobody\", which is not an agent of the graph (it has: clerk)",
        "- agent \"clerk\" has no model; add .model(..) to it, or to the Runner",
        MISSING,
        "- agent \"clerk\" has two tools named \"count\"; rename a tool with #[tool(name = ..)], a handoff with .tool_name(..)",
    ];
    assert_eq!(refused.to_string(), expected.join("\n"));
}

struct Counter(FakeModel);

#[activities]
impl Counter {
    #[activity]
    async fn count(self: std::sync::Arc<Self>, ctx: ActivityContext, has_state: bool) -> Result<String, ActivityError> {
        AgenticSession::run(&ctx, async |session| {
            let resources = resources(&self.0);
            let runner = InlineRunner::new(if has_state { resources.state(Db) } else { resources });
            Ok(session.runner(&runner).run(&clerk().tool(count_and_keep), "How many?").await?.final_output)
        })
        .await
    }
}

#[tokio::test]
async fn a_session_refuses_a_missing_state_and_another_worker_may_take_it() -> anyhow::Result<()> {
    let model = FakeModel::script([text("seven")]);
    let of_env = model.clone();
    let env = SessionEnvironment::new().register_activities(move || Counter(of_env.clone()));
    let error = env.attempt().run(Counter::count, false).await.result.expect_err("there is no Db");
    assert_eq!(error.to_string(), format!("the attempt failed: one thing is wrong with the agents:\n{MISSING}"));
    let AttemptError::Failed(failure) = error else { panic!("{error}") };
    assert!(!failure.is_non_retryable(), "the worker of the next attempt may have it");
    assert_eq!(model.calls().len(), 0);
    assert_eq!(env.attempt().run(Counter::count, true).await.result?, "seven");
    Ok(())
}

/// An error with a cause that it does not repeat.
#[derive(Debug)]
struct Unreadable(std::io::Error);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ledger cannot be read")
    }
}

impl Error for Unreadable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn read_ledger(how: &str) -> Result<u32, ToolError> {
    match how {
        "panics" => panic!("the ledger is on fire"),
        "stays" => Err(ToolError::tell_model("the ledger is closed")),
        _ => Err(Unreadable(std::io::Error::other("the disk is gone")))?,
    }
}

/// Reads the ledger.
///
/// # Arguments
/// * `how` - how it goes
#[tool(attempts = 1)]
async fn read_on_the_worker(how: String) -> Result<u32, ToolError> {
    read_ledger(&how)
}

/// Reads the ledger.
///
/// # Arguments
/// * `how` - how it goes
#[tool(attempts = 1, start_to_close = "10ms")]
async fn read_for_ever(how: String) -> String {
    std::future::pending::<()>().await;
    how
}

/// Reads the ledger.
///
/// # Arguments
/// * `how` - how it goes
#[tool(inline)]
fn read_in_the_workflow(how: String) -> Result<u32, ToolError> {
    read_ledger(&how)
}

fn reader(tool: ToolDef) -> Agent {
    Agent::new("reader").model("gpt-5").tool(tool)
}

#[rstest]
#[case::an_error(read_on_the_worker.definition().named("read_error"), "fails", "error=\"the ledger cannot be read: the disk is gone\"")]
#[case::for_the_model(read_on_the_worker.definition().named("read_told"), "stays", "error=\"the ledger is closed\"")]
#[case::a_panic(read_on_the_worker.definition().named("read_panic"), "panics", "error=\"it panicked: the ledger is on fire\"")]
#[case::a_timeout(read_for_ever.definition().named("read_timeout"), "waits", "error=\"not finished within 10ms, its \
                                                                              start_to_close\"")]
#[case::in_the_loop(
    read_in_the_workflow.definition().named("read_inline"),
    "fails",
    "error=\"the ledger cannot be read: the disk is gone\""
)]
#[tokio::test]
async fn what_a_body_fails_with_inline_is_in_the_log(
    #[case] tool: ToolDef,
    #[case] how: &str,
    #[case] why: &str,
) -> anyhow::Result<()> {
    logs::keep();
    let name = tool.name().to_owned();
    let model = FakeModel::script([tool_call(&name, json!({"how": how})), text("sorry")]);
    assert_eq!(InlineRunner::new(resources(&model)).run(&reader(tool), "Read.").await?.final_output, "sorry");
    let lines = logs::with(&format!("tool=\"{name}\""));
    let [line] = &*lines else { panic!("{lines:?}") };
    for part in ["agent=\"reader\"", "turn=1", "call_id=\"call_0_0\"", why] {
        assert!(line.contains(part), "{part}: {line}");
    }
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Reading;

#[workflow_methods]
impl Reading {
    #[run(name = "reading")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let reader = reader(read_in_the_workflow.definition().named("read_durably"));
        Ok(Runner::new(ctx).run(&reader, "Read.").await?.final_output)
    }
}

#[tokio::test]
async fn what_an_inline_tool_fails_with_is_logged_once_and_not_on_replay() -> anyhow::Result<()> {
    logs::keep();
    let model = FakeModel::script([tool_call("read_durably", json!({"how": "fails"})), text("sorry")]);
    let env = AgentEnvironment::builder().workflow::<Reading>()?.model(&model).without_workflow_cache().start().await?;
    assert_eq!(env.run(Reading::run, ()).await?.output()?, "sorry");
    env.finish().await?;
    let lines = logs::with("tool=\"read_durably\"");
    let [line] = &*lines else { panic!("{lines:?}") };
    assert!(line.contains("error=\"the ledger cannot be read: the disk is gone\""), "{line}");
    Ok(())
}
