//! Versions of a tool side by side on a worker.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Runner, Tool, ToolDef,
    agent::AgentSources,
    tool,
    tool::ToolActivityOptions,
    worker::{InstallError, InstallIssue},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::WorkerThread,
    fake_model::{text, tool_call},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};

use super::support::{digests, order, order_with_details};

/// Orders an article.
#[tool(name = "order")]
async fn order_in_a_size(article: String, size: u32) -> String {
    format!("{article} is ordered in size {size}")
}

fn agent(tool: impl Tool) -> Agent {
    Agent::new("desk").model("gpt-5").tool(tool)
}

fn installed(agents: impl AgentSources) -> Result<(), InstallError> {
    AgentsPlugin::new(FakeModel::script([])).agents(agents).install(&mut WorkerOptions::new("agents").build())
}

#[test]
fn versions_that_required_parameters_tell_apart_are_registered_side_by_side() {
    assert_eq!(installed((agent(order), agent(order_in_a_size))), Ok(()));
}

#[test]
fn versions_whose_parameters_may_be_alike_have_to_be_marked() {
    let unmarked = InstallIssue::UnmarkedVersion { tool: "order".to_owned() };
    let message = "two versions of tool \"order\" have different parameters, and some arguments fit both: add \
                   .versioned() to the newer one, so that its calls contain their version; versions of an AgentSet \
                   are marked by .agents(&set)";
    assert_eq!(unmarked.to_string(), message);
    let with = |new: ToolDef| installed((agent(order), agent(new)));
    assert_eq!(with(order_with_details.definition()).expect_err("the version is not marked").issues, [unmarked]);
    assert_eq!(with(order_with_details.versioned()), Ok(()));
}

#[rstest]
#[case::options(order.definition().options(ToolActivityOptions::builder().idempotent(false).build()), "the options")]
#[case::two_things(
    order.redact(str::to_owned).max_output_bytes(7),
    "the output limits, the redaction"
)]
fn tools_with_the_same_parameters_conflict_and_the_message_says_in_what(#[case] other: ToolDef, #[case] differs: &str) {
    let error = installed((agent(order), agent(other))).unwrap_err();
    let message = format!(
        "the worker cannot run its agents:\n\
         - two different tools are named \"order\": their parameters are the same, and they differ in {differs}; \
         rename one with #[tool(name = ..)] or .named(..), or make them equal"
    );
    assert_eq!(error.to_string(), message);
}

/// A desk that orders on another task queue.
fn desk_elsewhere() -> Agent {
    let options = ToolActivityOptions::builder().task_queue("orders").build();
    agent(order_in_a_size.versioned().options(options))
}

#[workflow]
#[derive(Default)]
struct Sizes;

#[workflow_methods]
impl Sizes {
    #[run(name = "sizes")]
    async fn run(ctx: &mut WorkflowContext<Self>, wish: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&desk_elsewhere(), wish).await?.final_output)
    }
}

fn worker(env: &AgentEnvironment, tools: impl IntoIterator<Item = ToolDef>) -> anyhow::Result<WorkerThread> {
    let mut options = WorkerOptions::new("orders").build();
    tools.into_iter().fold(AgentsPlugin::default(), AgentsPlugin::tool).install(&mut options)?;
    Ok(WorkerThread::start(env.server().target_url(), env.server().namespace(), options)?)
}

#[tokio::test]
async fn a_worker_with_another_version_refuses_a_call_until_one_with_its_version_takes_it() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("order", json!({"article": "shoe", "size": 44})), text("ordered")]);
    let env = AgentEnvironment::builder().workflow::<Sizes>()?.model(&model).agents((desk_elsewhere,)).start().await?;
    let mut old = worker(&env, [order.definition()])?;
    let started = env.start_workflow(Sizes::run, "Shoes.".to_owned()).await?;
    let refused = loop {
        let pending =
            temporal_agents_examples::stage::server::pending(env.client(), &started.info().workflow_id).await?;
        if let Some(failure) = pending.into_iter().find_map(|activity| activity.last_failure) {
            break failure;
        }
    };
    let digest = order_in_a_size.definition().schema_digest();
    assert_eq!(
        refused.message,
        format!(
            "the call is for a version of tool \"order\" that this worker does not have (its schema has the digest {digest}); register \
             that version as well, with AgentsPlugin::agents, until the runs that call it have ended"
        )
    );
    tokio::task::spawn_blocking(move || old.stop()).await??;
    let new = worker(&env, [order.definition(), order_in_a_size.versioned()])?;
    let run = env.await_run(&started).await?;
    assert_eq!(digests(&run.history), [Some(digest)]);
    assert_eq!(run.output()?, "ordered");
    let outputs = &model.calls()[1].input;
    assert_eq!(outputs.last().and_then(|item| item.get("output")), Some(&json!("shoe is ordered in size 44")));
    tokio::task::spawn_blocking(move || drop(new)).await?;
    env.finish().await?;
    Ok(())
}

/// A desk that is the only one: its calls are as they always were.
#[workflow]
#[derive(Default)]
struct OneDesk;

#[workflow_methods]
impl OneDesk {
    #[run(name = "one_desk")]
    async fn run(ctx: &mut WorkflowContext<Self>, wish: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&agent(order_in_a_size), wish).await?.final_output)
    }
}

#[tokio::test]
async fn calls_that_name_no_version_run_the_body_whose_parameters_they_have() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("order", json!({"article": "shoe", "size": 44})), text("ordered")]);
    let agents = (agent(order), agent(order_in_a_size));
    let env = AgentEnvironment::builder().workflow::<OneDesk>()?.model(&model).agents(agents).start().await?;
    let run = env.run(OneDesk::run, "Shoes.".to_owned()).await?;
    assert_eq!(digests(&run.history), [None]);
    let outputs = &model.calls()[1].input;
    assert_eq!(outputs.last().and_then(|item| item.get("output")), Some(&json!("shoe is ordered in size 44")));
    env.finish().await?;
    Ok(())
}
