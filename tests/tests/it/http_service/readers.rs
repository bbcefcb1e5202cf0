//! Readers of events: one follower for all of them, and none that costs more than its place.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, body::Body, http::StatusCode};
use futures::{FutureExt, StreamExt, future::try_join_all, stream::BoxStream};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    http::AgentsService,
    run::RunConfig,
    tool,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, NamespacedClient, Url};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};
use tower::ServiceExt;

use super::{clerk, environment, get, pay, post, replica, request, until};
use crate::{PATIENCE, gateway::Gateway};

const HISTORY: &str = "GetWorkflowExecutionHistory";

/// An event as a connection carries it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Received {
    pub(super) event: String,
    pub(super) id: Option<String>,
    pub(super) data: Value,
}

/// A connection to a service, which reads when it is told to.
pub(super) struct Reader {
    stream: TcpStream,
    rest: String,
}

impl Reader {
    pub(super) async fn connect(address: SocketAddr, path: &str, last: Option<&str>) -> anyhow::Result<Self> {
        Self::of(TcpStream::connect(address).await?, address, path, last).await
    }

    /// Connects a reader for which the system keeps little while it does not read.
    async fn with_small_buffer(address: SocketAddr, path: &str) -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4096)?;
        Self::of(socket.connect(address).await?, address, path, None).await
    }

    async fn of(mut stream: TcpStream, address: SocketAddr, path: &str, last: Option<&str>) -> anyhow::Result<Self> {
        let last = last.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
        let asked = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{last}\r\n");
        stream.write_all(asked.as_bytes()).await?;
        Ok(Self { stream, rest: String::new() })
    }

    /// The next event; `None` after the last.
    pub(super) async fn next(&mut self) -> anyhow::Result<Option<Received>> {
        loop {
            if let Some(found) = self.take() {
                return Ok(Some(found));
            }
            let mut buffer = vec![0; 16 * 1024];
            let read = timeout(PATIENCE, self.stream.read(&mut buffer)).await??;
            if read == 0 {
                return Ok(None);
            }
            self.rest.push_str(std::str::from_utf8(&buffer[..read])?);
        }
    }

    /// Takes a whole event from what has arrived. The lengths of chunks are lines without a colon.
    fn take(&mut self) -> Option<Received> {
        while let Some(end) = self.rest.find("\n\n") {
            let block: String = self.rest.drain(..end + 2).collect();
            let value = |name: &str| {
                block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
            };
            if let Some(data) = value("data") {
                let event = value("event").unwrap_or_else(|| "message".to_owned());
                let data = serde_json::from_str(&data).expect("the data are JSON");
                return Some(Received { event, id: value("id"), data });
            }
        }
        None
    }
}

/// Serves on a port of this machine until the test ends.
async fn serving(service: AgentsService) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(service.serve(listener, std::future::pending()));
    Ok(address)
}

/// A run that waits for an approval.
async fn waiting_run(env: &AgentEnvironment, id: &str) -> anyhow::Result<()> {
    let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": id});
    assert_eq!(post(&replica(env), "/runs", &new).await?.0, StatusCode::CREATED);
    until(&replica(env), &format!("/runs/{id}"), |run| run["status"] == "waiting").await
}

async fn approve(env: &AgentEnvironment, id: &str) -> anyhow::Result<()> {
    let (_, run) = get(&replica(env), &format!("/runs/{id}")).await?;
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    assert_eq!(post(&replica(env), &format!("/runs/{id}/decisions"), &decision).await?.0, StatusCode::OK);
    Ok(())
}

fn pays() -> FakeModel {
    FakeModel::script([tool_call("pay", json!({"amount": 40})), text("You have your money.")])
}

