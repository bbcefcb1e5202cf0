//! The service over HTTP: its router, called without a socket, in front of a real server.

mod doors;
mod input_questions;
mod kept;
pub(crate) mod lists;
mod openapi;
mod over_redis;
mod pairing;
mod pictures;
mod readers;
mod rules;
mod shown;
mod starts;
mod without_workers;

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use http_body_util::BodyExt;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    client::{AgentHandle, ChatHandle},
    http::{AccessPolicy, AgentsService, BearerToken, Caller},
    tool,
    wire::ChatOutcome,
    worker::HeartbeatDeltas,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::AgentEnvironmentBuilder,
    fake_model::{text, tool_call},
};
use temporalio_common::data_converters::{PayloadConverter, RawValue};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::PATIENCE;

/// Pays money back.
#[tool(start_to_close = "20s")]
async fn pay(amount: u32) -> String {
    format!("paid {amount}")
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(pay.needs_approval())
}

/// An environment with runs and chats of the clerk; with `moves` a chat continues as new whenever
/// it may.
async fn environment(model: FakeModel, moves: bool) -> anyhow::Result<AgentEnvironment> {
    Ok(builder(model, moves)?.start().await?)
}

fn builder(model: FakeModel, moves: bool) -> anyhow::Result<AgentEnvironmentBuilder> {
    let set = move || {
        let set = AgentSet::new((clerk,));
        if moves { set.continue_when(ContinueOptions::builder().new_events(0).build()) } else { set }
    };
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set()))?
        .model_provider(model)
        .plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()))
        .agents((clerk,));
    Ok(builder)
}

/// A value as a client without this crate sends it.
fn raw(value: &Value) -> RawValue {
    RawValue::from_value(value, &PayloadConverter::default())
}

/// A process that serves the environment's runs.
fn replica(env: &AgentEnvironment) -> Router {
    AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).into_router()
}

fn request(method: &str, path: &str, body: Option<&Value>) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
    request.header(header::CONTENT_TYPE, "application/json").body(body).expect("a request")
}

/// Sends a request; returns the status and the body.
async fn send(service: &Router, request: Request<Body>) -> anyhow::Result<(StatusCode, String)> {
    let response = service.clone().oneshot(request).await?;
    let status = response.status();
    let bytes = timeout(PATIENCE, response.into_body().collect()).await??;
    Ok((status, String::from_utf8(bytes.to_bytes().to_vec())?))
}

