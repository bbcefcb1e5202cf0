use std::sync::atomic::{AtomicUsize, Ordering};

use temporal_agents_core::wire::{GateMode, RemoteTool, ToolsetKind};
use tokio::time::timeout;

use super::{
    request::{CallRequest, DeviceRequest, NumberedReply, Reply},
    *,
};
use crate::remote::{
    message::{ToolOutputDeltaMessage, ToolResultMessage},
    transport::MemoryTransport,
};

mod attempts;
mod caller;
mod kept;
mod owners;

const PATIENCE: Duration = Duration::from_mins(1);

fn hello(name: &str, tools: &[RemoteTool]) -> String {
    json!({"type": "hello", "device": name, "tools": tools, "mode": "approve_each"}).to_string()
}

fn tools() -> Vec<RemoteTool> {
    let schema = json!({"type": "object", "properties": {}});
    let read = RemoteTool::new("read", "Reads.", schema.clone()).read_only();
    vec![RemoteTool::new("run", "Runs.", schema), read]
}

fn laptop() -> Device {
    Device::announced(&hello("laptop", &tools()), "ada").expect("it is a hello")
}

fn call(id: &str, tool: &str) -> CallRequest {
    let mut call = CallMessage::default();
    (call.tool_use_id, call.tool, call.payload) = (id.to_owned(), tool.to_owned(), Some(json!({})));
    CallRequest {
        call,
        connection: String::new(),
        reply_to: String::new(),
        log: String::new(),
        after: 0,
        again: false,
        attempt: 1,
        once: true,
        user: "ada".to_owned(),
        timeout_ms: 60_000,
    }
}

/// Returns the id and the tool of the next call that the device gets.
async fn called(connection: &mut DeviceConnection) -> (String, String) {
    let text = timeout(PATIENCE, connection.next()).await.expect("in time").expect("it is connected");
    match serde_json::from_str(&text).expect("it is a text for a device") {
        ToDevice::Call(call) => (call.tool_use_id, call.tool),
        other => panic!("no call: {other:?}"),
    }
}

fn answer(connection: &DeviceConnection, id: &str) {
    let result = FromDevice::Result(ToolResultMessage::new(id, json!("done")));
    connection.receive(&json!(result).to_string()).expect("it is short");
}

async fn reply(log: &CallLog, after: u64) -> Reply {
    let reply = timeout(PATIENCE, log.next(after)).await.expect("in time").expect("there is one");
    assert_eq!(reply.at, after + 1);
    reply.reply
}

fn code_of(reply: &Reply) -> Option<&str> {
    match reply {
        Reply::Result(result) => result.error.as_ref().map(|error| &*error.code),
        _ => None,
    }
}

#[test]
fn an_announcement_is_read_and_one_that_makes_no_sense_is_refused() {
    let device = laptop();
    assert_eq!((&*device.name, &*device.owner, device.mode), ("laptop", "ada", Some(GateMode::ApproveEach)));
    let selected = device.selected();
    assert_eq!((selected.kind, &*selected.prefix), (ToolsetKind::Device, "dev_laptop_"));
    let many: Vec<RemoteTool> = (0..129).map(|at| RemoteTool::new(format!("t{at}"), "", json!({}))).collect();
    let texts = [
        ("{}".to_owned(), "not a \"hello\""),
        (hello("", &[]), "is not a name"),
        (hello("a:b", &[]), "is not a name"),
        (hello("laptop", &many), "129 tools, the limit is 128"),
        (json!({"type": "result", "tool_use_id": "c"}).to_string(), "must be of type \"hello\""),
    ];
    for (text, reason) in texts {
        let refused = Device::announced(&text, "ada").expect_err("it is refused");
        assert!(refused.reason.contains(reason), "{refused}");
    }
}

