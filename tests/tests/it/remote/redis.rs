//! Streams and providers over a real Redis server.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use temporal_agents::{
    remote::{
        message::{ToolResultMessage, result_stream, toolset_stream},
        transport::{Append, Appended, Channels, GroupMember, RedisTransport, StreamError, Streams},
    },
    tool::RemoteToolset,
};
use temporal_agents_testing::RedisServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use super::support::{Gates, caller, described, environment, model, provider, run, told};
use crate::PATIENCE;

/// The ids and the fields of entries.
type Entries = Vec<(String, BTreeMap<String, Vec<u8>>)>;

const NOW: Duration = Duration::ZERO;
const MEMBER: GroupMember<'static> = GroupMember { stream: "s", group: "g", consumer: "c" };

async fn start() -> anyhow::Result<(RedisServer, RedisTransport)> {
    let server = RedisServer::start().await?;
    let transport = RedisTransport::new(&server.url())?;
    Ok((server, transport))
}

fn serve(gates: &Gates, transport: &RedisTransport) -> JoinHandle<()> {
    let provider = provider(gates, transport.clone());
    tokio::spawn(async move { provider.serve(std::future::pending()).await })
}

#[tokio::test]
async fn entries_have_the_layout_of_pulse() -> anyhow::Result<()> {
    let (server, transport) = start().await?;
    let append = Append::new().entry("toolset:demo:requests", "call", "{}").entry("result:c1", "init", vec![0xff]);
    transport.append(append).await?;
    let client = redis::Client::open(server.url())?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    let read = |key: &str| redis::cmd("XRANGE").arg(key).arg("-").arg("+").to_owned();
    let calls: Entries = read("pulse:stream:toolset:demo:requests").query_async(&mut connection).await?;
    let fields = |pairs: [(&str, &[u8]); 2]| pairs.map(|(name, value)| (name.to_owned(), value.to_vec())).into();
    assert_eq!(calls[0].1, fields([("n", b"call"), ("p", b"{}")]));
    let results: Entries = read("pulse:stream:result:c1").query_async(&mut connection).await?;
    assert_eq!(results[0].1, fields([("n", b"init"), ("p", &[0xff])]));
    // Fields that are unknown, and those that are missing.
    let add = redis::cmd("XADD").arg("pulse:stream:s").arg("*").arg("t").arg("topic").arg("n").arg("odd").to_owned();
    let _: String = add.query_async(&mut connection).await?;
    let odd = transport.read("s", None, 10, NOW).await?;
    assert_eq!((&*odd[0].event, odd[0].payload.len()), ("odd", 0));
    Ok(())
}

