//! Threads of runs over HTTP: their conversation is in PostgreSQL, loaded when a run starts, and each new item is saved once,
//! also by runs that fail or are cancelled.

use axum::{Router, http::StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    client::{AgentRuns, NewRun},
    http::{AccessPolicy, AgentsService, Caller},
    provider::ModelProvider,
    store::{Session, SqlStore},
    tool,
    wire::{AgentRequest, Item, ModelFailureKind},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, FinishedRun,
    environment::AgentEnvironmentBuilder,
    fake_model::{failure, text, tool_call},
};
use temporalio_client::WorkflowHandle;

use crate::{
    databases::{Kind, TestDatabase},
    examples::Cache,
    held_model::HeldModel,
    http_service::{get, post},
};

/// Number of the parcel's shelf.
#[tool(start_to_close = "20s")]
async fn shelf_of(parcel: u32) -> u32 {
    parcel + 100
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(shelf_of)
}

/// A worker whose threads are in a database, the service in front of it, and the store.
struct Office {
    env: AgentEnvironment,
    service: Router,
    store: SqlStore,
    _database: TestDatabase,
}

impl Office {
    async fn open(cache: Cache, model: impl ModelProvider + 'static, set: AgentSet) -> anyhow::Result<Self> {
        let database = Kind::Postgres.create().await?;
        let store = SqlStore::connect(&database.url).await?;
        let builder = builder(cache, set)?.model_provider(model).session_store("threads", store.clone());
        let env = builder.start().await?;
        let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).into_router();
        Ok(Self { env, service, store, _database: database })
    }

    /// Starts a run in the thread; returns its id.
    async fn starts(&self, input: &str) -> anyhow::Result<String> {
        let new = json!({"agent": "clerk", "input": input, "thread": "customer 7"});
        let (status, started) = post(&self.service, "/runs", &new).await?;
        assert_eq!(status, StatusCode::CREATED, "{started}");
        Ok(started["id"].as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the run has ended, and replays it.
    async fn ends(&self, id: &str) -> anyhow::Result<FinishedRun<Value>> {
        let handle: WorkflowHandle<_, AgentWorkflow> = self.env.client().get_workflow_handle(id);
        Ok(self.env.await_run(&handle).await?)
    }

    /// Text, output or kind of each item of the thread.
    async fn stored_texts(&self) -> anyhow::Result<Vec<String>> {
        let items = self.store.items("customer 7", None).await.map_err(|error| anyhow::anyhow!(error))?;
        Ok(items.iter().map(content).collect())
    }
}

fn builder(cache: Cache, set: AgentSet) -> anyhow::Result<AgentEnvironmentBuilder> {
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agents((clerk,));
    Ok(if cache == Cache::Off { builder.without_workflow_cache() } else { builder })
}

fn set() -> AgentSet {
    AgentSet::new((clerk,)).thread_store("threads")
}

fn content(item: &Item) -> String {
    match (item.text(), item.get("output")) {
        (Some(text), _) => text,
        (None, Some(output)) => output.as_str().unwrap_or_default().to_owned(),
        (None, None) => item.kind().to_owned(),
    }
}

fn reads_and_writes(run: &FinishedRun<Value>) -> usize {
    run.activities().iter().filter(|activity| activity.activity_type == "agents.session.threads").count()
}

#[rstest]
#[case::in_one_execution(false)]
#[case::continued_as_new_before_each_turn(true)]
#[tokio::test]
async fn a_run_continues_the_conversation_of_its_thread(
    #[case] moves: bool,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let answers = [tool_call("shelf_of", json!({"parcel": 7})), text("On shelf 107."), text("I said 107.")];
    let model = FakeModel::script(answers);
    let always = ContinueOptions::builder().new_events(0).build();
    let set = if moves { set().continue_when(always) } else { set() };
    let office = Office::open(cache, model.clone(), set).await?;
    let first = office.starts("Where is parcel 7?").await?;
    let ended = office.ends(&first).await?;
    if !moves {
        assert_eq!(reads_and_writes(&ended), 4, "a read, the input, and two turns");
    }
    assert_eq!(ended.output()?, "On shelf 107.");
    let second = office.starts("Where?").await?;
    assert_eq!(office.ends(&second).await?.output()?, "I said 107.");
    let heard: Vec<String> = model.calls().pop().expect("it was asked").input.iter().map(content).collect();
    let said = ["Where is parcel 7?", "function_call", "107", "On shelf 107.", "Where?", "I said 107."];
    assert_eq!(heard, said[..5]);
    assert_eq!(office.stored_texts().await?, said);
    let (_, row) = get(&office.service, &format!("/runs/{first}")).await?;
    assert_eq!((&row["thread"], &row["status"]), (&json!("customer 7"), &json!("completed")));
    office.env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_fails_leaves_in_its_thread_what_it_did(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let broken = failure(ModelFailureKind::BadRequest, "the model is broken").retryable(false);
    let model = FakeModel::script([tool_call("shelf_of", json!({"parcel": 7})), broken, text("On shelf 107.")]);
    let office = Office::open(cache, model, set()).await?;
    let failed = office.starts("Where is parcel 7?").await?;
    office.ends(&failed).await?.output().expect_err("the model is broken");
    let (_, row) = get(&office.service, &format!("/runs/{failed}")).await?;
    assert_eq!(row["status"], "failed", "{row}");
    assert_eq!(office.stored_texts().await?, ["Where is parcel 7?", "function_call", "107"]);
    let next = office.starts("And now?").await?;
    assert_eq!(office.ends(&next).await?.output()?, "On shelf 107.");
    let said = ["Where is parcel 7?", "function_call", "107", "And now?", "On shelf 107."];
    assert_eq!(office.stored_texts().await?, said);
    office.env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_is_cancelled_leaves_in_its_thread_what_it_did(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let script = FakeModel::script([tool_call("shelf_of", json!({"parcel": 7}))]);
    let model = HeldModel::new(&script);
    let office = Office::open(cache, model.clone(), set()).await?;
    let id = office.starts("Where is parcel 7?").await?;
    model.asked().await?;
    model.answer();
    model.asked().await?;
    let (status, _) = post(&office.service, &format!("/runs/{id}/cancel"), &json!({})).await?;
    assert_eq!(status, StatusCode::ACCEPTED);
    office.ends(&id).await?.output().expect_err("it was cancelled");
    let (_, row) = get(&office.service, &format!("/runs/{id}")).await?;
    assert_eq!(row["status"], "cancelled", "{row}");
    assert_eq!(office.stored_texts().await?, ["Where is parcel 7?", "function_call", "107"]);
    office.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_rust_client_starts_a_run_in_a_thread_once() -> anyhow::Result<()> {
    let office = Office::open(Cache::On, FakeModel::script([text("Hello.")]), set()).await?;
    let runs = AgentRuns::new(office.env.client(), office.env.task_queue());
    for _ in 0..2 {
        let request = AgentRequest::new("clerk", "Hello?").in_thread("customer 7");
        let id = runs.start_run(NewRun::new(request).id("greeting")).await?;
        assert_eq!(office.ends(&id).await?.output()?, "Hello.");
    }
    assert_eq!(office.stored_texts().await?, ["Hello?", "Hello."]);
    office.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_thread_limit_leaves_out_older_items_for_the_model_and_keeps_them() -> anyhow::Result<()> {
    let model = FakeModel::script([text("one"), text("two")]);
    let office = Office::open(Cache::On, model.clone(), set().thread_limit(1)).await?;
    for input in ["first", "second"] {
        let id = office.starts(input).await?;
        office.ends(&id).await?.output()?;
    }
    let heard: Vec<String> = model.calls().pop().expect("it was asked").input.iter().map(content).collect();
    assert_eq!(heard, ["one", "second"]);
    assert_eq!(office.stored_texts().await?, ["first", "one", "second", "two"]);
    office.env.finish().await?;
    Ok(())
}

#[rstest]
#[case::without_a_store(AgentSet::new((clerk,)), "customer 7", "AgentSet::thread_store")]
#[case::without_a_name(set(), "", "\"thread\" is empty")]
#[tokio::test]
async fn a_thread_that_cannot_be_used_fails_the_run(
    #[case] set: AgentSet,
    #[case] thread: &str,
    #[case] expected: &str,
) -> anyhow::Result<()> {
    let env = builder(Cache::On, set)?.without_models().start().await?;
    let request = AgentRequest::new("clerk", "Hello?").in_thread(thread);
    let id = AgentRuns::new(env.client(), env.task_queue()).start_run(NewRun::new(request)).await?;
    let handle: WorkflowHandle<_, AgentWorkflow> = env.client().get_workflow_handle(&*id);
    let chain = format!("{:?}", env.await_run(&handle).await?.failure_chain());
    assert!(chain.contains(expected) || chain.contains(&expected.replace('"', "\\\"")), "{chain}");
    env.finish().await?;
    Ok(())
}

/// Lets everybody do everything with what is named after nobody.
struct Private;

impl AccessPolicy for Private {
    fn authenticate(&self, _authorization: Option<&str>) -> Option<Caller> {
        Some(Caller::default())
    }

    fn may_see(&self, _caller: &Caller, id: &str) -> bool {
        !id.starts_with("customer")
    }
}

#[tokio::test]
async fn a_caller_uses_only_threads_that_the_policy_permits() -> anyhow::Result<()> {
    let env = builder(Cache::On, set())?.without_models().start().await?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).access(Private).into_router();
    let new = |thread: &str| json!({"agent": "clerk", "input": "Hello?", "thread": thread});
    assert_eq!(post(&service, "/runs", &new("customer 7")).await?.0, StatusCode::FORBIDDEN);
    assert_eq!(post(&service, "/runs", &new("#")).await?.0, StatusCode::BAD_REQUEST);
    let chat = json!({"agent": "clerk", "chat": true, "thread": "customer 7"});
    assert_eq!(post(&service, "/runs", &chat).await?.0, StatusCode::FORBIDDEN);
    env.finish().await?;
    Ok(())
}