#[tokio::test]
async fn a_device_whose_announcement_is_too_long_is_refused() -> Result<(), BoxError> {
    let described = |bytes: usize| vec![RemoteTool::new("run", "x".repeat(bytes), json!({}))];
    let around = hello("laptop", &described(1)).len() - 1;
    let longest = |more: usize| hello("laptop", &described((1 << 20) - around + more));
    assert_eq!(longest(0).len(), 1 << 20);
    assert!(Device::announced(&longest(0), "ada").is_ok());
    let refused = Device::announced(&longest(1), "ada").expect_err("it is too long");
    assert_eq!(refused.reason, "its announcement has 1048577 bytes, the limit is 1048576");
    // A device need not come from an announcement.
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let tagged = vec![RemoteTool::new("run", "", json!({})).tags(vec!["x".repeat(1 << 10); 1 << 10])];
    let read = json!({"name": "laptop", "owner": "ada", "tools": tagged});
    let refused = gateway.connect(serde_json::from_value(read)?).await.expect_err("it is too long");
    assert!(refused.reason.contains("the limit is 1048576"), "{refused}");
    let unnamed = json!({"name": "a:b", "owner": "ada", "tools": []});
    let refused = gateway.connect(serde_json::from_value(unnamed)?).await.expect_err("it has no name");
    assert!(refused.reason.contains("is not a name"), "{refused}");
    assert!(gateway.find_device("ada", "laptop").await?.is_none());
    Ok(())
}

#[tokio::test]
async fn a_device_is_found_by_its_owner_while_it_is_connected() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let (here, elsewhere) = (DeviceGateway::new(channels.clone()), DeviceGateway::new(channels));
    let find = async |user: Option<&str>| {
        let query = ToolsetQuery::new(vec!["laptop".to_owned(), "../x".to_owned()], user.map(str::to_owned));
        elsewhere.find(&query).await.map(|found| found.len())
    };
    let asked = |user| find(user);
    assert_eq!(asked(Some("ada")).await?, 0);
    let connection = here.connect(laptop()).await?;
    assert_eq!(asked(Some("ada")).await?, 1);
    assert_eq!(asked(Some("bob")).await?, 0);
    assert_eq!(asked(None).await?, 0);
    drop(connection);
    let gone = async {
        while elsewhere.find_device("ada", "laptop").await.expect("the channels are there").is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, gone).await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_device_whose_process_is_gone_is_offline_after_a_while() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let (here, elsewhere) = (DeviceGateway::new(channels.clone()), DeviceGateway::new(channels));
    let (connected, _outgoing) = Connected::new(laptop());
    here.0.channels.put(&here.0.record_key(&connected.key), serde_json::to_vec(&connected.record())?, KEPT).await?;
    assert!(elsewhere.find_device("ada", "laptop").await?.is_some());
    tokio::time::advance(KEPT).await;
    assert!(elsewhere.find_device("ada", "laptop").await?.is_none());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_latest_connection_of_a_device_is_the_one() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let (one, other) = (DeviceGateway::new(channels.clone()), DeviceGateway::new(channels));
    let mut first = one.connect(laptop()).await?;
    let mut second = one.connect(laptop()).await?;
    assert_eq!(first.next().await, None);
    let _third = other.connect(laptop()).await?;
    // The process of the second is told.
    assert_eq!(timeout(PATIENCE, second.next()).await?, None);
    assert!(one.find_device("ada", "laptop").await?.is_some());
    Ok(())
}

#[tokio::test]
async fn who_asks_again_joins_the_call_and_gets_its_result() -> Result<(), BoxError> {
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let log = gateway.0.call(&connected, call("c1", "run"));
    assert_eq!(called(&mut connection).await, ("c1".to_owned(), "run".to_owned()));
    let again = CallRequest { again: true, ..call("c1", "run") };
    let joined = gateway.0.call(&connected, again.clone());
    assert!(Arc::ptr_eq(&log, &joined));
    let delta = FromDevice::OutputDelta(ToolOutputDeltaMessage::new("c1", "stdout", "50 %"));
    connection.receive(&json!(delta).to_string())?;
    answer(&connection, "c1");
    assert!(matches!(reply(&joined, 0).await, Reply::OutputDelta(_)));
    assert!(matches!(reply(&joined, 1).await, Reply::Result(_)));
    assert_eq!(joined.next(2).await, None);
    let late = gateway.0.call(&connected, again);
    assert!(matches!(reply(&late, 1).await, Reply::Result(_)));
    // Nobody knows this one, so it may have taken effect where it was known.
    let unknown = gateway.0.call(&connected, CallRequest { again: true, ..call("c2", "run") });
    assert_eq!(code_of(&reply(&unknown, 0).await), Some("outcome_unknown"));
    let idempotent = CallRequest { again: true, once: false, ..call("c3", "read") };
    let _made = gateway.0.call(&connected, idempotent);
    assert_eq!(called(&mut connection).await.0, "c3");
    Ok(())
}

