//! Starts whose client leaves, whose process dies, or whose commit has no answer; and too many of
//! them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{in_process::InProcessRuns, store::SqlStore};
use temporal_agents_testing::{
    FakeModel, PostgresServer,
    fake_model::{text, tool_call},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    task::yield_now,
    time::timeout,
};
use tower::ServiceExt;

use super::support::{Database, Kind, events, get, kinds, post, request, service, set, stream, until};
use crate::PATIENCE;

fn new_run(id: &str) -> Value {
    json!({"agent": "clerk", "input": "Hi.", "id": id})
}

/// Clients leave after each of the first polls of their requests.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_clients_that_leave_are_run(#[values(Kind::Sqlite, Kind::Postgres)] kind: Kind) -> anyhow::Result<()> {
    let database = Database::start(kind).await?;
    let model = FakeModel::function(|_, _| text("Hello."));
    let store = SqlStore::connect(&database.url).await?;
    // A process that does not renew its lease in time loses its runs, as a dead one does: not so while others are busy.
    let service = service(&InProcessRuns::new(store, set(), model.clone()).lease(Duration::from_secs(30)));
    for polls in 1..=60 {
        let mut starting = service.clone().oneshot(request("POST", "/runs", Some(&new_run(&format!("run-{polls}")))));
        for _ in 0..polls {
            if (&mut starting).now_or_never().is_some() {
                break;
            }
            yield_now().await;
        }
    }
    // A client that repeats its request gets its run, whatever has become of the first one.
    for polls in 1..=60 {
        let id = format!("run-{polls}");
        assert_eq!(post(&service, "/runs", &new_run(&id)).await?.0, 201);
        assert_eq!(until(&service, &id, "completed").await?["output"], "Hello.");
    }
    assert_eq!(model.calls().len(), 60);
    Ok(())
}

#[tokio::test]
async fn a_run_that_had_not_begun_begins_in_another_process() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let killed = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let model = FakeModel::script([text("Never.").delayed(Duration::from_mins(10))]);
    let tasks = database.tasks(&model).await?.max_at_work(1);
    killed
        .spawn(async move {
            let owner = service(&tasks);
            post(&owner, "/runs", &new_run("first")).await?;
            until(&owner, "first", "running").await?;
            post(&owner, "/runs", &new_run("second")).await?;
            until(&owner, "second", "queued").await
        })
        .await??;
    killed.shutdown_background();
    let other = database.replica(&FakeModel::script([text("Hello.")])).await?;
    assert_eq!(until(&other, "second", "completed").await?["output"], "Hello.");
    until(&other, "first", "failed").await?;
    let facts = events(&other, "second", "?deltas=false").await?;
    assert_eq!(kinds(&facts).iter().filter(|kind| **kind == "run_started").count(), 1, "{facts:#?}");
    Ok(())
}

#[tokio::test]
async fn starts_beyond_the_limits_are_refused_and_the_others_run() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = FakeModel::function(|_, _| tool_call("pay", json!({"amount": 1})));
    let store = SqlStore::connect(&database.url).await?;
    let tasks = InProcessRuns::new(store, set(), model).max_at_work(1).max_queued(1);
    let service = service(&tasks);
    // A run that waits for people leaves its place to the next one.
    for id in ["first", "second"] {
        assert_eq!(post(&service, "/runs", &new_run(id)).await?.0, 201);
        until(&service, id, "waiting").await?;
    }
    let slow = FakeModel::function(|_, _| text("Late.").delayed(Duration::from_mins(10)));
    let tasks = InProcessRuns::new(SqlStore::connect(&database.url).await?, set(), slow).max_at_work(1).max_queued(1);
    let service = super::support::service(&tasks);
    post(&service, "/runs", &new_run("third")).await?;
    until(&service, "third", "running").await?;
    assert_eq!(post(&service, "/runs", &new_run("fourth")).await?.0, 201);
    let refused = service.clone().oneshot(request("POST", "/runs", Some(&new_run("fifth")))).await?;
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (503, &"5".parse()?));
    let (status, body) = post(&service, "/runs", &new_run("fifth")).await?;
    assert_eq!((status.as_u16(), &body["error"]["code"]), (503, &json!("overloaded")));
    assert_eq!(get(&service, "/runs/fifth").await?.0, 404);
    // One that is queued can be cancelled, and leaves its place in the queue.
    assert_eq!(post(&service, "/runs/fourth/cancel", &json!({})).await?.0, 202);
    until(&service, "fourth", "cancelled").await?;
    assert_eq!(post(&service, "/runs", &new_run("fifth")).await?.0, 201);
    Ok(())
}

/// A chat leaves its process after each answer, and the next message claims it at once. Nothing else
/// would wake it within the lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_follow_an_answer_are_answered() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = FakeModel::function(|_, _| text("Yes."));
    let store = SqlStore::connect(&database.url).await?;
    let tasks = InProcessRuns::new(store, set(), model.clone()).lease(Duration::from_hours(1));
    let service = service(&tasks);
    for number in 0..60 {
        let message = json!({
            "threadId": "t", "runId": format!("r{number}"),
            "messages": [{"id": format!("m{number}"), "role": "user", "content": "Still there?"}],
        });
        let answer = timeout(PATIENCE, stream(&service, "POST", "/agui/clerk", Some(&message))).await??;
        assert_eq!(answer.last().expect("a last event")["type"], "RUN_FINISHED", "{answer:#?}");
    }
    assert_eq!(model.calls().len(), 60);
    Ok(())
}

