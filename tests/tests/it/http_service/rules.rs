//! The answers of people over AG-UI, and the runs that a service knows.

use axum::http::StatusCode;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::http::AgentsService;
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::{WorkflowStartOptions, WorkflowTerminateOptions};
use temporalio_common::UntypedWorkflow;

use super::{agui, clerk, environment, find, get, post, raw, replica, request, stream, written};

#[rstest]
#[case::cancelled(json!({"status": "cancelled"}), "Tool execution was not approved.")]
#[case::refused(json!({"status": "resolved", "payload": {"approved": false}}), "Tool execution was not approved.")]
#[case::refused_with_a_reason(
    json!({"status": "resolved", "payload": {"approved": false, "reason": "not today"}}),
    "not today"
)]
#[case::approved(json!({"status": "resolved", "payload": {"approved": true}}), "paid 40")]
#[case::edited(json!({"status": "resolved", "payload": {"approved": true, "editedArgs": {"amount": 7}}}), "paid 7")]
#[tokio::test]
async fn an_answer_decides_the_call(#[case] mut answer: Value, #[case] output: &str) -> anyhow::Result<()> {
    let env =
        environment(FakeModel::script([tool_call("pay", json!({"amount": 40})), text("So be it.")]), false).await?;
    let asked = stream(&replica(&env), request("POST", "/agui/clerk", Some(&agui("r1", json!([]))))).await?;
    let id = &asked.last().expect("a last event")["outcome"]["interrupts"][0]["id"];
    // No other payload decides anything.
    for (payload, named) in [
        (json!({"approved": true, "editedArgs": 1}), "editedArgs"),
        (json!({"approved": false, "editedArgs": {"amount": 1}}), "editedArgs"),
        (json!({"approved": "yes"}), "approved"),
        (json!({}), "approved"),
        (Value::Null, "approved"),
    ] {
        let resume = json!([{"interruptId": id, "status": "resolved", "payload": payload}]);
        let (status, body) = post(&replica(&env), "/agui/clerk", &agui("r2", resume)).await?;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
        assert!(body["error"]["message"].as_str().is_some_and(|message| message.contains(named)), "{body}");
    }
    answer["interruptId"] = id.clone();
    let events = stream(&replica(&env), request("POST", "/agui/clerk", Some(&agui("r2", json!([answer]))))).await?;
    assert_eq!(find(&events, "TOOL_CALL_RESULT")[0]["content"], output);
    assert_eq!(written(&events, "TEXT_MESSAGE_CONTENT"), "So be it.");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_unknown_agent_or_tool_is_refused_before_any_event() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let service = replica(&env);
    let (status, body) = post(&service, "/agui/nobody", &agui("r1", json!([]))).await?;
    assert_eq!((status, &body["error"]["code"]), (StatusCode::NOT_FOUND, &json!("unknown_agent")));
    let mut asked = agui("r1", json!([]));
    asked["tools"] = json!([{"name": "paint", "description": "Paints.", "parameters": {}}]);
    let (status, body) = post(&service, "/agui/clerk", &asked).await?;
    assert_eq!((status, &body["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("invalid_request")));
    // Nothing was started.
    assert_eq!(get(&service, "/runs/clerk:t").await?.0, StatusCode::NOT_FOUND);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn workflows_of_other_types_and_queues_are_no_runs() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let service = replica(&env);
    let other = format!("other-{}", env.task_queue());
    let options = WorkflowStartOptions::new(env.task_queue(), &*other).build();
    env.client().start_workflow(UntypedWorkflow::new("Invoice"), raw(&json!({})), options).await?;
    let elsewhere = AgentsService::new(env.client(), "another queue").agents((clerk,)).into_router();
    let run = format!("elsewhere-{}", env.task_queue());
    let new = json!({"agent": "clerk", "input": "hi", "id": run});
    assert_eq!(post(&elsewhere, "/runs", &new).await?.0, StatusCode::CREATED);
    for id in [&other, &run] {
        assert_eq!(get(&service, &format!("/runs/{id}")).await?.0, StatusCode::NOT_FOUND, "{id}");
        assert_eq!(get(&service, &format!("/runs/{id}/events")).await?.0, StatusCode::NOT_FOUND, "{id}");
        for (act, body) in [
            ("decisions", json!({"question_id": "c", "approved": true})),
            ("outputs", json!({"question_id": "c", "output": 1})),
            ("messages", json!({"text": "hi"})),
            ("cancel", json!({})),
        ] {
            let path = format!("/runs/{id}/{act}");
            assert_eq!(post(&service, &path, &body).await?.0, StatusCode::NOT_FOUND, "{path}");
        }
    }
    for id in [&other, &run] {
        let open = env.client().get_workflow_handle::<UntypedWorkflow>(&**id);
        open.terminate(WorkflowTerminateOptions::default()).await?;
    }
    env.finish().await?;
    Ok(())
}