#[tokio::test]
async fn a_device_makes_one_call_at_a_time_and_reads_side_by_side() -> Result<(), BoxError> {
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let logs = ["r1", "r2"].map(|id| gateway.0.call(&connected, call(id, "read")));
    let mut reading = vec![called(&mut connection).await.0, called(&mut connection).await.0];
    reading.sort();
    assert_eq!(reading, ["r1", "r2"]);
    let writes = ["w1", "w2"].map(|id| gateway.0.call(&connected, call(id, "run")));
    assert!(timeout(Duration::from_millis(50), connection.next()).await.is_err(), "a write waits for the readers");
    for id in &reading {
        answer(&connection, id);
    }
    let first = called(&mut connection).await.0;
    assert!(timeout(Duration::from_millis(50), connection.next()).await.is_err(), "a write is made alone");
    answer(&connection, &first);
    let second = called(&mut connection).await.0;
    answer(&connection, &second);
    for log in logs.iter().chain(&writes) {
        assert!(matches!(reply(log, 0).await, Reply::Result(_)));
    }
    Ok(())
}

#[tokio::test]
async fn calls_of_others_and_of_unknown_tools_are_refused() -> Result<(), BoxError> {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let gateway = DeviceGateway::new(MemoryTransport::new()).admit(move |device, call| {
        counted.fetch_add(1, Ordering::Relaxed);
        device.name == "laptop" && call.tool_use_id != "c3"
    });
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let refused = [
        (CallRequest { user: "bob".to_owned(), ..call("c1", "run") }, "not_permitted"),
        (call("c2", "fly"), "unknown_tool"),
        (call("c3", "run"), "not_permitted"),
    ];
    for (request, code) in refused {
        let log = gateway.0.call(&connected, request);
        assert_eq!(code_of(&reply(&log, 0).await), Some(code));
    }
    assert!(timeout(Duration::from_millis(50), connection.next()).await.is_err(), "the device has got nothing");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    Ok(())
}

#[tokio::test]
async fn a_call_from_another_process_is_answered_on_its_channel() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let gateway = DeviceGateway::new(channels.clone());
    let mut connection = gateway.connect(laptop()).await?;
    let mut replies = channels.subscribe("replies").await?;
    let of_connection = |connection: &str| {
        let (connection, reply_to) = (connection.to_owned(), "replies".to_owned());
        DeviceRequest::Call(Box::new(CallRequest { connection, reply_to, ..call("c1", "run") }))
    };
    let id = gateway.0.here(&laptop().key()).expect("it is here").id.clone();
    for nonsense in ["", "{}", r#"{"type": "later"}"#] {
        assert_eq!(channels.publish(&gateway.0.requests(&laptop().key()), nonsense.into()).await?, 1);
    }
    for connection in ["an earlier one", &*id] {
        channels.publish(&gateway.0.requests(&laptop().key()), serde_json::to_vec(&of_connection(connection))?).await?;
    }
    assert_eq!(called(&mut connection).await.0, "c1");
    answer(&connection, "c1");
    let mut next = async || -> Result<NumberedReply, BoxError> {
        let reply = timeout(PATIENCE, replies.next()).await?.expect("it goes on");
        Ok(serde_json::from_slice(&reply)?)
    };
    assert!(matches!(next().await?, NumberedReply { at: 0, reply: Reply::Accepted, .. }));
    assert!(matches!(next().await?, NumberedReply { at: 1, reply: Reply::Result(_), .. }));
    // Who knows replies of another process's log gets those of this one from the first on.
    let DeviceRequest::Call(request) = of_connection(&id) else { panic!("it is a call") };
    let request = DeviceRequest::Call(Box::new(CallRequest { log: "another".to_owned(), after: 5, ..*request }));
    channels.publish(&gateway.0.requests(&laptop().key()), serde_json::to_vec(&request)?).await?;
    assert!(matches!(next().await?, NumberedReply { at: 0, .. }));
    assert!(matches!(next().await?, NumberedReply { at: 1, reply: Reply::Result(_), .. }));
    Ok(())
}

