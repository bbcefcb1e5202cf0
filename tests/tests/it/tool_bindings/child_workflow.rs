//! Workflows of a Python worker as tools.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, ToolDef,
    tool::{ChildWorkflow, ParentClosePolicy},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
    history,
};
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};
use temporalio_common::protos::temporal::api::{
    enums::v1::{EventType, ParentClosePolicy as ServerPolicy},
    history::v1::history_event::Attributes,
};
use tokio::time::timeout;

use super::support::{FAILED, count, outputs, workflow_of};
use crate::{PATIENCE, examples::Cache, python_worker::PythonWorker};

const QUEUE: &str = "python";

fn order() -> Value {
    json!({"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]})
}

fn shipper() -> Agent {
    let ship = || ChildWorkflow::named("ship_order").task_queue(QUEUE);
    let tool = |name: &str, child| ToolDef::child_workflow(name, "Ships an order.", order(), child);
    let named = ship()
        .id_from(|arguments| format!("order-{}", arguments["order"].as_str().unwrap_or_default()))
        .parent_close_policy(ParentClosePolicy::Abandon);
    Agent::new("shipper")
        .model("gpt-5")
        .tool(tool("ship", ship()))
        .tool(tool("ship_named", named))
        .tool(tool("hurry", ship().execution_timeout(Duration::from_secs(1))))
}

workflow_of!(Shipper, "shipper", shipper);

#[rstest]
#[tokio::test]
async fn workflows_of_a_python_worker_are_tools_and_their_failures_outcomes(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([
            ("ship", json!({"order": "1"})),
            ("ship_named", json!({"order": "2"})),
            ("ship", json!({"order": "broken"})),
            ("hurry", json!({"order": "slow"})),
        ]),
        text("done"),
    ]);
    let env = cache.environment::<Shipper>()?.model(&model).agents((shipper,)).start().await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Shipper::run, "Ship.".to_owned()).await?;
    let started: Vec<_> = run
        .history
        .events
        .iter()
        .filter_map(|event| match &event.attributes {
            Some(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child)) => {
                Some((child.workflow_id.clone(), child.parent_close_policy()))
            }
            _ => None,
        })
        .collect();
    let derived = &started[0].0;
    assert!(derived.starts_with("shipper-0/") && derived.ends_with("-1-tool-0"), "{derived}");
    assert_eq!(started[1], ("order-2".to_owned(), ServerPolicy::Abandon));
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(
        outputs(&model),
        [
            json!(json!({"id": derived, "shipped": "1"}).to_string()),
            json!(r#"{"id":"order-2","shipped":"2"}"#),
            json!(FAILED),
            json!("Tool 'hurry' timed out after 1 second."),
        ]
    );
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_child_whose_id_is_taken_is_an_outcome() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_calls([
        ("ship_named", json!({"order": "slow"})),
        ("ship_named", json!({"order": "slow"})),
    ])]);
    let env = Cache::On.environment::<Shipper>()?.model(&model).agents((shipper,)).start().await?;
    let handle = env.start_workflow(Shipper::run, "Ship.".to_owned()).await?;
    let failing = async {
        loop {
            let history = history::fetch(env.client(), &handle.info().workflow_id, None).await?;
            if count(&history, EventType::StartChildWorkflowExecutionFailed) == 1 {
                return anyhow::Ok(());
            }
        }
    };
    timeout(PATIENCE, failing).await.map_err(|_| anyhow::anyhow!("no child failed to start within {PATIENCE:?}"))??;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_cancelled_workflow_cancels_its_children_and_awaits_them(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("ship", json!({"order": "slow"}))]);
    let env = cache.environment::<Shipper>()?.model(&model).agents((shipper,)).start().await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let handle = env.start_workflow(Shipper::run, "Ship.".to_owned()).await?;
    let starting = async {
        loop {
            let history = history::fetch(env.client(), &handle.info().workflow_id, None).await?;
            if count(&history, EventType::ChildWorkflowExecutionStarted) == 1 {
                return anyhow::Ok(());
            }
        }
    };
    timeout(PATIENCE, starting).await.map_err(|_| anyhow::anyhow!("no child started within {PATIENCE:?}"))??;
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    assert_eq!(count(&run.history, EventType::ChildWorkflowExecutionCanceled), 1);
    let ended = run.output().expect_err("it was cancelled");
    assert!(matches!(ended, WorkflowGetResultError::Cancelled { .. }), "{ended:?}");
    env.finish().await?;
    Ok(())
}
