//! The OpenAPI description: every route of the service, and the values that it really answers.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};
use temporal_agents_core::tool::schema::validate;
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use super::{agui, environment, get, post, replica, request, send, stream, until};

/// The paths of the service, with their methods.
const ROUTES: [(&str, &[&str]); 22] = [
    ("/agents", &["get"]),
    ("/agents/{name}", &["get", "put"]),
    ("/agents/{name}/picture.svg", &["get"]),
    ("/agents/{name}/versions", &["get"]),
    ("/agui/{agent}", &["post"]),
    ("/agui/{agent}/{thread}", &["get"]),
    ("/chat/{agent}", &["post"]),
    ("/chat/{agent}/{chat}/stream", &["get"]),
    ("/kept-decisions", &["get"]),
    ("/kept-decisions/{id}", &["delete"]),
    ("/openapi.json", &["get"]),
    ("/questions", &["get"]),
    ("/questions/events", &["get"]),
    ("/runs", &["get", "post"]),
    ("/runs/{id}", &["get"]),
    ("/runs/{id}/cancel", &["post"]),
    ("/runs/{id}/decisions", &["post"]),
    ("/runs/{id}/events", &["get"]),
    ("/runs/{id}/messages", &["post"]),
    ("/runs/{id}/outputs", &["post"]),
    ("/runs/{id}/timeline.svg", &["get"]),
    ("/runs/{id}/usage", &["get"]),
];

/// All values below a value that is named `name`.
fn named<'v>(value: &'v Value, name: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                if member == name {
                    found.push(value);
                }
                named(value, name, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| named(value, name, found)),
        _ => {}
    }
}

#[tokio::test]
async fn the_description_has_every_route_and_follows_the_rules_of_openapi() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([]), false).await?;
    let service = replica(&env);
    let (status, document) = get(&service, "/openapi.json").await?;
    assert_eq!((status, &document["openapi"]), (StatusCode::OK, &json!("3.1.0")));
    assert!(document["info"]["title"].is_string() && document["info"]["version"].is_string());
    let paths = document["paths"].as_object().expect("paths");
    let routes: BTreeMap<&str, &[&str]> = ROUTES.into();
    let described: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
    assert_eq!(described, routes.keys().copied().collect());
    let mut ids = BTreeSet::new();
    for (path, item) in paths {
        let methods: Vec<&str> = item.as_object().expect("operations").keys().map(String::as_str).collect();
        assert_eq!(methods, routes[&**path], "{path}");
        for (method, operation) in item.as_object().expect("operations") {
            let id = operation["operationId"].as_str().expect("an id");
            assert!(ids.insert(id), "{id} is the id of two operations");
            assert!(operation["summary"].as_str().is_some_and(|summary| summary.ends_with('.')), "{id}");
            let of_path: BTreeSet<String> = path.split(['{', '}']).skip(1).step_by(2).map(str::to_owned).collect();
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = parameters.iter().filter(|parameter| parameter["in"] == "path");
            let in_path = in_path.map(|parameter| parameter["name"].as_str().expect("a name").to_owned());
            assert_eq!(in_path.collect::<BTreeSet<_>>(), of_path, "{id}");
            assert!(parameters.iter().all(|parameter| parameter["schema"].is_object()), "{id}");
            let responses = operation["responses"].as_object().expect("responses");
            assert!(responses.contains_key("default") && responses.len() > 1, "{id}");
            assert!(responses.values().all(|response| response["description"].is_string()), "{id}");
            let has_body = operation.get("requestBody").is_some();
            assert_eq!(has_body, ["post", "put"].contains(&&**method) && id != "cancel_run", "{id}");
            // The router has it: another method is refused by name.
            let place = path.replace(['{', '}'], "");
            let (status, _) = send(&service, request("PATCH", &place, Some(&json!({})))).await?;
            assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "PATCH {path}");
        }
    }
    let mut references = Vec::new();
    named(&document, "$ref", &mut references);
    assert!(references.len() > 10);
    for reference in references {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    env.finish().await?;
    Ok(())
}

