//! Reads of runs whose worker does not answer: the history says what waits.

use axum::http::StatusCode;
use serde_json::json;
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, text, tool_call},
};
use tokio::time::timeout;

use super::{environment, find, get, post, replica, request, stream, until};
use crate::PATIENCE;

fn pays(amount: u32) -> Reply {
    tool_call("pay", json!({"amount": amount}))
}

#[tokio::test]
async fn a_run_that_waits_is_read_with_its_question_while_its_worker_is_down() -> anyhow::Result<()> {
    let mut env = environment(FakeModel::script([pays(40), pays(50), text("Paid.")]), false).await?;
    let service = replica(&env);
    let path = format!("/runs/down-{}", env.task_queue());
    let new = json!({"agent": "clerk", "input": "Pay me.", "id": path.trim_start_matches("/runs/")});
    assert_eq!(post(&service, "/runs", &new).await?.0, StatusCode::CREATED);
    until(&service, &path, |run| run["status"] == "waiting").await?;
    let (_, run) = get(&service, &path).await?;
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    assert_eq!(post(&service, &format!("{path}/decisions"), &decision).await?.0, StatusCode::OK);
    let is_second = |run: &serde_json::Value| {
        run["questions"][0]["arguments"].as_str().is_some_and(|arguments| arguments.contains("50"))
    };
    until(&service, &path, is_second).await?;
    let (_, before) = get(&service, &path).await?;
    env.stop_worker().await?;
    let (_, run) = get(&service, &path).await?;
    assert_eq!((&run["status"], &run["questions"]), (&json!("waiting"), &before["questions"]));
    // The lists say the same: an approver who sees an empty one would go home.
    let mut waiting = before["questions"][0].clone();
    waiting["run_id"] = json!(path.trim_start_matches("/runs/"));
    let all = json!({"questions": [waiting], "complete": true});
    assert_eq!(get(&service, "/questions").await?, (StatusCode::OK, all.clone()));
    let events = tower::ServiceExt::oneshot(service.clone(), request("GET", "/questions/events", None)).await?;
    let mut lists = http_body_util::BodyExt::into_data_stream(events.into_body());
    let first = timeout(PATIENCE, futures::StreamExt::next(&mut lists)).await?.expect("a list")?;
    let first = String::from_utf8(first.to_vec())?;
    let list = first.lines().find_map(|line| line.strip_prefix("data: ")).expect("the data of an event");
    assert_eq!(serde_json::from_str::<serde_json::Value>(list)?, all);
    env.start_worker()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_reconnect_passes_an_old_pause_by_although_no_worker_answers() -> anyhow::Result<()> {
    let mut env = environment(FakeModel::script([pays(40), pays(50), text("Paid.")]), false).await?;
    let service = replica(&env);
    let asked = stream(&service, request("POST", "/agui/clerk", Some(&super::agui("r1", json!([]))))).await?;
    let interrupt = asked.last().expect("a last event")["outcome"]["interrupts"][0]["id"].clone();
    let resume = json!([{"interruptId": interrupt, "status": "resolved", "payload": {"approved": true}}]);
    let asked = stream(&service, request("POST", "/agui/clerk", Some(&super::agui("r2", resume)))).await?;
    let second = asked.last().expect("a last event")["outcome"]["interrupts"][0]["id"].clone();
    assert_ne!(second, interrupt);
    // The transcript is answered, and then no worker is there to say which pause is the present one.
    let connecting = tower::ServiceExt::oneshot(service.clone(), request("GET", "/agui/clerk/t", None)).await?;
    env.stop_worker().await?;
    let body = http_body_util::BodyExt::collect(connecting.into_body()).await?.to_bytes();
    let body = String::from_utf8(body.to_vec())?;
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<serde_json::Value> = data.map(serde_json::from_str).collect::<Result<_, _>>()?;
    assert_eq!(find(&events, "RUN_FINISHED")[0]["outcome"]["interrupts"][0]["id"], second, "{events:?}");
    env.start_worker()?;
    env.finish().await?;
    Ok(())
}
