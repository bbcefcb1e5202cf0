//! Chats whose conversation is in a store: they continue after their workflow, or their task, has ended.

use axum::{Router, http::StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, ToolContext,
    client::AgentRuns,
    http::AgentsService,
    in_process::InProcessRuns,
    store::{Session, SqlStore},
    tool,
    wire::{Item, ModelFailureKind, RunMode},
    workflow::{AgentSet, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{failure, text, tool_call},
};

use crate::{
    databases::{Kind, TestDatabase},
    examples::Cache,
    http_service::{post, until},
};

/// Id of the session that the call belongs to.
#[tool(start_to_close = "20s")]
async fn session(ctx: &ToolContext) -> String {
    ctx.info().session_id().unwrap_or("none").to_owned()
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(session)
}

/// A service of one mode, and the store of its chats.
struct Office {
    env: Option<AgentEnvironment>,
    service: Router,
    store: SqlStore,
    _database: TestDatabase,
}

impl Office {
    async fn open(mode: RunMode, cache: Cache, model: &FakeModel, set: AgentSet) -> anyhow::Result<Self> {
        let database = Kind::Sqlite.create().await?;
        let store = SqlStore::connect(&database.url).await?;
        let (env, runs) = if mode == RunMode::InProcess {
            let resources = Resources::new().model_provider(model.clone()).session_store("threads", store.clone());
            let tasks = InProcessRuns::new(store.clone(), set.clone(), resources);
            (None, AgentRuns::in_process(&tasks))
        } else {
            let builder = AgentEnvironment::builder()
                .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set.clone()))?
                .agents((clerk,))
                .model_provider(model.clone())
                .session_store("threads", store.clone());
            let builder = if cache == Cache::Off { builder.without_workflow_cache() } else { builder };
            let env = builder.start().await?;
            let runs = AgentRuns::new(env.client(), env.task_queue());
            (Some(env), runs)
        };
        let service = AgentsService::with_runs(runs).agents(&set).into_router();
        Ok(Self { env, service, store, _database: database })
    }

    /// Sends a message to the thread `t` over AG-UI; returns the status and the last event.
    async fn say(&self, id: &str, words: &str) -> anyhow::Result<(StatusCode, Value)> {
        let message = json!({"id": "m", "role": "user", "content": words});
        let body = json!({"threadId": "t", "runId": id, "messages": [message], "tools": []});
        let (status, body) = crate::http_service::post_text(&self.service, "/agui/clerk", &body).await?;
        let last = body.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap_or(&body);
        Ok((status, serde_json::from_str(last)?))
    }

    /// Ends the chat of the thread `t`.
    async fn cancel(&self) -> anyhow::Result<()> {
        post(&self.service, "/runs/clerk:t/cancel", &json!({})).await?;
        until(&self.service, "/runs/clerk:t", |run| run["status"] == "cancelled").await
    }

    /// Returns the facts of the chat after a cursor, up to the end of its execution.
    async fn events(&self, from: &str) -> anyhow::Result<Vec<Value>> {
        let path = format!("/runs/clerk:t/events{from}");
        let body = crate::http_service::get_text(&self.service, &path).await?;
        let data = body.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        let is_fact = |event: &Value| event["kind"].as_str().is_some_and(|kind| !kind.ends_with("_delta"));
        Ok(data.filter(is_fact).collect())
    }

    /// Returns what the store has in a thread.
    async fn stored_texts(&self, thread: &str) -> anyhow::Result<Vec<String>> {
        let items = self.store.items(thread, None).await.map_err(|error| anyhow::anyhow!(error))?;
        Ok(said(&items))
    }

    /// Replays all histories.
    async fn close(self) -> anyhow::Result<()> {
        match self.env {
            Some(env) => Ok(env.finish().await?),
            None => Ok(()),
        }
    }
}

fn set() -> AgentSet {
    AgentSet::new((clerk,)).thread_store("threads").keep_chats()
}

fn said(items: &[Item]) -> Vec<String> {
    let said = |item: &Item| item.text().unwrap_or_else(|| item.kind().to_owned());
    items.iter().map(said).collect()
}

fn heard(model: &FakeModel) -> Vec<String> {
    said(&model.calls().pop().expect("the model was asked").input)
}

#[rstest]
#[case::as_a_task(RunMode::InProcess, Cache::On, false)]
#[case::as_a_workflow(RunMode::Temporal, Cache::On, false)]
#[case::without_cache(RunMode::Temporal, Cache::Off, false)]
#[case::continued_as_new(RunMode::Temporal, Cache::On, true)]
#[tokio::test]
async fn a_kept_chat_continues_after_its_end(
    #[case] mode: RunMode,
    #[case] cache: Cache,
    #[case] moves: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([text("Hello."), text("Again."), text("You said one.")]);
    let always = ContinueOptions::builder().new_events(0).build();
    let set = if moves { set().continue_when(always) } else { set() };
    let office = Office::open(mode, cache, &model, set).await?;
    for (id, words) in [("r1", "one"), ("r2", "two")] {
        let (status, last) = office.say(id, words).await?;
        assert_eq!((status, &last["type"]), (StatusCode::OK, &json!("RUN_FINISHED")), "{last}");
    }
    let conversation = ["one", "Hello.", "two", "Again."];
    assert_eq!(heard(&model), conversation[..3]);
    assert_eq!(office.stored_texts("clerk:t").await?, conversation);
    office.cancel().await?;
    // Sent again, an old message has its old answer.
    let (status, last) = office.say("r2", "two").await?;
    assert_eq!((status, &last["type"]), (StatusCode::OK, &json!("RUN_FINISHED")), "{last}");
    assert_eq!(model.calls().len(), 2);
    let (status, last) = office.say("r3", "What did I say first?").await?;
    assert_eq!((status, &last["type"]), (StatusCode::OK, &json!("RUN_FINISHED")), "{last}");
    assert_eq!(heard(&model), [&conversation[..], &["What did I say first?"]].concat());
    let all = [&conversation[..], &["What did I say first?", "You said one."]].concat();
    assert_eq!(office.stored_texts("clerk:t").await?, all);
    until(&office.service, "/runs/clerk:t", |run| run["is_idle"] == true && run["thread"] == "clerk:t").await?;
    office.close().await
}

