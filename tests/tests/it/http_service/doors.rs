//! The layers around the API: other origins, sizes, ids of requests, and refusals in one form.

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use serde_json::{Value, json};
use temporal_agents::http::{AgentsService, BearerToken};
use temporal_agents_testing::{AgentEnvironment, FakeModel};
use tokio::{net::TcpListener, sync::oneshot};
use tower::ServiceExt;

use crate::PATIENCE;

use super::{clerk, environment, get, replica, request, send};

const PAGE: &str = "https://app.shop.test";

fn preflight(origin: &str) -> Request<Body> {
    let request = Request::builder().method("OPTIONS").uri("/runs").header(header::HOST, "localhost");
    let request = request.header(header::ORIGIN, origin).header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST");
    let request = request.header(header::ACCESS_CONTROL_REQUEST_HEADERS, "authorization,content-type");
    request.body(Body::empty()).expect("a request")
}

async fn allowed_origin(service: &Router, request: Request<Body>) -> anyhow::Result<Option<String>> {
    let response = service.clone().oneshot(request).await?;
    let origin = response.headers().get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
    Ok(origin.map(|origin| origin.to_str()).transpose()?.map(str::to_owned))
}

fn guarded(env: &AgentEnvironment) -> AgentsService {
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,));
    service.access(BearerToken::new("secret", "ann"))
}

#[tokio::test]
async fn only_named_origins_may_call_and_none_without_a_policy() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let open = guarded(&env).allow_origins([PAGE]).into_router();
    assert_eq!(allowed_origin(&open, preflight(PAGE)).await?.as_deref(), Some(PAGE));
    assert_eq!(allowed_origin(&open, preflight("https://attacker.test")).await?, None);
    // The answers themselves need the token still.
    let mut asked = request("GET", "/agents", None);
    asked.headers_mut().insert(header::ORIGIN, PAGE.parse()?);
    assert_eq!(send(&open, asked).await?.0, StatusCode::UNAUTHORIZED);
    assert_eq!(allowed_origin(&guarded(&env).into_router(), preflight(PAGE)).await?, None);
    // Without a policy the option does nothing.
    let local = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).allow_origins([PAGE]);
    assert_eq!(allowed_origin(&local.into_router(), preflight(PAGE)).await?, None);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn every_refusal_has_a_code_and_the_id_of_its_request() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let service = replica(&env);
    let large = json!({"agent": "clerk", "input": "x".repeat(5 * 1024 * 1024)});
    let cut = Request::post("/runs").header(header::HOST, "localhost").header(header::CONTENT_TYPE, "application/json");
    for (asked, status, code) in [
        (request("POST", "/runs", Some(&large)), StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        (cut.body(Body::from("{\"agent\": "))?, StatusCode::BAD_REQUEST, "invalid_request"),
        (request("POST", "/runs", Some(&json!({"agents": 1}))), StatusCode::BAD_REQUEST, "invalid_request"),
        (request("GET", "/runs?limit=many", None), StatusCode::BAD_REQUEST, "invalid_request"),
        (request("GET", "/nowhere", None), StatusCode::NOT_FOUND, "not_found"),
        (request("POST", "/agents", Some(&json!({}))), StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
    ] {
        let uri = asked.uri().clone();
        let response = service.clone().oneshot(asked).await?;
        assert!(response.headers().contains_key("x-request-id"), "{uri}");
        let (found, body) = (response.status(), axum::body::to_bytes(response.into_body(), 1 << 20).await?);
        let body: Value = serde_json::from_slice(&body)?;
        assert_eq!((found, &body["error"]["code"]), (status, &json!(code)), "{uri}: {body}");
        assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{uri}: {body}");
    }
    let mut named = request("GET", "/agents", None);
    named.headers_mut().insert("x-request-id", "mine".parse()?);
    assert_eq!(service.clone().oneshot(named).await?.headers()["x-request-id"], "mine");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_service_that_stops_ends_its_streams_and_then_itself() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,));
    let serving = tokio::spawn(service.serve(listener, async move { stopped.await.unwrap_or_default() }));
    let mut reader = super::readers::Reader::connect(address, "/questions/events", None).await?;
    assert_eq!(reader.next().await?.expect("the list").data["questions"], json!([]));
    stop.send(()).expect("the service runs");
    let last = reader.next().await?.expect("a last event");
    assert_eq!((&*last.event, &last.data["reason"]), ("cut", &json!("stopping")));
    assert!(reader.next().await?.is_none());
    tokio::time::timeout(PATIENCE, serving).await???;
    assert!(get(&replica(&env), "/agents").await?.0.is_success(), "another replica goes on");
    env.finish().await?;
    Ok(())
}
