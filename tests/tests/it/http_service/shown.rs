//! What lists and pages show of runs, beside their status: usage, idle chats, inputs, toolsets.

use axum::http::StatusCode;
use serde_json::json;
use temporal_agents::{http::AgentsService, workflow::AgentSet};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::WorkflowTerminateOptions;
use temporalio_common::UntypedWorkflow;

use super::{Router, clerk, environment, get, post, replica, until};

/// Approves the call that a run waits for.
async fn approve(service: &Router, path: &str) -> anyhow::Result<()> {
    let (_, run) = get(service, path).await?;
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    assert_eq!(post(service, &format!("{path}/decisions"), &decision).await?.0, StatusCode::OK);
    Ok(())
}

#[tokio::test]
async fn the_usage_of_a_run_is_the_sum_of_its_calls() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("You have your money.")]);
    let env = environment(model, false).await?;
    let service = replica(&env);
    let id = format!("usage-{}", env.task_queue());
    post(&service, "/runs", &json!({"agent": "clerk", "input": "Pay me 40.", "id": id})).await?;
    let path = format!("/runs/{id}");
    until(&service, &path, |run| run["status"] == "waiting").await?;
    let (status, first) = get(&service, &format!("{path}/usage")).await?;
    assert_eq!((status, &first["requests"]), (StatusCode::OK, &json!(1)));
    approve(&service, &path).await?;
    until(&service, &path, |run| run["status"] == "completed").await?;
    let (_, both) = get(&service, &format!("{path}/usage")).await?;
    let doubled = |name: &str| json!(first[name].as_u64().expect("a number") * 2);
    for name in ["requests", "input_tokens", "output_tokens", "total_tokens"] {
        assert_eq!(both[name], doubled(name), "{name}: {both}");
    }
    assert_eq!(get(&service, "/runs/nobody/usage").await?.0, StatusCode::NOT_FOUND);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_chat_is_idle_between_its_messages() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("You have your money.")]);
    let env = environment(model, false).await?;
    let service = replica(&env);
    let id = format!("idle-{}", env.task_queue());
    post(&service, "/runs", &json!({"agent": "clerk", "chat": true, "id": id})).await?;
    let path = format!("/runs/{id}");
    until(&service, &path, |run| run["is_idle"] == true).await?;
    post(&service, &format!("{path}/messages"), &json!({"text": "Pay me 40."})).await?;
    until(&service, &path, |run| run["status"] == "waiting").await?;
    assert_eq!(get(&service, &path).await?.1.get("is_idle"), None);
    approve(&service, &path).await?;
    until(&service, &path, |run| run["is_idle"] == true).await?;
    until(&service, "/runs", |list| list["runs"][0]["is_idle"] == true).await?;
    post(&service, &format!("{path}/cancel"), &json!({})).await?;
    until(&service, &path, |run| run["status"] == "cancelled" && run.get("is_idle").is_none()).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_that_had_no_turn_has_its_input() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let lonely = AgentsService::new(env.client(), "nobody-polls").agents((clerk,)).into_router();
    let id = format!("input-{}", env.task_queue());
    post(&lonely, "/runs", &json!({"agent": "clerk", "input": "Pay me 40.", "id": id})).await?;
    let (_, run) = get(&lonely, &format!("/runs/{id}")).await?;
    assert_eq!((&run["status"], &run["input"]), (&json!("queued"), &json!("Pay me 40.")));
    env.client().get_workflow_handle::<UntypedWorkflow>(&*id).terminate(WorkflowTerminateOptions::default()).await?;
    let (_, run) = get(&lonely, &format!("/runs/{id}")).await?;
    assert_eq!((&run["status"], &run["input"]), (&json!("terminated"), &json!("Pay me 40.")));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_toolsets_that_callers_may_select_are_listed() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let set = AgentSet::new((clerk,)).allow_toolsets(["weather", "dev-*"]);
    let service = AgentsService::new(env.client(), env.task_queue()).agents(&set).into_router();
    assert_eq!(get(&service, "/agents").await?.1["toolsets"], json!(["weather", "dev-*"]));
    assert_eq!(get(&replica(&env), "/agents").await?.1.get("toolsets"), None);
    env.finish().await?;
    Ok(())
}