#[rstest]
#[tokio::test]
async fn two_messages_restart_an_ended_chat_once(
    #[values(RunMode::InProcess, RunMode::Temporal)] mode: RunMode,
) -> anyhow::Result<()> {
    let model = FakeModel::function(|_, _| text("Heard."));
    let office = Office::open(mode, Cache::On, &model, set()).await?;
    office.say("r1", "one").await?;
    office.cancel().await?;
    let ended = office.events("").await?;
    let (first, second) = tokio::join!(office.say("r2", "two"), office.say("r3", "three"));
    for (status, last) in [first?, second?] {
        assert_eq!((status, &last["type"]), (StatusCode::OK, &json!("RUN_FINISHED")), "{last}");
    }
    assert_eq!(model.calls().len(), 3);
    assert_eq!(office.stored_texts("clerk:t").await?.len(), 6);
    // A reader of the ended execution still reads it to its end.
    let cursor = ended[0]["cursor"].as_str().expect("an event has a cursor");
    assert_eq!(office.events(&format!("?from={cursor}")).await?, ended[1..]);
    office.close().await
}

#[rstest]
#[tokio::test]
async fn a_failed_message_is_in_the_chat_and_its_thread(
    #[values(RunMode::InProcess, RunMode::Temporal)] mode: RunMode,
) -> anyhow::Result<()> {
    let broken = failure(ModelFailureKind::BadRequest, "the model is broken").retryable(false);
    let model = FakeModel::script([text("Hello."), broken, text("Again.")]);
    let office = Office::open(mode, Cache::On, &model, set()).await?;
    for (id, words, end) in [("r1", "one", "RUN_FINISHED"), ("r2", "two", "RUN_ERROR"), ("r3", "three", "RUN_FINISHED")]
    {
        assert_eq!(office.say(id, words).await?.1["type"], end);
    }
    assert_eq!(heard(&model), ["one", "Hello.", "two", "three"]);
    assert_eq!(office.stored_texts("clerk:t").await?, ["one", "Hello.", "two", "three", "Again."]);
    office.close().await
}

#[rstest]
#[tokio::test]
async fn messages_of_runs_begin_a_kept_chat_again(
    #[values(RunMode::InProcess, RunMode::Temporal)] mode: RunMode,
) -> anyhow::Result<()> {
    let model = FakeModel::script([text("Hello."), text("Again.")]);
    let set = AgentSet::new((clerk,)).thread_store("threads");
    let office = Office::open(mode, Cache::On, &model, set).await?;
    let new = json!({"agent": "clerk", "chat": true, "id": "clerk:t", "thread": "customer 7"});
    assert_eq!(post(&office.service, "/runs", &new).await?.0, StatusCode::CREATED);
    for (place, words) in ["one", "two"].into_iter().enumerate() {
        let (status, body) = post(&office.service, "/runs/clerk:t/messages", &json!({"text": words})).await?;
        assert_eq!(status, StatusCode::ACCEPTED, "{body}");
        let has_both = |run: &Value| run["is_idle"] == true && model.calls().len() > place;
        until(&office.service, "/runs/clerk:t", has_both).await?;
        office.cancel().await?;
    }
    assert_eq!(office.stored_texts("customer 7").await?, ["one", "Hello.", "two", "Again."]);
    office.close().await
}

#[rstest]
#[tokio::test]
async fn a_chat_without_a_thread_stays_ended(
    #[values(RunMode::InProcess, RunMode::Temporal)] mode: RunMode,
) -> anyhow::Result<()> {
    let model = FakeModel::script([text("Hello.")]);
    let office = Office::open(mode, Cache::On, &model, AgentSet::new((clerk,)).thread_store("threads")).await?;
    office.say("r1", "one").await?;
    office.cancel().await?;
    let (status, body) = office.say("r2", "two").await?;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    let (status, body) = post(&office.service, "/runs/clerk:t/messages", &json!({"text": "two"})).await?;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    assert_eq!(office.stored_texts("clerk:t").await?, Vec::<String>::new());
    office.close().await
}

#[rstest]
#[tokio::test]
async fn tools_of_a_chat_know_its_session(
    #[values(RunMode::InProcess, RunMode::Temporal)] mode: RunMode,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("session", json!({})), text("Known.")]);
    let office = Office::open(mode, Cache::On, &model, AgentSet::new((clerk,))).await?;
    office.say("r1", "Which session is this?").await?;
    let last = model.calls().pop().expect("the model was asked");
    let outputs: Vec<&Value> = last.input.iter().filter_map(|item| item.get("output")).collect();
    assert_eq!(outputs, [&json!("clerk:t")]);
    office.close().await
}