/// Checks a value against the schema of an operation's answer.
pub(super) fn check(document: &Value, path: &str, method: &str, (status, kind): (&str, &str), value: &Value) {
    let pointer = |path: &str| path.replace('~', "~0").replace('/', "~1");
    let place = format!("/paths/{}/{method}/responses/{status}/content/{}/schema", pointer(path), pointer(kind));
    let schema = document.pointer(&place).unwrap_or_else(|| panic!("no schema at {place}"));
    let schema = json!({"allOf": [schema], "components": document["components"]});
    if let Err(issues) = validate(&schema, value) {
        panic!("{method} {path}: {issues:?}\n{value}");
    }
}

#[tokio::test]
async fn what_the_service_answers_fits_its_description() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("pay", json!({"amount": 40})),
        text("You have your money."),
        tool_call("pay", json!({"amount": 40})),
        text("Paid."),
    ]);
    let env = environment(model, false).await?;
    let service = replica(&env);
    let (_, document) = get(&service, "/openapi.json").await?;
    let json = "application/json";
    let ok = ("200", json);
    check(&document, "/agents", "get", ok, &get(&service, "/agents").await?.1);
    let id = format!("described-{}", env.task_queue());
    let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": id, "labels": {"a": "b"}});
    check(&document, "/runs", "post", ("201", json), &post(&service, "/runs", &new).await?.1);
    let path = format!("/runs/{id}");
    until(&service, &path, |run| run["status"] == "waiting").await?;
    let (_, run) = get(&service, &path).await?;
    assert_eq!(run["questions"].as_array().map(Vec::len), Some(1));
    check(&document, "/runs/{id}", "get", ok, &run);
    until(&service, "/questions", |list| list["questions"][0]["run_id"] == id).await?;
    check(&document, "/questions", "get", ok, &get(&service, "/questions").await?.1);
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    let decided = post(&service, &format!("{path}/decisions"), &decision).await?.1;
    check(&document, "/runs/{id}/decisions", "post", ok, &decided);
    let events = stream(&service, request("GET", &format!("{path}/events"), None)).await?;
    let (events, end) = events.split_at(events.len() - 1);
    assert_eq!(end[0], json!({}));
    for event in events {
        check(&document, "/runs/{id}/events", "get", ("200", "text/event-stream"), event);
    }
    check(&document, "/runs/{id}", "get", ok, &get(&service, &path).await?.1);
    check(&document, "/runs/{id}/usage", "get", ok, &get(&service, &format!("{path}/usage")).await?.1);
    check(&document, "/runs", "get", ok, &get(&service, "/runs").await?.1);
    let asked = stream(&service, request("POST", "/agui/clerk", Some(&agui("r1", json!([]))))).await?;
    for event in &asked {
        check(&document, "/agui/{agent}", "post", ("200", "text/event-stream"), event);
    }
    let connected = stream(&service, request("GET", "/agui/clerk/t", None)).await?;
    for event in &connected {
        check(&document, "/agui/{agent}/{thread}", "get", ("200", "text/event-stream"), event);
    }
    let chunks = stream(&service, request("GET", "/chat/clerk/t/stream?v=7", None)).await?;
    for chunk in &chunks {
        check(&document, "/chat/{agent}/{chat}/stream", "get", ("200", "text/event-stream"), chunk);
    }
    let sent = post(&service, "/runs/clerk:t/messages", &json!({"text": "and again"})).await?.1;
    check(&document, "/runs/{id}/messages", "post", ("202", json), &sent);
    let unread = Request::post("/runs").header(header::HOST, "localhost").body(axum::body::Body::empty())?;
    let refused: Value = serde_json::from_str(&send(&service, unread).await?.1)?;
    for (path, value) in [("/runs", refused), ("/agents", get(&service, "/runs/nobody").await?.1)] {
        let method = if path == "/runs" { "post" } else { "get" };
        check(&document, path, method, ("default", json), &value);
    }
    assert_eq!(post(&service, "/runs/clerk:t/cancel", &json!({})).await?.0, StatusCode::ACCEPTED);
    env.finish().await?;
    Ok(())
}
