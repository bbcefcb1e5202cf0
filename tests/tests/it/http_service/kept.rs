//! Decisions that hold for later runs: each caller lists and forgets the own ones.

use axum::{
    Router,
    http::{StatusCode, header},
};
use serde_json::{Value, json};
use temporal_agents::{
    RunConfig,
    http::{AccessPolicy, AgentsService, BearerToken, Caller},
    store::SqlStore,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use tokio::time::timeout;

use super::{agui, clerk, get, openapi::check, replica, request, send};
use crate::{PATIENCE, databases::Kind};

/// Callers whose tokens are their names.
struct Named;

impl AccessPolicy for Named {
    fn authenticate(&self, authorization: Option<&str>) -> Option<Caller> {
        ["ann", "bob"].iter().find_map(|name| BearerToken::new(name, *name).authenticate(authorization))
    }
}

async fn environment(model: FakeModel, store: SqlStore) -> anyhow::Result<AgentEnvironment> {
    let set = || AgentSet::new((clerk,)).config(RunConfig::builder().keep_decisions(true).build());
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set()))?;
    Ok(builder.agent(clerk).resources(|all| all.decision_store(store)).model(&model).start().await?)
}

async fn ask(service: &Router, who: &str, method: &str, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
    let mut asked = request(method, path, body);
    asked.headers_mut().insert(header::AUTHORIZATION, format!("Bearer {who}").parse()?);
    let (status, body) = send(service, asked).await?;
    assert!(status.is_success(), "{method} {path}: {body}");
    Ok(serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

/// Starts a run, and returns it as soon as it has this status.
async fn started(service: &Router, who: &str, id: &str, status: &str) -> anyhow::Result<Value> {
    let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": id});
    ask(service, who, "POST", "/runs", Some(&new)).await?;
    reached(service, who, id, status).await
}

async fn reached(service: &Router, who: &str, id: &str, status: &str) -> anyhow::Result<Value> {
    let looking = async {
        loop {
            let run = ask(service, who, "GET", &format!("/runs/{id}"), None).await?;
            if run["status"] == status {
                return anyhow::Ok(run);
            }
        }
    };
    timeout(PATIENCE, looking).await?
}

#[tokio::test]
async fn a_caller_lists_and_forgets_only_the_own_decisions() -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let store = SqlStore::connect(&database.url).await?;
    let call = || tool_call("pay", json!({"amount": 40}));
    let model = FakeModel::script([
        call(),
        text("Paid."),
        call(),
        text("Paid again."),
        call(),
        text("Refused."),
        text("Good day."),
    ]);
    let env = environment(model, store.clone()).await?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).access(Named);
    let service = service.decision_store(store).into_router();
    let id = |n: u32| format!("kept-{n}-{}", env.task_queue());

    let first = started(&service, "ann", &id(1), "waiting").await?;
    let question = &first["questions"][0]["question_id"];
    let always = json!({"question_id": question, "approved": true, "always": true});
    ask(&service, "ann", "POST", &format!("/runs/{}/decisions", id(1)), Some(&always)).await?;
    reached(&service, "ann", &id(1), "completed").await?;
    let kept = ask(&service, "ann", "GET", "/kept-decisions", None).await?;
    let (_, document) = get(&replica(&env), "/openapi.json").await?;
    check(&document, "/kept-decisions", "get", ("200", "application/json"), &kept);
    let row = &kept["decisions"][0];
    let mut shown = row.clone();
    for member in ["id", "kept_at"] {
        assert!(shown.as_object_mut().and_then(|row| row.remove(member)).is_some_and(|value| value.is_string()));
    }
    let expected = json!({
        "agent": "clerk", "tool": "pay", "arguments": r#"{"amount":40}"#, "same_arguments": false, "approved": true,
        "by": "ann",
    });
    assert_eq!(shown, expected);
    assert_eq!(started(&service, "ann", &id(2), "completed").await?["output"], "Paid again.");

    // Another caller neither sees nor forgets it.
    let path = format!("/kept-decisions/{}", row["id"].as_str().expect("an id"));
    assert_eq!(ask(&service, "bob", "GET", "/kept-decisions", None).await?, json!({"decisions": []}));
    let forgotten = ask(&service, "bob", "DELETE", &path, None).await?;
    check(&document, "/kept-decisions/{id}", "delete", ("200", "application/json"), &forgotten);
    assert_eq!(forgotten, json!({"forgotten": false}));
    assert_eq!(ask(&service, "ann", "GET", "/kept-decisions", None).await?, kept);

    // The same request, sent twice.
    assert_eq!(ask(&service, "ann", "DELETE", &path, None).await?, json!({"forgotten": true}));
    assert_eq!(ask(&service, "ann", "DELETE", &path, None).await?, json!({"forgotten": false}));
    assert_eq!(ask(&service, "ann", "GET", "/kept-decisions", None).await?, json!({"decisions": []}));
    let third = started(&service, "ann", &id(3), "waiting").await?;
    let rejected = json!({"question_id": third["questions"][0]["question_id"], "approved": false});
    ask(&service, "ann", "POST", &format!("/runs/{}/decisions", id(3)), Some(&rejected)).await?;
    reached(&service, "ann", &id(3), "completed").await?;

    // A chat of a frontend has the user too: it would fail without one.
    let events = ask(&service, "ann", "POST", "/agui/clerk", Some(&agui("r1", json!([])))).await?;
    assert!(events.as_str().is_some_and(|events| events.contains("Good day.")), "{events}");

    // Without a token, without a name, and without a store.
    assert_eq!(send(&service, request("DELETE", &path, None)).await?.0, StatusCode::UNAUTHORIZED);
    let nameless = AgentsService::new(env.client(), env.task_queue());
    let nameless = nameless.decision_store(SqlStore::connect(&database.url).await?).into_router();
    assert_eq!(get(&nameless, "/kept-decisions").await?, (StatusCode::OK, json!({"decisions": []})));
    let (status, refused) = get(&replica(&env), "/kept-decisions").await?;
    assert_eq!((status, &refused["error"]["code"]), (StatusCode::NOT_FOUND, &json!("no_decision_store")));
    env.finish().await?;
    Ok(())
}
