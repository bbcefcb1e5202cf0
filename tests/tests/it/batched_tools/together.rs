//! Batches beside the rest: old histories, workers without a tool, references, approvals, cancellation.

use std::time::Duration;

use anyhow::Context;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, Runner, State, Tool, ToolContext, tool,
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::{WorkerThread, activities},
    fake_model::{text, tool_calls},
    history, replay, replay_without_cache,
};
use temporalio_client::WorkflowCancelOptions;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};
use tokio::time::{sleep, timeout};

use super::{Log, tool_activities};
use crate::examples::{Cache, histories};

/// A long text.
#[tool]
async fn essay(ctx: &ToolContext, State(log): State<Log>, about: String) -> String {
    log.begins(ctx, &about);
    format!("all about {about}; ").repeat(40)
}

/// A tool of the next release.
#[tool]
async fn poem(ctx: &ToolContext, State(log): State<Log>, about: String) -> String {
    log.begins(ctx, &about);
    format!("a poem about {about}")
}

/// Takes for ever, unless it is cancelled.
#[tool(heartbeat = "1s")]
async fn novel(ctx: &ToolContext, State(log): State<Log>, about: String) -> String {
    log.begins(ctx, &about);
    while !ctx.is_cancelled() {
        sleep(Duration::from_millis(20)).await;
    }
    log.begins(ctx, &format!("{about}, cancelled"));
    String::new()
}

fn old_writer() -> Agent {
    Agent::new("writer").model("gpt-5").tool(essay).tool(novel)
}

fn writer() -> Agent {
    old_writer().tool(poem)
}

fn careful() -> Agent {
    Agent::new("careful").model("gpt-5").tool(essay).tool(poem.needs_approval())
}

/// The build before: without batches.
#[workflow]
#[derive(Default)]
pub(crate) struct Before;

#[workflow_methods]
impl Before {
    #[run(name = "writers")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&writer(), request).await?.final_output)
    }
}

/// The build after: with batches.
#[workflow]
#[derive(Default)]
pub(crate) struct After;

#[workflow_methods]
impl After {
    #[run(name = "writers")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).batch_tools().run(&writer(), request).await?.final_output)
    }
}

fn about(tool: &'static str, number: usize) -> (&'static str, serde_json::Value) {
    (tool, json!({"about": format!("{tool} {number}")}))
}

fn script(turns: usize) -> FakeModel {
    let calls = |turn: usize| tool_calls((0..3).map(|number| about("essay", 10 * turn + number)));
    FakeModel::script((0..turns).map(calls).chain([text("done")]))
}

