//! `/agents` of the service: specs are listed, read, stored with a version each, and run.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode, header},
};
use http_body_util::BodyExt;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    agent::SpecParts,
    http::{AgentsService, BearerToken},
    store::{AgentStore, SqlStore},
    tool,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, MemoryAgentStore, fake_model::text};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::{PATIENCE, databases::Kind};

/// Pays money back.
#[tool(needs_approval)]
async fn pay(amount: u32) -> String {
    format!("paid {amount}")
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(pay)
}

fn set() -> AgentSet {
    AgentSet::new((clerk,)).specs(SpecParts::new().tool(pay))
}

async fn environment(
    model: FakeModel,
    store: &(impl AgentStore + Clone + 'static),
) -> anyhow::Result<AgentEnvironment> {
    Ok(AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set()))?
        .model_provider(model)
        .agents(&set())
        .agent_store(store.clone())
        .start()
        .await?)
}

/// A service whose callers may edit.
fn service(env: &AgentEnvironment, store: &(impl AgentStore + Clone + 'static)) -> Router {
    let token = BearerToken::new("secret", "ann").allow_edit_specs();
    let service = AgentsService::new(env.client(), env.task_queue()).agents(&set());
    service.agent_store(store.clone()).access(token).into_router()
}

/// An answer of the service.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

/// Sends a request with a token; `condition` is a header with its value.
async fn send(
    service: &Router,
    (method, path): (&str, &str),
    condition: Option<(&str, &str)>,
    body: Option<&Value>,
) -> anyhow::Result<Answer> {
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    request = request.header(header::AUTHORIZATION, "Bearer secret").header(header::CONTENT_TYPE, "application/json");
    if let Some((name, value)) = condition {
        request = request.header(name, value);
    }
    let request = request.body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())))?;
    let response = service.clone().oneshot(request).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = timeout(PATIENCE, response.into_body().collect()).await??.to_bytes();
    Ok(Answer { status, headers, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) })
}

async fn get(service: &Router, path: &str) -> anyhow::Result<Answer> {
    send(service, ("GET", path), None, None).await
}

/// Waits until the run has completed, and returns it.
async fn completed(service: &Router, id: &str) -> anyhow::Result<Value> {
    let path = format!("/runs/{id}");
    let looking = async {
        loop {
            let run = get(service, &path).await?.body;
            if run["status"] == "completed" {
                return anyhow::Ok(run);
            }
        }
    };
    timeout(PATIENCE, looking).await?
}

const NEW: Option<(&str, &str)> = Some(("if-none-match", "*"));

