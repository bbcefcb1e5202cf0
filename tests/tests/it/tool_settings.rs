//! Settings of tools: given where the agent gets the tool, read by the body, secrets filled in on the worker.

use prost::Message;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, AgentsPlugin, Resources, Runner,
    inline::InlineRunner,
    tool::{Tool, ToolContext, ToolError},
    wire::Item,
    worker::InstallIssue,
    worker_env,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
    history::{self, History},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};

/// Cargo sets it for tests, and nothing else here says what it says.
const NAME: &str = "CARGO_PKG_DESCRIPTION";
const TOOL_FAILED: &str = "An error occurred while running the tool. Please try again.";

fn value() -> String {
    std::env::var(NAME).expect("cargo runs the tests")
}

/// Finds a customer.
#[temporal_agents::tool]
async fn find_customer(ctx: &mut ToolContext, name: String) -> Result<String, ToolError> {
    let (region, token): (String, String) = (ctx.setting("region")?, ctx.setting("token")?);
    match &*name {
        "Ada" => Ok(format!("{name} in {region}, {} characters, {token}", token.len())),
        "Bob" => Err(ToolError::tell_model(format!("{token} is refused"))),
        "Cid" => Err(ToolError::failed(format!("{token} has expired"))),
        "Dan" => panic!("{token} is no token"),
        _ => Ok(ctx.setting::<u32>("token")?.to_string()),
    }
}

/// Greets.
#[temporal_agents::tool(inline)]
fn greet(ctx: &ToolContext) -> Result<String, ToolError> {
    Ok(ctx.setting::<Vec<String>>("words")?.join(" "))
}

fn desk() -> Agent {
    let find = find_customer.setting("region", "eu").setting("token", worker_env!("CARGO_PKG_DESCRIPTION"));
    let options = temporal_agents::tool::ToolActivityOptions::builder().attempts(1).build();
    Agent::new("desk").model("gpt-5").tool(find.options(options)).tool(greet.setting("words", json!(["good", "day"])))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Settings;

#[workflow_methods]
impl Settings {
    #[run(name = "settings of tools")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&desk(), request).await?.final_output)
    }
}

fn script() -> FakeModel {
    let calls = ["Ada", "Bob", "Cid", "Dan", "Eve"].map(|name| ("find_customer", json!({"name": name})));
    FakeModel::script([tool_calls(calls.into_iter().chain([("greet", json!({}))])), text("done")])
}

fn outputs(model: &FakeModel) -> Vec<Value> {
    let last = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item: &Item| item.get("output").cloned()).collect()
}

fn told() -> Vec<Value> {
    let found = format!("Ada in eu, {} characters, [redacted]", value().len());
    let told = [&*found, "[redacted] is refused", TOOL_FAILED, TOOL_FAILED, TOOL_FAILED, "good day"];
    told.iter().map(|text| json!(text)).collect()
}

fn holds(history: &History, text: &str) -> bool {
    let bytes = history.encode_to_vec();
    bytes.windows(text.len()).any(|window| window == text.as_bytes()) || history::to_json(history).contains(text)
}

#[rstest]
#[tokio::test]
async fn a_tool_gets_the_value_and_history_has_the_reference(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = script();
    let builder = AgentEnvironment::builder().workflow::<Settings>()?.model(&model).agents((desk,));
    let builder = builder.resources(|resources| resources.allow_env([NAME]));
    let env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    let run = env.run(Settings::run, "Find them.".to_owned()).await?;
    assert_eq!(outputs(&model), told());
    let found = ["$worker_env", NAME, "[redacted] has expired", "[redacted] is no token", &*value()];
    assert_eq!(found.map(|text| holds(&run.history, text)), [true, true, true, true, false]);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn without_temporal_it_gets_the_same() -> anyhow::Result<()> {
    let model = script();
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).allow_env([NAME]));
    runner.run(&desk(), "Find them.").await?;
    assert_eq!(outputs(&model), told());
    Ok(())
}

#[tokio::test]
async fn a_variable_that_is_not_given_away_fails_the_call_and_the_author_is_told_why() -> anyhow::Result<()> {
    let model = script();
    let builder = AgentEnvironment::builder().workflow::<Settings>()?.model(&model).agents((desk,));
    let env = builder.start().await?;
    let run = env.run(Settings::run, "Find them.".to_owned()).await?;
    let failed = json!(TOOL_FAILED);
    assert_eq!(outputs(&model), [&failed, &failed, &failed, &failed, &failed, &json!("good day")].map(Clone::clone));
    let reason = "add it to Resources::allow_env if it may be sent to the tool";
    assert_eq!([reason, &*value()].map(|text| holds(&run.history, text)), [true, false]);
    env.finish().await?;
    Ok(())
}

#[test]
fn a_secret_for_a_tool_in_the_workflow_keeps_the_worker_from_starting() {
    let agent: Agent = Agent::new("desk").model("gpt-5").tool(greet.setting("words", json!([worker_env!("TOKEN")])));
    let plugin = AgentsPlugin::default().without_models().agents((agent,));
    let issues = plugin.install(&mut WorkerOptions::new("agents").build()).unwrap_err().issues;
    let told: Vec<String> = issues.iter().map(InstallIssue::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let reason = "its setting \"words\" refers to an environment variable, but it runs in the workflow, which must not \
                  read any";
    assert!(told[0].contains(reason), "{told:?}");
}
