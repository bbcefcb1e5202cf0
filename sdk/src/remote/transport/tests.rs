//! Streams in memory; `tests/it/remote` plays the same against Redis.

use std::time::Duration;

use super::{Append, Appended, GroupMember, MemoryTransport, StreamError, Streams};

const NOW: Duration = Duration::ZERO;
const MEMBER: GroupMember<'static> = GroupMember { stream: "s", group: "g", consumer: "c" };

async fn events(streams: &MemoryTransport) -> Vec<String> {
    let entries = streams.read("s", None, 10, NOW).await.expect("readable");
    entries.into_iter().map(|entry| entry.event).collect()
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_exists_is_not_appended_to_if_it_must_not() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let append = |event: &str| Append::new().unless_exists("s").entry("s", event, "{}").entry("t", event, "{}");
    assert_eq!(streams.append(append("one")).await?, Appended::Appended);
    assert_eq!(streams.append(append("two")).await?, Appended::Exists);
    assert_eq!(events(&streams).await, ["one"]);
    assert_eq!(streams.read("t", None, 10, NOW).await?.len(), 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_conditions_of_an_append_hold_for_all_streams() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    streams.append(Append::new().entry("a", "one", "{}").entry("b", "one", "{}")).await?;
    let append = || Append::new().only_if_exists("a").only_if_exists("b").unless_exists("c").unless_exists("d");
    assert_eq!(streams.append(append().only_if_exists("e").entry("a", "two", "{}")).await?, Appended::Missing);
    assert_eq!(streams.append(append().unless_exists("a").entry("a", "two", "{}")).await?, Appended::Exists);
    assert_eq!(streams.read("a", None, 10, NOW).await?.len(), 1);
    assert_eq!(streams.append(append().entry("d", "two", "{}")).await?, Appended::Appended);
    assert_eq!(streams.append(append()).await?, Appended::Exists);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_consumer_is_active_when_it_asks_for_entries() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let missing = StreamError::NoGroup { stream: "s".to_owned(), group: "g".to_owned() };
    assert_eq!(streams.idle_time("s", "g").await, Err(missing));
    streams.create_group("s", "g", NOW).await?;
    assert_eq!(streams.idle_time("s", "g").await?, None);
    streams.read_group(MEMBER, 1, NOW).await?;
    let began = streams.now().await?;
    tokio::time::advance(Duration::from_secs(3)).await;
    assert_eq!(streams.idle_time("s", "g").await?, Some(Duration::from_secs(3)));
    assert_eq!(streams.now().await? - began, 3_000);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_it_expires() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    streams.append(Append::new().entry("s", "one", "{}").expire("s", Duration::from_mins(1))).await?;
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(streams.exists("s").await?);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(!streams.exists("s").await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_a_stream_that_does_not_exist() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let append = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        streams.append(Append::new().entry("s", "one", "{}")).await
    };
    let (read, appended) = tokio::join!(streams.read("s", None, 10, Duration::from_secs(5)), append);
    appended?;
    let first = read?;
    assert_eq!(first.len(), 1);
    assert_eq!(streams.read("s", Some(first[0].id), 10, Duration::from_secs(5)).await?, []);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_group_delivers_each_entry_once_and_again_if_it_is_not_acknowledged() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let missing = StreamError::NoGroup { stream: "s".to_owned(), group: "g".to_owned() };
    assert_eq!(streams.read_group(MEMBER, 1, NOW).await, Err(missing));
    streams.append(Append::new().entry("s", "one", "{}").entry("s", "two", "{}")).await?;
    streams.create_group("s", "g", Duration::from_mins(1)).await?;
    streams.create_group("s", "g", Duration::from_mins(1)).await?;
    let first = streams.read_group(MEMBER, 1, NOW).await?;
    let second = streams.read_group(MEMBER, 5, NOW).await?;
    assert_eq!((first[0].event.as_str(), second[0].event.as_str()), ("one", "two"));
    assert_eq!(streams.read_group(MEMBER, 5, NOW).await?, []);
    streams.acknowledge("s", "g", &[first[0].id]).await?;
    let idle = Duration::from_secs(10);
    tokio::time::advance(Duration::from_secs(6)).await;
    streams.renew(MEMBER, &[second[0].id]).await?;
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(streams.claim_idle(MEMBER, idle, 5).await?, [], "it was renewed");
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(streams.claim_idle(MEMBER, idle, 5).await?, second);
    assert_eq!(streams.claim_idle(MEMBER, idle, 5).await?, [], "it is claimed");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_oldest_entries_of_a_limited_stream_are_removed() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    for event in ["one", "two", "three"] {
        streams.append(Append::new().entry("s", event, "{}").max_len("s", 2)).await?;
    }
    assert_eq!(events(&streams).await, ["two", "three"]);
    Ok(())
}

#[tokio::test]
async fn a_name_that_no_stream_can_have_is_refused() {
    let streams = MemoryTransport::new();
    for name in ["", "a b", "a*", "a[0]", "a?", &"n".repeat(513)] {
        let refused = StreamError::Name { stream: name.chars().take(100).collect() };
        assert_eq!(streams.exists(name).await, Err(refused), "{name}");
    }
}
