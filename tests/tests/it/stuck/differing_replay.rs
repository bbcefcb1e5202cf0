//! A deploy that breaks open runs: a handoff whose agent has another name.

use axum::http::StatusCode;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Tool,
    client::{AgentHandle, AgentHandleError},
    tool,
    wire::RunProblemKind,
    workflow::AgentSet,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{handoff, text, tool_call},
};

use super::{Site, logged, problem, ready_made, start};
use crate::http_service::{get, post, until};

/// Pays money back.
#[tool(start_to_close = "20s")]
async fn pay(amount: u32) -> String {
    format!("paid {amount}")
}

fn desk_with(payout: &str) -> Agent {
    let payout = Agent::new(payout).model("gpt-5").tool(pay.needs_approval());
    Agent::new("desk").model("gpt-5").handoff(payout)
}

fn before() -> Agent {
    desk_with("payout")
}

fn after() -> Agent {
    desk_with("payments")
}

#[tokio::test]
async fn a_renamed_handoff_is_told_to_callers_and_in_the_log_once() -> anyhow::Result<()> {
    let site = Site::start().await?;
    let model = FakeModel::script([handoff("payout"), tool_call("pay", json!({"amount": 40})), text("paid")]);
    let plugin = |agent: fn() -> Agent| AgentsPlugin::new(model.clone()).agents((agent,));
    let service = site.service((before,));
    let mut worker = site.worker(Some(plugin(before)), ready_made(&AgentSet::new((before,)))?)?;
    start(&service, "renamed-handoff").await?;
    until(&service, "/runs/renamed-handoff", |run| run["status"] == "waiting").await?;
    let question = get(&service, "/runs/renamed-handoff").await?.1["questions"][0]["question_id"].clone();
    worker.stop()?;

    let service = site.service((after,));
    let mut worker = site.worker(Some(plugin(after)), ready_made(&AgentSet::new((after,)))?)?;
    let change = "turn 1, agent `desk`: the history has a handoff to agent `payout`";
    let decision = json!({"question_id": question, "approved": true});
    let (status, body) = post(&service, "/runs/renamed-handoff/decisions", &decision).await?;
    assert_eq!((status, &body["error"]["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("run_stuck")), "{body}");
    let message = body["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains(change) && message.contains("roll back"), "{message}");
    assert!(!message.contains("agent_handlers"), "{message}");
    let handle = AgentHandle::new(&site.client, "renamed-handoff");
    match handle.state().await {
        Err(AgentHandleError::Stuck { problem, .. }) => assert_eq!(problem.kind, RunProblemKind::ReplayDiffers),
        other => panic!("{other:?}"),
    }

    // A workflow task: from now on the server knows.
    assert_eq!(post(&service, "/runs/renamed-handoff/cancel", &json!({})).await?.0, StatusCode::ACCEPTED);
    let found = problem(&service, "renamed-handoff", "replay_differs").await?;
    assert!(found["message"].as_str().is_some_and(|message| message.contains(change)), "{found}");
    assert_eq!(found["agent"], "desk");
    match handle.approve(question.as_str().unwrap_or_default()).await {
        Err(AgentHandleError::Stuck { problem, .. }) => assert_eq!(problem.kind, RunProblemKind::ReplayDiffers),
        other => panic!("{other:?}"),
    }
    let lines = logged("renamed-handoff", "this build does not reproduce the history of the run").await?;
    assert!(
        lines[0].contains(change) && lines[0].contains("agent=\"desk\"") && lines[0].contains("roll back"),
        "{lines:?}"
    );
    worker.stop()?;

    // After a rollback the run goes on.
    let service = site.service((before,));
    let mut worker = site.worker(Some(plugin(before)), ready_made(&AgentSet::new((before,)))?)?;
    until(&service, "/runs/renamed-handoff", |run| run["status"] == "cancelled").await?;
    worker.stop()?;
    site.shutdown().await;
    let lines = logged("renamed-handoff", "this build does not reproduce the history of the run").await?;
    assert_eq!(lines.len(), 1, "{lines:?}");
    Ok(())
}
