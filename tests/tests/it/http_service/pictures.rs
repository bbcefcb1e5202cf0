//! Pictures over HTTP: agents and timelines, for those who may see them, and never as script.

use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::json;
use temporal_agents::{
    Agent,
    http::{AccessPolicy, AgentsService, BearerToken, Caller},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};
use tokio::time::timeout;
use tower::ServiceExt;

use super::{Router, clerk, environment, get, pay, post, replica, request, until};
use crate::PATIENCE;

/// A name that would be markup, a script or the end of the picture.
const HOSTILE: &str = "</text></svg><script>alert(1)</script>\"'&\u{202e}\u{0}";

fn hostile() -> Agent {
    let other: Agent = Agent::new("<img src=x onerror=alert(1)>").model("javascript:alert(1)");
    Agent::new(HOSTILE).model("<b>gpt</b>").tool(pay).handoff(other)
}

/// Requests a picture; returns status, headers and body.
async fn picture(service: &Router, path: &str, token: Option<&str>) -> anyhow::Result<(StatusCode, HeaderMap, String)> {
    let mut asked = request("GET", path, None);
    if let Some(token) = token {
        asked.headers_mut().insert(header::AUTHORIZATION, token.parse()?);
    }
    let response = service.clone().oneshot(asked).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = timeout(PATIENCE, response.into_body().collect()).await??.to_bytes();
    Ok((status, headers, String::from_utf8(bytes.to_vec())?))
}

/// Checks that a browser can draw a picture and never run it.
fn check(status: StatusCode, headers: &HeaderMap, image: &str) {
    assert_eq!(status, StatusCode::OK, "{image}");
    assert_eq!(headers[header::CONTENT_TYPE], "image/svg+xml; charset=utf-8");
    assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert_eq!(headers[header::CACHE_CONTROL], "no-store");
    let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap_or_default();
    assert!(policy.starts_with("default-src 'none';") && policy.ends_with("sandbox"), "{policy}");
    assert!(!policy.contains("script"), "{policy}");
    assert!(image.starts_with("<svg ") && image.ends_with("</svg>\n"), "{image}");
    for word in ["<script", "<img", "<b>", "<a ", "<foreignObject", "<image", " href=", "\u{0}"] {
        assert!(!image.contains(word), "{word}: {image}");
    }
    // Attributes are of this crate alone: each text is between tags, where a quote is an entity.
    let tags = image.split('<').skip(1).filter_map(|rest| rest.split('>').next());
    assert!(tags.into_iter().all(|tag| !tag.contains(" on")), "{image}");
}

#[tokio::test]
async fn agents_are_drawn_whatever_their_names_are() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents(vec![clerk(), hostile()]).into_router();
    let (status, headers, image) = picture(&service, "/agents/clerk/picture.svg", None).await?;
    check(status, &headers, &image);
    assert!(image.contains(">clerk<") && image.contains(">gpt-5<") && image.contains("\u{2699} pay"), "{image}");
    let encoded = HOSTILE.bytes().fold(String::new(), |encoded, byte| encoded + &format!("%{byte:02X}"));
    let (status, headers, image) = picture(&service, &format!("/agents/{encoded}/picture.svg"), None).await?;
    check(status, &headers, &image);
    assert!(image.contains("&lt;img src=x onerror=alert(1)&gt;"), "{image}");
    assert_eq!(get(&service, "/agents/nobody/picture.svg").await?.0, StatusCode::NOT_FOUND);
    assert_eq!(get(&service, "/agents/clerk/picture.svg?version=1").await?.0, StatusCode::FORBIDDEN);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_is_drawn_while_it_waits_and_after_its_end() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("<script>alert(1)</script>")]);
    let env = environment(model, false).await?;
    let service = replica(&env);
    let id = "run <script>alert(1)</script>";
    let path = "/runs/run%20%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    post(&service, "/runs", &json!({"agent": "clerk", "input": "<script>alert(2)</script>", "id": id})).await?;
    until(&service, path, |run| run["status"] == "waiting").await?;
    let (status, headers, image) = picture(&service, &format!("{path}/timeline.svg"), None).await?;
    check(status, &headers, &image);
    assert!(image.contains("pay waits for a person, undecided") && image.contains("&lt;script&gt;"), "{image}");
    let (_, run) = get(&service, path).await?;
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    post(&service, &format!("{path}/decisions"), &decision).await?;
    until(&service, path, |run| run["status"] == "completed").await?;
    let (status, headers, image) = picture(&service, &format!("{path}/timeline.svg"), None).await?;
    check(status, &headers, &image);
    assert_eq!(image.matches("<rect class=\"model\" x=").count(), 2, "{image}");
    assert_eq!(image.matches("<rect class=\"tool\" x=").count(), 1, "{image}");
    assert!(!image.contains("alert(2)"), "a picture has no content: {image}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn pictures_are_for_those_who_may_see_them() -> anyhow::Result<()> {
    struct Mine;
    impl AccessPolicy for Mine {
        fn authenticate(&self, authorization: Option<&str>) -> Option<Caller> {
            BearerToken::new("secret", "ann").authenticate(authorization)
        }

        fn may_start(&self, _caller: &Caller, _agent: &str) -> bool {
            false
        }

        fn may_see(&self, _caller: &Caller, run_id: &str) -> bool {
            run_id == "mine"
        }
    }
    let env = environment(FakeModel::script([text("hello"), text("hello")]), false).await?;
    for id in ["mine", "yours"] {
        post(&replica(&env), "/runs", &json!({"agent": "clerk", "input": "Hi!", "id": id})).await?;
        until(&replica(&env), &format!("/runs/{id}"), |run| run["status"] == "completed").await?;
    }
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).access(Mine).into_router();
    let token = Some("Bearer secret");
    for (path, token, expected) in [
        ("/runs/mine/timeline.svg", None, StatusCode::UNAUTHORIZED),
        ("/agents/clerk/picture.svg", None, StatusCode::UNAUTHORIZED),
        ("/runs/mine/timeline.svg", token, StatusCode::OK),
        ("/runs/yours/timeline.svg", token, StatusCode::NOT_FOUND),
        ("/runs/nobody/timeline.svg", token, StatusCode::NOT_FOUND),
        ("/agents/clerk/picture.svg", token, StatusCode::FORBIDDEN),
    ] {
        let (status, _, body) = picture(&service, path, token).await?;
        assert_eq!(status, expected, "{path}: {body}");
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_that_nobody_has_taken_has_no_timeline() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let service = AgentsService::new(env.client(), "a queue without workers").agents((clerk,)).into_router();
    post(&service, "/runs", &json!({"agent": "clerk", "input": "Hi!", "id": "idle"})).await?;
    let drawn = timeout(Duration::from_secs(20), get(&service, "/runs/idle/timeline.svg")).await??;
    assert_eq!((drawn.0, &drawn.1["error"]["code"]), (StatusCode::NOT_FOUND, &json!("no_timeline")));
    env.finish().await?;
    Ok(())
}