/// Runs that wait have no process, and many requests at once find them so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_decided_by_many_at_once_continues_once() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let tasks = database.tasks(&FakeModel::function(|_, _| tool_call("pay", json!({"amount": 1})))).await?;
    let first = service(&tasks);
    let ids: Vec<String> = (0..10).map(|number| format!("run-{number}")).collect();
    let mut questions = Vec::new();
    for id in &ids {
        post(&first, "/runs", &new_run(id)).await?;
        questions.push(until(&first, id, "waiting").await?["questions"][0]["question_id"].clone());
    }
    tasks.shutdown(Duration::from_secs(5)).await;
    let model = FakeModel::function(|_, _| text("Paid."));
    let store = SqlStore::connect(&database.url).await?;
    let other = service(&InProcessRuns::new(store, set(), model.clone()).lease(Duration::from_hours(1)));
    for (id, question) in ids.iter().zip(&questions) {
        let decision = json!({"question_id": question, "approved": true});
        let path = format!("/runs/{id}/decisions");
        let decided = futures::future::join_all((0..8).map(|_| post(&other, &path, &decision))).await;
        for answer in decided {
            assert_eq!(answer?.0, 200);
        }
        until(&other, id, "completed").await?;
        let facts = events(&other, id, "?deltas=false").await?;
        for once in ["run_resumed", "tool_output", "run_finished"] {
            assert_eq!(kinds(&facts).iter().filter(|kind| **kind == once).count(), 1, "{id} {once}: {facts:#?}");
        }
    }
    assert_eq!(model.calls().len(), ids.len());
    Ok(())
}

/// A proxy that closes a connection after the database has committed and before its answer.
struct Proxy {
    url: String,
    /// Number of commits until the answer to one is lost; 0 for never.
    cut: Arc<AtomicUsize>,
}

impl Proxy {
    async fn start(server: &PostgresServer) -> anyhow::Result<Self> {
        let url = server.url("postgres");
        let address = url.rsplit('@').next().unwrap_or(&url).split('/').next().unwrap_or_default().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = url.replace(&address, &listener.local_addr()?.to_string());
        let cut = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&cut);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass_on(client, address.clone(), Arc::clone(&counter)));
            }
        });
        Ok(Self { url, cut })
    }
}

async fn pass_on(mut client: TcpStream, address: String, cut: Arc<AtomicUsize>) -> anyhow::Result<()> {
    let mut server = TcpStream::connect(address).await?;
    let (mut sent, mut answered) = (vec![0; 65_536], vec![0; 65_536]);
    let mut is_lost = false;
    loop {
        tokio::select! {
            read = client.read(&mut sent) => match read? {
                0 => return Ok(()),
                length => {
                    let part = &sent[..length];
                    if part.windows(6).any(|text| text == b"COMMIT") {
                        let before = cut.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
                        is_lost = before == Ok(1);
                    }
                    server.write_all(part).await?;
                }
            },
            read = server.read(&mut answered) => match read? {
                // The database has answered, which means that it has committed.
                0 => return Ok(()),
                _ if is_lost => return Ok(()),
                length => client.write_all(&answered[..length]).await?,
            },
        }
    }
}

#[tokio::test]
async fn a_commit_without_an_answer_loses_no_run() -> anyhow::Result<()> {
    let server = PostgresServer::start().await?;
    let proxy = Proxy::start(&server).await?;
    let model = FakeModel::function(|call, _| {
        let has_price = call.input.iter().any(|item| item.to_value()["type"] == "function_call_output");
        if has_price { text("40.") } else { tool_call("price", json!({"article": "lamp"})) }
    });
    let tasks = InProcessRuns::new(SqlStore::connect(&proxy.url).await?, set(), model.clone());
    let service = service(&tasks);
    let mut cut = 0;
    for commit in 1..=8 {
        let id = format!("run-{commit}");
        proxy.cut.store(commit, Ordering::SeqCst);
        assert_eq!(post(&service, "/runs", &new_run(&id)).await?.0, 201);
        let run = timeout(PATIENCE, until(&service, &id, "completed")).await??;
        assert_eq!(run["output"], "40.");
        cut += usize::from(proxy.cut.swap(0, Ordering::SeqCst) == 0);
        let facts = events(&service, &id, "?deltas=false").await?;
        let kinds = kinds(&facts);
        for once in ["run_started", "tool_output", "run_finished"] {
            assert_eq!(kinds.iter().filter(|kind| **kind == once).count(), 1, "commit {commit}, {once}: {kinds:?}");
        }
    }
    assert!(cut >= 3, "a run has several commits, and each is cut once");
    assert_eq!(model.calls().len(), 16);
    Ok(())
}