#[tokio::test]
async fn of_many_that_append_to_a_stream_that_must_not_exist_one_does() -> anyhow::Result<()> {
    let (_server, transport) = start().await?;
    let append = |number: usize| {
        let append = Append::new().unless_exists("s").entry("s", format!("{number}"), "{}");
        transport.append(append.expire("s", Duration::from_mins(1)).entry("t", "call", "{}").max_len("t", 1000))
    };
    let appended = futures::future::try_join_all((0..40).map(append)).await?;
    assert_eq!(appended.iter().filter(|one| **one == Appended::Appended).count(), 1);
    assert_eq!(transport.read("s", None, 100, NOW).await?.len(), 1);
    assert_eq!(transport.read("t", None, 100, NOW).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_reader_waits_until_a_stream_exists_and_a_stream_expires() -> anyhow::Result<()> {
    let (_server, transport) = start().await?;
    let append = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        transport.append(Append::new().entry("s", "one", "{}").expire("s", Duration::from_millis(300))).await
    };
    let (read, appended) = tokio::join!(transport.read("s", None, 10, PATIENCE), append);
    assert_eq!(appended?, Appended::Appended);
    let read = read?;
    assert_eq!(read.len(), 1);
    assert_eq!(transport.read("s", Some(read[0].id), 10, Duration::from_millis(50)).await?, []);
    while transport.exists("s").await? {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_group_delivers_each_entry_once_and_again_if_it_is_not_acknowledged() -> anyhow::Result<()> {
    let (_server, transport) = start().await?;
    let missing = StreamError::NoGroup { stream: "s".to_owned(), group: "g".to_owned() };
    assert_eq!(transport.read_group(MEMBER, 1, NOW).await, Err(missing.clone()));
    assert_eq!(transport.claim_idle(MEMBER, NOW, 1).await, Err(missing));
    transport.append(Append::new().entry("s", "one", "{}").entry("s", "two", "{}")).await?;
    for _ in 0..2 {
        transport.create_group("s", "g", Duration::from_mins(1)).await?;
    }
    let first = transport.read_group(MEMBER, 1, NOW).await?;
    let second = transport.read_group(MEMBER, 5, NOW).await?;
    assert_eq!((&*first[0].event, &*second[0].event), ("one", "two"));
    transport.acknowledge("s", "g", &[first[0].id]).await?;
    let other = GroupMember { consumer: "other", ..MEMBER };
    assert_eq!(transport.claim_idle(other, PATIENCE, 5).await?, []);
    transport.renew(MEMBER, &[second[0].id]).await?;
    assert_eq!(transport.claim_idle(other, NOW, 5).await?, second);
    Ok(())
}

#[tokio::test]
async fn an_orphan_behind_many_busy_entries_is_claimed() -> anyhow::Result<()> {
    let (_server, transport) = start().await?;
    transport.create_group("s", "g", Duration::from_mins(1)).await?;
    let busy = GroupMember { consumer: "busy", ..MEMBER };
    let dead = GroupMember { consumer: "dead", ..MEMBER };
    for number in 0..36 {
        transport.append(Append::new().entry("s", format!("{number}"), "{}")).await?;
    }
    let renewed: Vec<_> = transport.read_group(busy, 35, NOW).await?.iter().map(|entry| entry.id).collect();
    let orphan = transport.read_group(dead, 1, NOW).await?;
    let claiming = async {
        loop {
            transport.renew(busy, &renewed).await?;
            // On a slow machine a busy entry may be claimed; it is renewed again.
            let claimed = transport.claim_idle(MEMBER, Duration::from_millis(300), 1).await?;
            if claimed == orphan {
                return Ok::<(), StreamError>(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, claiming).await??;
    Ok(())
}

#[tokio::test]
async fn the_conditions_of_an_append_hold_for_all_streams() -> anyhow::Result<()> {
    let (_server, transport) = start().await?;
    transport.append(Append::new().entry("a", "one", "{}").entry("b", "one", "{}")).await?;
    let append = || Append::new().only_if_exists("a").only_if_exists("b").unless_exists("c").unless_exists("d");
    assert_eq!(transport.append(append().only_if_exists("e").entry("a", "two", "{}")).await?, Appended::Missing);
    assert_eq!(transport.append(append().unless_exists("a").entry("a", "two", "{}")).await?, Appended::Exists);
    assert_eq!(transport.read("a", None, 10, NOW).await?.len(), 1);
    assert_eq!(transport.append(append().entry("d", "two", "{}")).await?, Appended::Appended);
    // Without entries they are only checked.
    assert_eq!(transport.append(append()).await?, Appended::Exists);
    assert_eq!(transport.append(Append::new().only_if_exists("a").unless_exists("e")).await?, Appended::Appended);
    Ok(())
}

#[tokio::test]
async fn a_life_is_never_shortened() -> anyhow::Result<()> {
    let (server, transport) = start().await?;
    let mut connection = redis::Client::open(server.url())?.get_multiplexed_async_connection().await?;
    transport.append(Append::new().entry("long", "one", "{}").expire("long", Duration::from_hours(1))).await?;
    transport.append(Append::new().entry("ever", "one", "{}")).await?;
    transport.append(Append::new().entry("short", "one", "{}").expire("short", Duration::from_secs(50))).await?;
    for stream in ["long", "ever", "short", "new"] {
        let append = Append::new().entry(stream, "two", "{}").expire_at_least(stream, Duration::from_mins(10));
        assert_eq!(transport.append(append).await?, Appended::Appended);
    }
    let mut minutes = Vec::new();
    for stream in ["long", "ever", "short", "new"] {
        let left: i64 = redis::cmd("PTTL").arg(format!("pulse:stream:{stream}")).query_async(&mut connection).await?;
        minutes.push(left.div_euclid(60_000));
    }
    assert!((50..60).contains(&minutes[0]), "{minutes:?}");
    assert_eq!(minutes[1], -1, "it does not expire");
    assert!(minutes[2..].iter().all(|left| (5..=10).contains(left)), "{minutes:?}");
    Ok(())
}

#[tokio::test]
async fn a_consumer_is_active_when_it_gets_entries() -> anyhow::Result<()> {
    let (_server, transport) = start().await?;
    let missing = StreamError::NoGroup { stream: "s".to_owned(), group: "g".to_owned() };
    assert_eq!(transport.idle_time("s", "g").await, Err(missing.clone()));
    transport.append(Append::new().entry("s", "one", "{}")).await?;
    assert_eq!(transport.idle_time("s", "g").await, Err(missing));
    transport.create_group("s", "g", Duration::from_mins(1)).await?;
    assert_eq!(transport.idle_time("s", "g").await?, None);
    let entries = transport.read_group(MEMBER, 1, NOW).await?;
    assert!(transport.idle_time("s", "g").await?.is_some_and(|idle| idle < PATIENCE));
    let now = transport.now().await?;
    let appended_at: u64 = entries[0].id.to_string().split_once('-').expect("an id").0.parse()?;
    assert!((appended_at..appended_at + 120_000).contains(&now), "{appended_at} {now}");
    Ok(())
}

#[tokio::test]
async fn a_group_begins_with_recent_entries() -> anyhow::Result<()> {
    let (_server, transport) = start().await?;
    transport.append(Append::new().entry("s", "before", "{}")).await?;
    tokio::time::sleep(Duration::from_millis(20)).await;
    transport.create_group("s", "g", NOW).await?;
    assert_eq!(transport.read_group(MEMBER, 5, NOW).await?, []);
    transport.create_group("s", "h", Duration::from_mins(1)).await?;
    assert_eq!(transport.read_group(GroupMember { group: "h", ..MEMBER }, 5, NOW).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_gone_is_unavailable_and_used_again_when_it_is_back() -> anyhow::Result<()> {
    let (mut server, transport) = start().await?;
    transport.append(Append::new().entry("s", "one", "{}")).await?;
    server.kill();
    let append = || Append::new().unless_exists("s").entry("s", "two", "{}");
    for append in [append(), Append::new().entry("s", "two", "{}")] {
        let error = transport.append(append).await.unwrap_err();
        assert!(matches!(error, StreamError::Unavailable { .. }), "{error:?}");
    }
    server.restart().await?;
    assert!(!transport.exists("s").await?);
    assert_eq!(transport.append(append()).await?, Appended::Appended);
    Ok(())
}

/// Serves one connection until a message is published, and then is gone, like a server that stops
/// right after it has delivered the message.
async fn deliver_one_message(listener: TcpListener) -> std::io::Result<()> {
    let (mut socket, _) = listener.accept().await?;
    let mut bytes = vec![0; 4096];
    loop {
        let read = socket.read(&mut bytes).await?;
        let text = String::from_utf8_lossy(&bytes[..read]);
        if read == 0 || text.contains("PUBLISH") {
            return Ok(());
        }
        // The requests that open a connection; each begins with `*`.
        for _ in text.lines().filter(|line| line.starts_with('*')) {
            socket.write_all(b"+OK\r\n").await?;
        }
    }
}

#[tokio::test]
async fn a_message_whose_server_is_gone_after_the_delivery_may_have_been_sent() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let transport = RedisTransport::new(&format!("redis://{}", listener.local_addr()?))?;
    let serving = tokio::spawn(deliver_one_message(listener));
    let error = transport.publish("c", b"once".to_vec()).await.unwrap_err();
    serving.await??;
    assert!(error.is_ambiguous(), "{error:?}");
    // Nothing of this one can have been sent.
    let error = transport.publish("c", b"never".to_vec()).await.unwrap_err();
    assert!(matches!(error, StreamError::Unavailable { .. }), "{error:?}");
    Ok(())
}

#[test]
fn an_address_is_not_quoted() {
    let error = RedisTransport::new("redis://user:secret@:::").unwrap_err();
    assert!(!format!("{error:?} {error}").contains("secret"));
    let transport = RedisTransport::new("redis://user:secret@127.0.0.1:6379").expect("an address");
    assert!(!format!("{transport:?}").contains("secret"));
}

#[tokio::test]
async fn a_durable_run_calls_a_provider() -> anyhow::Result<()> {
    let (_server, transport) = start().await?;
    let serving = serve(&Gates::default(), &transport);
    let model = model(&[("echo", json!({"text": "hello"})), ("add", json!({"a": 1, "b": 2}))]);
    let agent = caller(&RemoteToolset::named("demo"), described());
    let env = environment(&agent, &model, transport, true).await?;
    run(&env, async {}).await?;
    assert_eq!(told(&model), ["hello", r#"{"sum":3}"#]);
    env.finish().await?;
    serving.abort();
    Ok(())
}

#[tokio::test]
async fn a_provider_begins_anew_at_a_server_that_has_lost_everything() -> anyhow::Result<()> {
    let (mut server, transport) = start().await?;
    let serving = serve(&Gates::default(), &transport);
    server.kill();
    server.restart().await?;
    let call = json!({"type": "call", "tool_use_id": "c1", "tool": "demo.echo", "payload": {"text": "hello"}});
    transport.append(Append::new().entry(toolset_stream("demo"), "call", call.to_string())).await?;
    let results = transport.read(&result_stream("c1"), None, 5, PATIENCE).await?;
    let last = results.last().expect("an entry");
    let last = if last.event == "result" {
        last.clone()
    } else {
        transport.read(&result_stream("c1"), Some(last.id), 5, PATIENCE).await?.pop().expect("an entry")
    };
    let result: ToolResultMessage = serde_json::from_slice(&last.payload)?;
    assert_eq!(result, ToolResultMessage::new("c1", json!("hello")));
    serving.abort();
    Ok(())
}
