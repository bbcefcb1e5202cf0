//! The search attributes of runs: off by default, set at pauses and ends, inherited by the next
//! execution, and a worker that needs them does not start without them.

use std::collections::HashMap;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, AgentsPlugin, Tool,
    client::{AgentHandle, AgentRuns, NewRun, RunAttributesError, check_run_attributes},
    tool,
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, DevServerOptions, FakeModel,
    environment::WorkerThread,
    fake_model::{text, tool_call},
};
use temporalio_client::{ClientOptions, WorkflowDescribeOptions, WorkflowGetResultOptions};
use temporalio_common::{
    UntypedWorkflow,
    protos::temporal::api::{enums::v1::EventType, history::v1::History},
};
use temporalio_sdk::WorkerOptions;
use tokio::time::timeout;

use crate::{PATIENCE, examples::executions_of};

/// Pays money back.
#[tool(start_to_close = "20s")]
async fn pay(amount: u32) -> String {
    format!("paid {amount}")
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(pay.needs_approval())
}

fn attributes(wanted: &[&str]) -> DevServerOptions {
    let args = wanted.iter().flat_map(|wanted| ["--search-attribute".to_owned(), (*wanted).to_owned()]);
    DevServerOptions::builder().extra_args(args.collect()).build()
}

async fn environment(model: &FakeModel, cached: bool, moves: bool) -> anyhow::Result<AgentEnvironment> {
    let mut set = AgentSet::new((clerk,));
    if moves {
        set = set.continue_when(ContinueOptions::builder().new_events(0).build());
    }
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(clerk)
        .model(model)
        .agents_worker()
        .plugin(AgentsPlugin::indexes_runs)
        .server_options(attributes(&["AgentName=Keyword", "AgentStatus=Keyword", "AgentWaitsFor=KeywordList"]));
    Ok(if cached { builder } else { builder.without_workflow_cache() }.start().await?)
}

/// The search attributes of a workflow's latest execution.
async fn shown(env: &AgentEnvironment, id: &str) -> anyhow::Result<HashMap<String, Value>> {
    let handle = env.client().get_workflow_handle::<UntypedWorkflow>(id);
    let described = handle.describe(WorkflowDescribeOptions::default()).await?;
    let info = described.raw().workflow_execution_info.clone().unwrap_or_default();
    let fields = info.search_attributes.unwrap_or_default().indexed_fields;
    let own = fields.into_iter().filter(|(name, _)| name.starts_with("Agent"));
    Ok(own
        .map(|(name, value)| Ok((name, serde_json::from_slice(&value.data)?)))
        .collect::<Result<_, serde_json::Error>>()?)
}

async fn until(env: &AgentEnvironment, id: &str, expected: Value) -> anyhow::Result<()> {
    let looking = async {
        loop {
            let found = json!(shown(env, id).await?);
            if found == expected {
                return anyhow::Ok(());
            }
        }
    };
    timeout(PATIENCE, looking).await.map_err(|_| anyhow::anyhow!("never {expected}"))?
}

fn upserts(histories: &[History]) -> usize {
    let events = histories.iter().flat_map(|history| &history.events);
    let of_runs = events.filter(|event| event.event_type() == EventType::UpsertWorkflowSearchAttributes);
    let of_runs = of_runs.filter(|event| format!("{event:?}").contains("AgentStatus"));
    of_runs.count()
}

#[rstest]
#[tokio::test]
async fn follow_a_run_through_its_pause_to_its_end(
    #[values(true, false)] cached: bool,
    #[values(true, false)] moves: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("You have your money.")]);
    let env = environment(&model, cached, moves).await?;
    let runs = AgentRuns::new(env.client(), env.task_queue()).indexed();
    let id = runs.start_run(NewRun::new(AgentRequest::new("clerk", "Pay me 40.")).id("indexed")).await?;
    until(&env, &id, json!({"AgentName": "clerk", "AgentStatus": "waiting", "AgentWaitsFor": ["person"]})).await?;
    let handle = AgentHandle::new(env.client(), &*id);
    let asked = handle.wait_for_interruptions().await?;
    handle.approve(&*asked[0].id).await?;
    until(&env, &id, json!({"AgentName": "clerk", "AgentStatus": "completed", "AgentWaitsFor": ["nobody"]})).await?;
    let histories = executions_of(env.client(), &id).await?;
    assert_eq!((histories.len() > 1, upserts(&histories)), (moves, 3), "a pause, its end, the end of the run");
    for history in &histories {
        env.replay(history).await?;
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_has_none_unless_its_start_has_them() -> anyhow::Result<()> {
    let model = FakeModel::script([text("Good morning.")]);
    let env = environment(&model, true, false).await?;
    let runs = AgentRuns::new(env.client(), env.task_queue());
    let id = runs.start_run(NewRun::new(AgentRequest::new("clerk", "Hello!")).id("plain")).await?;
    let handle = env.client().get_workflow_handle::<UntypedWorkflow>(&*id);
    timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await??;
    assert_eq!(json!(shown(&env, &id).await?), json!({}));
    let histories = executions_of(env.client(), &id).await?;
    assert_eq!(upserts(&histories), 0);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_does_not_start_where_one_of_them_is_missing() -> anyhow::Result<()> {
    let model = FakeModel::script([]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((clerk,))))?
        .agent(clerk)
        .model(&model)
        .server_options(attributes(&["AgentName=Keyword", "AgentStatus=Keyword"]))
        .start()
        .await?;
    let runs = AgentRuns::new(env.client(), env.task_queue()).indexed();
    let started = runs.start_run(NewRun::new(AgentRequest::new("clerk", "Pay me 40.")).id("indexed")).await;
    let error = started.expect_err("its first pause could not be recorded");
    assert!(format!("{error:?}").contains("AgentWaitsFor"), "{error:?}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_worker_that_needs_them_does_not_start_without_them() -> anyhow::Result<()> {
    let model = FakeModel::script([]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((clerk,))))?
        .agent(clerk)
        .model(&model)
        .start()
        .await?;
    let error = check_run_attributes(env.client()).await.expect_err("the server has none");
    let RunAttributesError::Missing { missing, command, .. } = &error else { panic!("{error}") };
    assert_eq!(missing.join(" "), "AgentName AgentStatus AgentWaitsFor");
    let namespace = env.server().namespace();
    let expected = format!(
        "temporal operator search-attribute create --namespace {namespace} --name AgentName --type Keyword --name \
         AgentStatus --type Keyword --name AgentWaitsFor --type KeywordList"
    );
    assert_eq!(*command, expected);
    let plugin = AgentsPlugin::new(model.clone()).agent(clerk).indexes_runs();
    let options = WorkerOptions::new("indexed").build();
    let client = ClientOptions::new(namespace).build();
    let mut worker = WorkerThread::start_agents(env.server().target_url(), client, plugin, options)?;
    let stopped = worker.stop().expect_err("the worker has not run");
    assert!(stopped.to_string().contains(&expected), "{stopped}");
    env.finish().await?;
    Ok(())
}