#[tokio::test]
async fn a_history_without_batches_replays_with_the_option_turned_on() -> anyhow::Result<()> {
    let model = script(2);
    let env = Cache::On.environment::<Before>()?.model(&model).state(Log::default()).agents((writer,)).start().await?;
    let run = env.run(Before::run, "Write.".to_owned()).await?;
    assert_eq!(tool_activities(&run.history), ["agents.tool.essay"; 6]);
    replay::<After>(&run.history).await?;
    replay_without_cache::<After>(&run.history).await?;
    run.output()?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn later_model_calls_refer_to_the_results_of_a_batch(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script(3);
    let builder = cache.environment::<After>()?.model(&model).state(Log::default()).agents((writer,));
    // No worker remembers anything: each reference is resolved from history.
    let env = builder.conversation_cache(temporal_agents::worker::ConversationCache::with_bytes(0)).start().await?;
    let run = env.run(After::run, "Write.".to_owned()).await?;
    histories::<After>(&env, &run.workflow_id).await?;
    assert_eq!(tool_activities(&run.history), ["agents.call_tools"; 3]);
    let models = activities(&run.history).into_iter().filter(|activity| activity.activity_type == "agents.call_model");
    assert!(models.into_iter().all(|activity| activity.activity_id.ends_with("-model")), "none was sent again in full");
    let text = history::to_json(&run.history);
    assert_eq!(text.matches("all about").count() % 40, 0);
    run.output()?;
    env.finish().await?;
    Ok(())
}

fn beside<W>(env: &AgentEnvironment, plugin: &AgentsPlugin) -> anyhow::Result<WorkerThread>
where
    W: temporalio_workflow::__private::sdk::WorkflowImplementation,
    <W::Run as temporalio_common::WorkflowDefinition>::Input: Send,
{
    let mut options = WorkerOptions::new(env.task_queue()).build();
    drop(options.register_workflow::<W>());
    plugin.install(&mut options)?;
    Ok(WorkerThread::start(env.server().target_url(), env.server().namespace(), options)?)
}

#[tokio::test]
async fn a_worker_without_one_of_the_tools_makes_the_others() -> anyhow::Result<()> {
    let calls = [about("essay", 0), about("poem", 1), about("essay", 2)];
    let (model, log) = (FakeModel::script([tool_calls(calls), text("done")]), Log::default());
    let plugin = |agent: fn() -> Agent| {
        AgentsPlugin::new(Resources::new().model_provider(model.clone()).state(log.clone())).agent(agent)
    };
    let old = plugin(old_writer);
    let mut env = Cache::Off.environment::<After>()?.plugin(|_| old).start().await?;
    let started = env.start_workflow(After::run, "Write.".to_owned()).await?;
    let id = started.info().workflow_id.clone();
    // The poem waits for a worker that has it.
    let waiting = async {
        while !history::to_json(&history::fetch(env.client(), &id, None).await?).contains("TIMER_STARTED") {
            sleep(Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    timeout(crate::PATIENCE, waiting).await.context("nothing waits")??;
    env.stop_worker().await?;
    let worker = beside::<After>(&env, &plugin(writer))?;
    let run = env.await_run(&started).await?;
    assert_eq!(tool_activities(&run.history)[..2], ["agents.call_tools", "agents.tool.poem"]);
    assert!(log.counts().values().all(|count| *count == 1), "{:?}", log.counts());
    assert_eq!(run.output()?, "done");
    drop(worker);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_cancelled_run_cancels_the_calls_of_its_batch() -> anyhow::Result<()> {
    let calls = [about("novel", 0), about("essay", 1), about("novel", 2)];
    let (model, log) = (FakeModel::script([tool_calls(calls)]), Log::default());
    let env = Cache::On.environment::<After>()?.model(&model).state(log.clone()).agents((writer,)).start().await?;
    let started = env.start_workflow(After::run, "Write.".to_owned()).await?;
    log.reaches(3).await;
    started.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&started).await?;
    assert!(run.result.is_err());
    let counts = log.counts();
    assert_eq!((counts["novel 0, cancelled"], counts["novel 2, cancelled"], counts.len()), (1, 1, 5));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_call_that_waits_for_approval_joins_no_batch_until_it_is_decided() -> anyhow::Result<()> {
    let calls = [about("essay", 0), about("poem", 1), about("essay", 2), about("poem", 3)];
    let (model, log) = (FakeModel::script([tool_calls(calls), text("done")]), Log::default());
    let factory = AgentWorkflow::factory(AgentSet::new((careful,)));
    let builder = AgentEnvironment::builder().workflow_with_factory::<AgentWorkflow, _>(factory)?;
    let env = builder.agent(careful).model(&model).state(log.clone()).start().await?;
    let request: AgentRequest =
        serde_json::from_value(json!({"agent": "careful", "input": "Write.", "batch_tools": true}))?;
    let started = env.start_workflow(AgentWorkflow::run, request).await?;
    let handle = env.agent_handle(&started);
    let asked = timeout(crate::PATIENCE, handle.wait_for_interruptions()).await.context("nobody is asked")??;
    assert_eq!(asked.len(), 2);
    assert_eq!(log.counts().len(), 2, "the others have run");
    for question in asked {
        handle.approve(&question.id).await?;
    }
    let run = env.await_run(&started).await?;
    let ids: Vec<_> = activities(&run.history).into_iter().map(|activity| activity.activity_id).collect();
    assert!(ids.iter().any(|id| id.ends_with("-1-tools-0.2")), "{ids:?}");
    // Decided one after the other, the approved calls run one after the other or together.
    assert_eq!(log.counts().len(), 4, "{ids:?}");
    run.output()?;
    env.finish().await?;
    Ok(())
}