#[tokio::test]
async fn a_call_ends_with_the_connection_of_its_device() -> Result<(), BoxError> {
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let log = gateway.0.call(&connected, call("c1", "run"));
    called(&mut connection).await;
    drop(connection);
    assert_eq!(reply(&log, 0).await, Reply::Gone);
    assert!(gateway.0.here(&laptop().key()).is_none());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_device_that_does_not_answer_in_time_is_told_to_stop() -> Result<(), BoxError> {
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let log = gateway.0.call(&connected, CallRequest { timeout_ms: 1000, ..call("c1", "run") });
    called(&mut connection).await;
    assert_eq!(code_of(&reply(&log, 0).await), Some("outcome_unknown"));
    let text = connection.next().await.expect("it is connected");
    assert_eq!(serde_json::from_str::<ToDevice>(&text)?, ToDevice::Cancel { tool_use_id: "c1".to_owned() });
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_before_its_turn_never_reaches_the_device() -> Result<(), BoxError> {
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let _first = gateway.0.call(&connected, call("w1", "run"));
    assert_eq!(called(&mut connection).await.0, "w1");
    let queued = gateway.0.call(&connected, call("w2", "run"));
    gateway.0.cancel(&connected, "w2", 1);
    assert_eq!(code_of(&reply(&queued, 0).await), Some("cancelled"));
    answer(&connection, "w1");
    assert!(timeout(Duration::from_millis(50), connection.next()).await.is_err(), "the device has got nothing");
    // The device never had it, so that an attempt after it may have it made.
    let _made = gateway.0.call(&connected, CallRequest { again: true, ..call("w2", "run") });
    assert_eq!(called(&mut connection).await.0, "w2");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_device_is_told_to_stop_unless_somebody_asks_again() -> Result<(), BoxError> {
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let log = gateway.0.call(&connected, call("c1", "run"));
    called(&mut connection).await;
    gateway.0.cancel(&connected, "c1", 1);
    let joined = gateway.0.call(&connected, CallRequest { again: true, ..call("c1", "run") });
    assert!(Arc::ptr_eq(&log, &joined));
    assert!(timeout(Duration::from_secs(20), connection.next()).await.is_err(), "somebody waits for it");
    gateway.0.cancel(&connected, "c1", 1);
    let text = timeout(Duration::from_secs(20), connection.next()).await?.expect("it is connected");
    assert_eq!(serde_json::from_str::<ToDevice>(&text)?, ToDevice::Cancel { tool_use_id: "c1".to_owned() });
    Ok(())
}

#[tokio::test]
async fn a_result_that_follows_output_at_once_is_not_missed() {
    for _ in 0..200 {
        let log = Arc::new(CallLog::new());
        let adding = tokio::spawn({
            let log = Arc::clone(&log);
            async move {
                log.add(Reply::OutputDelta(ToolOutputDeltaMessage::new("c1", "stdout", "x")));
                log.add(Reply::Result(Box::new(ToolResultMessage::new("c1", json!(1)))));
            }
        });
        assert!(matches!(reply(&log, 0).await, Reply::OutputDelta(_)));
        assert!(matches!(reply(&log, 1).await, Reply::Result(_)));
        adding.await.expect("it ends");
    }
}