/// A service whose requests to the server are counted.
async fn counted(env: &AgentEnvironment) -> anyhow::Result<(Gateway, AgentsService)> {
    let gateway = Gateway::counting(env.server().address().to_owned()).await?;
    let connection = Connection::connect(ConnectionOptions::new(gateway.url().parse::<Url>()?).build()).await?;
    let client = Client::new(connection, ClientOptions::new(env.client().namespace()).build())?;
    Ok((gateway, AgentsService::new(&client, env.task_queue()).agents((clerk,))))
}

/// The values of the `data:` lines of a response, as they come.
pub(super) async fn data(service: &Router, path: &str) -> anyhow::Result<BoxStream<'static, Value>> {
    let response = service.clone().oneshot(request("GET", path, None)).await?;
    assert_eq!(response.status(), StatusCode::OK);
    let chunks = Body::into_data_stream(response.into_body());
    let texts = chunks.map(|chunk| String::from_utf8_lossy(&chunk.expect("a chunk")).into_owned());
    let lines = texts.flat_map(|text| {
        let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned);
        futures::stream::iter(data.collect::<Vec<_>>())
    });
    Ok(lines.map(|data| serde_json::from_str(&data).expect("JSON")).boxed())
}

#[tokio::test]
async fn many_readers_of_a_run_that_waits_have_one_follower_also_those_that_come_back() -> anyhow::Result<()> {
    let env = environment(pays(), false).await?;
    let id = format!("watched-{}", env.task_queue());
    waiting_run(&env, &id).await?;
    let (gateway, service) = counted(&env).await?;
    let service = service.into_router();
    let path = format!("/runs/{id}/events?deltas=false");
    // The first reader reads to the pause; the others come from the beginning, and back with its cursor.
    let mut first = data(&service, &path).await?;
    let cursor = loop {
        let event = timeout(PATIENCE, first.next()).await?.expect("the run waits");
        if event["kind"] == "question_asked" {
            break event["cursor"].clone();
        }
    };
    drop(first);
    gateway.until_open(HISTORY, 0).await;
    let back = format!("{path}&from={}", cursor.as_str().expect("a cursor"));
    let mut readers = Vec::new();
    for reader in try_join_all((0..10).map(|_| data(&service, &back))).await? {
        readers.push((Vec::new(), reader));
    }
    for mut reader in try_join_all((0..10).map(|_| data(&service, &path))).await? {
        let mut events = Vec::new();
        while events.last().is_none_or(|event: &Value| event["kind"] != "question_asked") {
            events.push(timeout(PATIENCE, reader.next()).await?.expect("the run waits"));
        }
        readers.push((events, reader));
    }
    // Each looks for the next event, and waits.
    for (events, reader) in &mut readers {
        while let Some(Some(event)) = reader.next().now_or_never() {
            events.push(event);
        }
    }
    // One request of the follower is open, and no other.
    timeout(PATIENCE, gateway.until_open(HISTORY, 1)).await?;
    approve(&env, &id).await?;
    let mut read = Vec::new();
    for (mut events, reader) in readers {
        events.extend(timeout(PATIENCE, reader.collect::<Vec<Value>>()).await?);
        read.push(events);
    }
    let (came_back, from_beginning) = read.split_at(10);
    let whole = &from_beginning[0];
    assert_eq!(whole[whole.len() - 2]["kind"], "run_finished");
    assert!(from_beginning.iter().all(|events| events == whole));
    assert!(came_back.iter().all(|events| whole.ends_with(events) && events.len() < whole.len()));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_open_questions_have_one_watcher_for_all_readers() -> anyhow::Result<()> {
    let env = environment(pays(), false).await?;
    let (gateway, service) = counted(&env).await?;
    let service = service.into_router();
    let mut readers = try_join_all((0..20).map(|_| data(&service, "/questions/events"))).await?;
    for reader in &mut readers {
        assert_eq!(timeout(PATIENCE, reader.next()).await?.expect("the list")["questions"], json!([]));
    }
    let looks = gateway.calls("ListWorkflowExecutions");
    assert!((1..=3).contains(&looks), "{looks} looks for 20 readers");
    let id = format!("asked-{}", env.task_queue());
    waiting_run(&env, &id).await?;
    for reader in &mut readers {
        let list = timeout(PATIENCE, reader.next()).await?.expect("the list");
        assert_eq!((&list["questions"][0]["run_id"], &list["questions"][0]["tool"]), (&json!(id), &json!("pay")));
    }
    approve(&env, &id).await?;
    for reader in &mut readers {
        assert_eq!(timeout(PATIENCE, reader.next()).await?.expect("the list")["questions"], json!([]));
    }
    let looks = gateway.calls("ListWorkflowExecutions");
    // The watcher ends with its last reader.
    drop(readers);
    assert!(looks < 100, "{looks} looks");
    env.finish().await?;
    Ok(())
}

/// Says it again.
#[tool(start_to_close = "20s")]
async fn echo(text: String) -> String {
    text
}

fn parrot() -> Agent {
    Agent::new("parrot").model("gpt-5").tool(echo).tool(pay.needs_approval())
}

/// All events of a connection to their end, or to a cut.
async fn rest(reader: &mut Reader) -> anyhow::Result<(Vec<Received>, Option<Received>)> {
    let mut events = Vec::new();
    while let Some(event) = reader.next().await? {
        match &*event.event {
            "message" => events.push(event),
            "cut" => return Ok((events, Some(event))),
            _ => {}
        }
    }
    Ok((events, None))
}

#[tokio::test]
async fn a_reader_that_does_not_read_is_cut_and_comes_back_without_a_gap() -> anyhow::Result<()> {
    // More than a connection and its buffers hold.
    let long = "x".repeat(100_000);
    let echoes = (0..30).map(|_| tool_call("echo", json!({"text": long})));
    let model = FakeModel::script(echoes.chain([tool_call("pay", json!({"amount": 40})), text("Done.")]));
    let set = AgentSet::new((parrot,)).config(RunConfig::builder().max_turns(50).build());
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .model_provider(model)
        .agents((parrot,))
        .start()
        .await?;
    let local = AgentsService::new(env.client(), env.task_queue()).agents((parrot,)).into_router();
    let id = format!("slow-{}", env.task_queue());
    let new = json!({"agent": "parrot", "input": "Go.", "id": id});
    assert_eq!(post(&local, "/runs", &new).await?.0, StatusCode::CREATED);
    let (gateway, service) = counted(&env).await?;
    let address = serving(service.slow_reader_timeout(Duration::from_secs(1))).await?;
    let path = format!("/runs/{id}/events?deltas=false");
    let mut slow = Reader::with_small_buffer(address, &path).await?;
    let first = slow.next().await?.expect("the first event");
    until(&local, &format!("/runs/{id}"), |run| run["status"] == "waiting").await?;
    // What it holds is let go, although it neither reads nor leaves.
    timeout(PATIENCE, gateway.until_open(HISTORY, 0)).await?;
    let (_, run) = get(&local, &format!("/runs/{id}")).await?;
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    assert_eq!(post(&local, &format!("/runs/{id}/decisions"), &decision).await?.0, StatusCode::OK);
    let (mut received, cut) = rest(&mut slow).await?;
    received.insert(0, first);
    let cut = cut.expect("the stream was cut");
    assert_eq!(cut.data["reason"], "slow_reader");
    let last = received.last().and_then(|event| event.id.clone());
    assert_eq!(cut.data["cursor"].as_str(), last.as_deref());
    // It comes back to a replica with the usual patience, and reads.
    let address = serving(AgentsService::new(env.client(), env.task_queue()).agents((parrot,))).await?;
    let (after, none) = rest(&mut Reader::connect(address, &path, last.as_deref()).await?).await?;
    assert!(none.is_none() && !after.is_empty());
    received.extend(after);
    let (whole, _) = rest(&mut Reader::connect(address, &path, None).await?).await?;
    assert_eq!(received.len(), whole.len());
    assert!(received == whole, "the events are the same");
    env.finish().await?;
    Ok(())
}