pub(crate) async fn get(service: &Router, path: &str) -> anyhow::Result<(StatusCode, Value)> {
    let (status, body) = send(service, request("GET", path, None)).await?;
    Ok((status, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

pub(crate) async fn post(service: &Router, path: &str, body: &Value) -> anyhow::Result<(StatusCode, Value)> {
    let (status, body) = send(service, request("POST", path, Some(body))).await?;
    Ok((status, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

/// Sends a request; returns the status and the text of the body.
pub(crate) async fn post_text(service: &Router, path: &str, body: &Value) -> anyhow::Result<(StatusCode, String)> {
    send(service, request("POST", path, Some(body))).await
}

/// Returns the text of the answer, once it is complete.
pub(crate) async fn get_text(service: &Router, path: &str) -> anyhow::Result<String> {
    Ok(send(service, request("GET", path, None)).await?.1)
}

/// The values of the `data:` lines of a stream.
async fn stream(service: &Router, request: Request<Body>) -> anyhow::Result<Vec<Value>> {
    let (status, body) = send(service, request).await?;
    assert_eq!(status, StatusCode::OK, "{body}");
    let data = body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    Ok(data.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Waits until the answer to a request fits.
pub(crate) async fn until(service: &Router, path: &str, fits: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
    let looking = async {
        while !fits(&get(service, path).await?.1) {}
        anyhow::Ok(())
    };
    timeout(PATIENCE, looking).await?
}

/// The request of an AG-UI client with one message of the user.
fn agui(run: &str, resume: Value) -> Value {
    json!({
        "threadId": "t", "runId": run, "messages": [{"id": "m", "role": "user", "content": "Pay me 40."}],
        "tools": [], "context": [], "resume": resume,
    })
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

fn find<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The text that events of this kind add up to: how it is cut depends on time.
fn written(events: &[Value], kind: &str) -> String {
    find(events, kind).into_iter().filter_map(|event| event["delta"].as_str()).collect()
}

#[rstest]
#[tokio::test]
async fn an_approval_over_agui_is_granted_by_any_replica_and_counts_once(
    #[values(false, true)] moves: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("You have your money.")]);
    let env = environment(model.clone(), moves).await?;
    let asked = stream(&replica(&env), request("POST", "/agui/clerk", Some(&agui("r1", json!([]))))).await?;
    let finished = asked.last().expect("a last event");
    let interrupt = &finished["outcome"]["interrupts"][0];
    assert_eq!((&finished["type"], &interrupt["reason"]), (&json!("RUN_FINISHED"), &json!("tool_call")), "{asked:?}");
    assert_eq!(find(&asked, "TOOL_CALL_START")[0]["toolCallName"], "pay");
    // The same request is the same run.
    let again = stream(&replica(&env), request("POST", "/agui/clerk", Some(&agui("r1", json!([]))))).await?;
    assert_eq!(again.last(), asked.last());
    let resume = json!([{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": true}}]);
    for _ in 0..2 {
        let events = stream(&replica(&env), request("POST", "/agui/clerk", Some(&agui("r2", resume.clone())))).await?;
        assert!(!kinds(&events).contains(&"TOOL_CALL_START"), "{events:?}");
        assert_eq!(find(&events, "TOOL_CALL_RESULT")[0]["content"], "paid 40");
        assert_eq!(written(&events, "TEXT_MESSAGE_CONTENT"), "You have your money.");
        assert_eq!(events.last().expect("a last event")["outcome"], json!({"type": "success"}));
    }
    assert_eq!(model.calls().len(), 2);
    // An answer to a call that nobody made is not kept for a later one.
    let unknown = json!([{"interruptId": "call_9", "status": "resolved", "payload": {"approved": true}}]);
    assert_eq!(post(&replica(&env), "/agui/clerk", &agui("r3", unknown)).await?.0, StatusCode::NOT_FOUND);
    assert_eq!(AgentHandle::new(env.client(), "clerk:t").state().await?.decided.len(), 1);
    // The opposite decision comes too late.
    let refused = json!([{"interruptId": interrupt["id"], "status": "cancelled"}]);
    let (status, body) = post(&replica(&env), "/agui/clerk", &agui("r3", refused)).await?;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_refused_message_does_not_shift_the_answers_of_later_ones() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([text("first"), text("second")]), false).await?;
    let service = replica(&env);
    let answer = |events: Vec<Value>| written(&events, "TEXT_MESSAGE_CONTENT");
    let first = stream(&service, request("POST", "/agui/clerk", Some(&agui("r1", json!([]))))).await?;
    assert_eq!(answer(first), "first");
    let refused = ChatHandle::new(env.client(), "clerk:t").send("x".repeat(200_000)).await?;
    assert!(matches!(refused.outcome, ChatOutcome::Refused { .. }), "{refused:?}");
    let second = stream(&service, request("POST", "/agui/clerk", Some(&agui("r2", json!([]))))).await?;
    assert_eq!(answer(second), "second");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_id_of_another_run_is_no_thread() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([text("paid")]), false).await?;
    let service = replica(&env);
    let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": "clerk:t"});
    assert_eq!(post(&service, "/runs", &new).await?.0, StatusCode::CREATED);
    assert_eq!(post(&service, "/agui/clerk", &agui("r1", json!([]))).await?.0, StatusCode::CONFLICT);
    let foreign = AgentsService::new(env.client(), "another queue").agents((clerk,)).into_router();
    assert_eq!(get(&foreign, "/runs/clerk:t").await?.0, StatusCode::NOT_FOUND);
    assert_eq!(post(&foreign, "/agui/clerk", &agui("r1", json!([]))).await?.0, StatusCode::CONFLICT);
    assert_eq!(post(&foreign, "/runs", &new).await?.0, StatusCode::CONFLICT);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_chat_of_the_ai_sdk_has_a_refused_call_and_its_answer() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("Not today.")]);
    let env = environment(model, false).await?;
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Pay me 40."}]});
    let body = json!({"id": "c", "messages": [user], "trigger": "submit-message"});
    let asked = stream(&replica(&env), request("POST", "/chat/clerk", Some(&body))).await?;
    let approval = find(&asked, "tool-approval-request")[0];
    assert_eq!(asked.last().expect("a last chunk")["finishReason"], "tool-calls");
    let part = json!({
        "type": "dynamic-tool", "toolCallId": approval["toolCallId"], "toolName": "pay", "state": "approval-responded",
        "input": {}, "approval": {"id": approval["approvalId"], "approved": false, "reason": "closed"},
    });
    let answer = json!({"id": "m1-answer", "role": "assistant", "parts": [part]});
    let body = json!({"id": "c", "messages": [user, answer], "trigger": "submit-message", "messageId": "m1-answer"});
    let events = stream(&replica(&env), request("POST", "/chat/clerk", Some(&body))).await?;
    assert_eq!(events[0], json!({"type": "start", "messageId": "m1-answer"}));
    assert_eq!(find(&events, "tool-output-denied").len(), 1, "{events:?}");
    assert_eq!(written(&events, "text-delta"), "Not today.");
    assert_eq!(get(&replica(&env), "/chat/clerk/c/stream").await?.0, StatusCode::NO_CONTENT);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_is_started_once_watched_decided_and_read_after_its_end() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("You have your money.")]);
    let env = environment(model, false).await?;
    let service = replica(&env);
    let id = format!("run-of-{}", env.task_queue());
    let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": id, "labels": {"customer": "7"}});
    for _ in 0..2 {
        assert_eq!(post(&service, "/runs", &new).await?, (StatusCode::CREATED, json!({"id": id})));
    }
    let path = format!("/runs/{id}");
    until(&service, &path, |run| run["status"] == "waiting").await?;
    let (_, run) = get(&service, &path).await?;
    assert_eq!((&run["agent"], &run["labels"]["customer"]), (&json!("clerk"), &json!("7")));
    let question = &run["questions"][0];
    assert_eq!((&question["tool"], &question["waits_for"]), (&json!("pay"), &json!("approval")));
    until(&service, "/questions", |list| list["questions"][0]["run_id"] == id).await?;
    let decision = json!({"question_id": question["question_id"], "approved": true});
    let unknown = json!({"question_id": "call_9", "approved": true});
    assert_eq!(post(&service, &format!("{path}/decisions"), &unknown).await?.0, StatusCode::NOT_FOUND);
    for _ in 0..2 {
        assert_eq!(post(&service, &format!("{path}/decisions"), &decision).await?.0, StatusCode::OK);
    }
    let events = stream(&service, request("GET", &format!("{path}/events"), None)).await?;
    let facts: Vec<&Value> = events.iter().filter(|event| event["kind"].is_string()).collect();
    assert_eq!(facts.last().expect("a last event")["kind"], "run_finished");
    let (status, run) = get(&service, &path).await?;
    assert_eq!(
        (status, &run["status"], &run["output"]),
        (StatusCode::OK, &json!("completed"), &json!("You have your money."))
    );
    // The end of an event stream is an event, and a cursor continues it.
    let cursor = facts[2]["cursor"].as_str().expect("a cursor");
    let rest = stream(&service, request("GET", &format!("{path}/events?deltas=false&from={cursor}"), None)).await?;
    let whole = stream(&service, request("GET", &format!("{path}/events?deltas=false"), None)).await?;
    let at = whole.iter().position(|event| event["cursor"] == cursor).expect("the event of the cursor");
    assert_eq!(rest, whole[at + 1..]);
    assert_eq!(post(&service, &format!("{path}/cancel"), &json!({})).await?.0, StatusCode::CONFLICT);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn requests_are_refused_at_the_door() -> anyhow::Result<()> {
    struct Mine;
    impl AccessPolicy for Mine {
        fn authenticate(&self, authorization: Option<&str>) -> Option<Caller> {
            BearerToken::new("secret", "ann").authenticate(authorization)
        }

        fn may_see(&self, _caller: &Caller, run_id: &str) -> bool {
            run_id.starts_with("clerk:mine")
        }
    }
    let env = environment(FakeModel::script([]), false).await?;
    let local = replica(&env);
    let mut foreign = request("GET", "/agents", None);
    foreign.headers_mut().insert(header::HOST, "attacker.test".parse()?);
    assert_eq!(send(&local, foreign).await?.0, StatusCode::MISDIRECTED_REQUEST);
    let mut form = request("POST", "/runs", Some(&json!({"agent": "clerk", "input": "hi"})));
    form.headers_mut().insert(header::CONTENT_TYPE, "text/plain".parse()?);
    assert_eq!(send(&local, form).await?.0, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(get(&local, "/runs/nobody").await?.0, StatusCode::NOT_FOUND);
    for (path, body, expected) in [
        ("/runs", json!({"agent": "nobody", "input": "hi"}), StatusCode::NOT_FOUND),
        ("/runs", json!({"agent": "clerk"}), StatusCode::BAD_REQUEST),
        ("/runs", json!({"agent": "clerk", "input": "hi", "id": "\n"}), StatusCode::BAD_REQUEST),
        ("/agui/nobody", agui("r", json!([])), StatusCode::NOT_FOUND),
        ("/agui/clerk", agui("#1", json!([])), StatusCode::BAD_REQUEST),
        ("/chat/clerk?v=5", json!({"id": "c", "messages": []}), StatusCode::BAD_REQUEST),
        ("/chat/clerk", json!({"id": "c", "messages": []}), StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(post(&local, path, &body).await?.0, expected, "{path} {body}");
    }
    let guarded = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).access(Mine).into_router();
    assert_eq!(get(&guarded, "/agents").await?.0, StatusCode::UNAUTHORIZED);
    for (token, thread, expected) in [
        ("Bearer wrong", "mine-1", StatusCode::UNAUTHORIZED),
        ("bearer secret", "yours-1", StatusCode::FORBIDDEN),
        ("Bearer secret", "mine-1", StatusCode::NOT_FOUND),
    ] {
        let mut asked = request("GET", &format!("/agui/clerk/{thread}"), None);
        asked.headers_mut().insert(header::AUTHORIZATION, token.parse()?);
        assert_eq!(send(&guarded, asked).await?.0, expected, "{token} {thread}");
    }
    // The page asks for the token itself.
    assert_eq!(send(&guarded, request("GET", "/", None)).await?.0, StatusCode::OK);
    env.finish().await?;
    Ok(())
}