#[tokio::test]
async fn specs_are_stored_with_a_version_each_listed_and_read() -> anyhow::Result<()> {
    let store = MemoryAgentStore::new();
    let env = environment(FakeModel::script([]), &store).await?;
    let service = service(&env, &store);
    let first = json!({"model": "gpt-5", "tools": ["pay"]});
    for status in [StatusCode::CREATED, StatusCode::OK] {
        // Sent again, it is the same version.
        let answer = send(&service, ("PUT", "/agents/desk"), NEW, Some(&first)).await?;
        assert_eq!(
            (answer.status, &answer.body["version"], &answer.body["author"]),
            (status, &json!(1), &json!("ann"))
        );
        assert_eq!(answer.headers[header::ETAG], "\"1\"");
    }
    let second = json!({"version": "1.2", "name": "desk", "instructions": "Be brief.", "handoffs": ["desk"]});
    let answer = send(&service, ("PUT", "/agents/desk"), Some(("if-match", "\"1\"")), Some(&second)).await?;
    assert_eq!((answer.status, &answer.body["version"]), (StatusCode::CREATED, &json!(2)), "{}", answer.body);
    let newest = get(&service, "/agents/desk").await?;
    assert_eq!((&newest.body["spec"], &newest.headers[header::ETAG]), (&second, &"\"2\"".parse()?));
    // The first version is what it was, with its name.
    let before = get(&service, "/agents/desk?version=1").await?.body;
    assert_eq!(before["spec"], json!({"version": "1.2", "name": "desk", "model": "gpt-5", "tools": ["pay"]}));
    let versions = get(&service, "/agents/desk/versions").await?.body;
    let numbers: Vec<&Value> =
        versions["versions"].as_array().into_iter().flatten().map(|version| &version["version"]).collect();
    assert_eq!(numbers, [&json!(2), &json!(1)]);
    assert!(versions["versions"][0]["created_at"].as_str().is_some_and(|time| time.ends_with('Z')));
    let answer = send(&service, ("PUT", "/agents/a%20b"), NEW, Some(&json!({}))).await?;
    assert_eq!((answer.status, &answer.body["name"]), (StatusCode::CREATED, &json!("a b")));
    let listed = get(&service, "/agents?limit=1").await?.body;
    assert_eq!((&listed["agents"], &listed["next"]), (&json!([{"name": "clerk"}]), &json!("a b")));
    let rest = get(&service, "/agents?after=a%20b").await?.body;
    assert_eq!((&rest["specs"][0]["name"], &rest["specs"][0]["version"]), (&json!("desk"), &json!(2)));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn of_two_editors_one_is_refused_and_told_the_newest_version() -> anyhow::Result<()> {
    let store = MemoryAgentStore::new();
    let env = environment(FakeModel::script([]), &store).await?;
    let service = service(&env, &store);
    send(&service, ("PUT", "/agents/desk"), NEW, Some(&json!({}))).await?;
    let edits: Vec<Value> = (0..8).map(|number| json!({"instructions": format!("edit {number}")})).collect();
    let sent =
        edits.iter().map(|edit| send(&service, ("PUT", "/agents/desk"), Some(("if-match", "\"1\"")), Some(edit)));
    let answers = futures::future::try_join_all(sent).await?;
    let stored = answers.iter().filter(|answer| answer.status == StatusCode::CREATED).count();
    let refused: Vec<&Answer> =
        answers.iter().filter(|answer| answer.status == StatusCode::PRECONDITION_FAILED).collect();
    assert_eq!((stored, refused.len()), (1, 7));
    let message = "the newest version of agent \"desk\" is 2; read it, and send your change with its ETag";
    assert_eq!(refused[0].body["error"], json!({"code": "version_conflict", "message": message}));
    for (condition, status) in [
        (None, StatusCode::PRECONDITION_REQUIRED),
        (NEW, StatusCode::PRECONDITION_FAILED),
        (Some(("if-match", "*")), StatusCode::BAD_REQUEST),
        (Some(("if-match", "2")), StatusCode::BAD_REQUEST),
        (Some(("if-match", "\"0\"")), StatusCode::BAD_REQUEST),
        (Some(("if-match", "\"9\"")), StatusCode::PRECONDITION_FAILED),
    ] {
        let answer = send(&service, ("PUT", "/agents/desk"), condition, Some(&json!({"model": "gpt-5"}))).await?;
        assert_eq!(answer.status, status, "{condition:?} {}", answer.body);
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_spec_that_cannot_run_is_not_stored_and_all_problems_are_named() -> anyhow::Result<()> {
    let store = MemoryAgentStore::new();
    let env = environment(FakeModel::script([]), &store).await?;
    let service = service(&env, &store);
    let wrong = json!({
        "tools": ["pya", {"name": "pay", "needs_approval": false}], "hosted_tools": ["web_search"],
        "handoffs": ["nobody"], "settings": {"extra_headers": {"a": {"$worker_env": "KEY"}}},
    });
    let answer = send(&service, ("PUT", "/agents/desk"), NEW, Some(&wrong)).await?;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    let issues = answer.body["error"]["issues"].as_array().cloned().unwrap_or_default();
    let expected = [
        "hands off to \"nobody\", of which there is no spec",
        "has the setting \"extra_headers\"",
        "refers to the environment variable \"KEY\"",
        "has the unknown tool \"pya\"; did you mean \"pay\"?",
        "sets needs_approval to false for tool \"pay\"",
        "has the hosted tool \"web_search\", which the operator has not opened; SpecParts::hosted_tool opens one",
    ];
    assert_eq!(issues.len(), expected.len(), "{issues:#?}");
    for (issue, expected) in issues.iter().zip(expected) {
        let start = format!("agent \"desk\" {expected}");
        assert!(issue.as_str().is_some_and(|issue| issue.starts_with(&start)), "{issue} {start}");
    }
    for (path, body, code) in [
        ("/agents/clerk", json!({}), "invalid_spec"),
        ("/agents/desk", json!({"modle": "gpt-5"}), "invalid_spec"),
        ("/agents/desk", json!({"version": "9.0"}), "invalid_spec"),
        ("/agents/desk", json!([]), "invalid_spec"),
        ("/agents/%2E%2E%2Fetc", json!({}), "invalid_spec"),
        ("/agents/desk", json!({"instructions": "x".repeat(200_000)}), "invalid_spec"),
    ] {
        let answer = send(&service, ("PUT", path), NEW, Some(&body)).await?;
        assert_eq!(answer.body["error"]["code"], code, "{path} {}", answer.body);
    }
    assert_eq!(get(&service, "/agents").await?.body["specs"], json!([]));
    store.fail_next(1);
    let answer = send(&service, ("PUT", "/agents/desk"), NEW, Some(&json!({}))).await?;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn nobody_edits_or_reads_specs_unless_the_policy_permits_it() -> anyhow::Result<()> {
    let store = MemoryAgentStore::new();
    store.add("desk", json!({"instructions": "secret"}));
    let env = environment(FakeModel::script([]), &store).await?;
    let of = |service: AgentsService| service.agents(&set()).agent_store(store.clone());
    let local = of(AgentsService::new(env.client(), env.task_queue())).into_router();
    let token = BearerToken::new("secret", "ann");
    let guarded = of(AgentsService::new(env.client(), env.task_queue())).access(token).into_router();
    for service in [local, guarded] {
        for path in ["/agents/desk", "/agents/desk/versions", "/agents/nobody"] {
            assert_eq!(get(&service, path).await?.status, StatusCode::FORBIDDEN, "{path}");
        }
        let answer = send(&service, ("PUT", "/agents/desk"), Some(("if-match", "\"1\"")), Some(&json!({}))).await?;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        let message = "the caller may not edit this agent; AccessPolicy::may_edit_spec decides that";
        assert_eq!(answer.body["error"]["message"], message);
        // Who may start it sees its name.
        let listed = get(&service, "/agents").await?.body;
        assert_eq!(listed["specs"][0]["name"], "desk");
        assert!(!listed.to_string().contains("secret"));
    }
    let token = BearerToken::new("secret", "ann").allow_edit_specs();
    let without = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).access(token).into_router();
    assert_eq!(get(&without, "/agents/desk").await?.body["error"]["code"], "no_agent_store");
    assert_eq!(get(&without, "/agents").await?.body, json!({"agents": [{"name": "clerk"}]}));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_of_a_spec_has_the_version_that_was_the_newest_when_it_was_started() -> anyhow::Result<()> {
    let store = MemoryAgentStore::new();
    store.add("desk", json!({"model": "gpt-5", "instructions": "First."}));
    let model = FakeModel::script([text("Hello."), text("Hello.")]);
    let env = environment(model.clone(), &store).await?;
    let service = service(&env, &store);
    for (number, spec) in [(1, json!({"name": "desk"})), (2, json!({"name": "desk", "version": 1}))] {
        let id = format!("{}-{number}", env.task_queue());
        let new = json!({"spec": spec, "input": "Hello.", "id": id});
        let answer = send(&service, ("POST", "/runs"), None, Some(&new)).await?;
        assert_eq!((answer.status, &answer.body["id"]), (StatusCode::CREATED, &json!(id)));
        let run = completed(&service, &id).await?;
        assert_eq!((&run["agent"], &run["output"]), (&json!("desk"), &json!("Hello.")));
        store.add("desk", json!({"model": "gpt-5", "instructions": "Second."}));
    }
    assert!(model.calls().iter().all(|call| call.definitions.instructions.as_deref() == Some("First.")));
    for (spec, status) in [
        (json!({"spec": {"name": "nobody"}, "input": "Hello."}), StatusCode::NOT_FOUND),
        (json!({"spec": {"name": "desk", "version": 9}, "input": "Hello."}), StatusCode::NOT_FOUND),
        (json!({"spec": {"name": "desk"}, "agent": "clerk", "input": "Hello."}), StatusCode::BAD_REQUEST),
        (json!({"input": "Hello."}), StatusCode::BAD_REQUEST),
    ] {
        let answer = send(&service, ("POST", "/runs"), None, Some(&spec)).await?;
        assert_eq!(answer.status, status, "{spec} {}", answer.body);
    }
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn specs_are_stored_in_a_database_and_run_from_it(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) -> anyhow::Result<()> {
    let database = kind.create().await?;
    let store = SqlStore::connect(&database.url).await?;
    let model = FakeModel::script([text("Hello.")]);
    let env = environment(model.clone(), &store).await?;
    let service = service(&env, &store);
    for (instructions, condition) in [("First.", NEW), ("Second.", Some(("if-match", "\"1\"")))] {
        let spec = json!({"model": "gpt-5", "instructions": instructions, "tools": ["pay"]});
        let answer = send(&service, ("PUT", "/agents/desk"), condition, Some(&spec)).await?;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.body);
    }
    let listed = get(&service, "/agents").await?.body;
    assert_eq!((&listed["specs"][0]["name"], &listed["specs"][0]["version"]), (&json!("desk"), &json!(2)));
    let id = format!("{}-1", env.task_queue());
    let new = json!({"spec": {"name": "desk", "version": 1}, "input": "Hello.", "id": id});
    assert_eq!(send(&service, ("POST", "/runs"), None, Some(&new)).await?.status, StatusCode::CREATED);
    assert_eq!(completed(&service, &id).await?["output"], "Hello.");
    assert_eq!(model.calls()[0].definitions.instructions.as_deref(), Some("First."));
    env.finish().await?;
    Ok(())
}
