//! Registrations, pings and pongs, after losses and from strangers.

use std::time::Duration;

use serde_json::json;
use tokio::time::{advance, sleep};

use super::{Served, append, files, path, pings, until};
use crate::remote::{
    gateway::{
        Gateway, GatewayError, Registration, Toolset,
        limits::MAX_TOOLSETS,
        registration::{MOST_REGISTRATIONS, REGISTRATIONS},
    },
    transport::{MemoryTransport, Streams},
};

#[tokio::test(start_paused = true)]
async fn a_toolset_is_healthy_for_40_seconds_after_a_pong_and_a_pong_restores_it() {
    let served = Served::start(&MemoryTransport::new());
    served.provide_files().await;
    sleep(Duration::from_secs(39)).await;
    assert_eq!(served.gateway.health("files"), Ok(()));
    sleep(Duration::from_secs(2)).await;
    let error = served.gateway.call("files", "read", path()).await.expect_err("the pong is old");
    let GatewayError::Unhealthy { threshold, last_pong: Some(_), age: Some(age), .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(*threshold, Duration::from_secs(40));
    assert!((41..42).contains(&age.as_secs()), "{age:?}");
    let message = error.to_string();
    assert!(message.starts_with("toolset \"files\" is unhealthy: threshold 40s, last pong 20"), "{message}");
    assert!(message.contains("Z, age 41."), "{message}");
    served.pong("files").await;
    until(|| served.gateway.health("files").is_ok()).await;
}

#[tokio::test(start_paused = true)]
async fn a_toolset_gets_a_ping_when_it_is_new_and_every_10_seconds_until_it_is_silent_for_40() {
    let served = Served::start(&MemoryTransport::new());
    sleep(Duration::from_secs(5)).await;
    served.register(files()).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(pings(&served.streams, "files").await, 1, "at once");
    sleep(Duration::from_secs(10)).await;
    assert_eq!(pings(&served.streams, "files").await, 2);
    sleep(Duration::from_mins(10)).await;
    assert_eq!(pings(&served.streams, "files").await, 5, "it was silent for 40 s");
    served.register(files()).await;
    sleep(Duration::from_mins(10)).await;
    assert_eq!(pings(&served.streams, "files").await, 9, "a registration is a sign of life");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_starts_ignores_pongs_of_the_past_and_sends_pings() {
    let streams = MemoryTransport::new();
    let first = Served::start(&streams);
    first.provide_files().await;
    drop(first);
    let before = pings(&streams, "files").await;
    let second = Served::start(&streams);
    until(|| second.gateway.catalogue().get("files").is_some()).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(pings(&streams, "files").await, before + 1);
    assert!(matches!(second.gateway.health("files"), Err(GatewayError::Unhealthy { last_pong: None, .. })));
    second.pong("files").await;
    until(|| second.gateway.health("files").is_ok()).await;
}

#[tokio::test(start_paused = true)]
async fn gateways_agree_on_registrations_and_their_ends() {
    let streams = MemoryTransport::new();
    let (one, other) = (Served::start(&streams), Served::start(&streams));
    one.gateway.register(files()).await.expect("it is valid");
    until(|| other.gateway.catalogue().get("files").is_some()).await;
    let registered_at = |served: &Served| served.gateway.catalogue().get("files")?.registered_at.clone();
    until(|| registered_at(&one).is_some() && registered_at(&one) == registered_at(&other)).await;
    one.gateway.register(Toolset::new("files", "one")).await.expect_err("it is not a version");
    other.gateway.unregister("files").await.expect("appended");
    until(|| one.gateway.health("files") == Err(GatewayError::toolset_not_found("files"))).await;
}

#[tokio::test(start_paused = true)]
async fn a_toolset_without_a_sign_of_life_is_forgotten_after_an_hour() {
    let served = Served::start(&MemoryTransport::new());
    served.provide_files().await;
    sleep(Duration::from_mins(59)).await;
    assert!(served.gateway.catalogue().get("files").is_some());
    sleep(Duration::from_mins(2)).await;
    assert!(served.gateway.catalogue().get("files").is_none());
    assert!(!served.streams.exists(REGISTRATIONS).await.expect("readable"), "the stream has expired");
}

#[tokio::test(start_paused = true)]
async fn a_gateway_keeps_its_catalogue_when_the_streams_are_lost_and_reads_those_that_begin_anew() {
    let served = Served::start(&MemoryTransport::new());
    served.provide_files().await;
    served.streams.clear();
    sleep(Duration::from_secs(3)).await;
    assert_eq!(served.gateway.health("files"), Ok(()));
    served.register(Toolset { version: "2.0.0".to_owned(), ..files() }).await;
    let is_new = |toolset: &Toolset| toolset.version == "2.0.0";
    until(|| served.gateway.catalogue().get("files").is_some_and(is_new)).await;
    served.gateway.call("files", "read", path()).await.expect("it is healthy");
}

#[tokio::test(start_paused = true)]
async fn messages_that_cannot_be_read_are_skipped() {
    let served = Served::start(&MemoryTransport::new());
    let bad = [
        ("register", "{".to_owned()),
        ("register", "null".to_owned()),
        ("register", json!({"name": "bad name", "version": "1.0.0", "tools": [{"name": "t"}]}).to_string()),
        ("register", json!({"name": "old", "version": "1", "tools": [{"name": "t"}]}).to_string()),
        (
            "register",
            json!({"name": "many", "version": "1.0.0", "tools": vec![json!({"name": "t"}); 9999]}).to_string(),
        ),
        ("register", json!({"name": "large", "version": "1.0.0", "tags": ["t".repeat(300_000)]}).to_string()),
        ("unregister", "[]".to_owned()),
        ("pong", "{}".to_owned()),
        ("pong", json!({"toolset": "unknown"}).to_string()),
        ("drain", "?".to_owned()),
    ];
    for (event, payload) in bad {
        append(&served.streams, REGISTRATIONS, event, payload).await;
    }
    served.provide_files().await;
    let catalogue = served.gateway.catalogue();
    assert_eq!(catalogue.list(&[]).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_registrations_is_bounded() {
    let streams = MemoryTransport::new();
    let gateway = Gateway::new(streams.clone());
    gateway.register(files()).await.expect("it is valid");
    for number in 0..MOST_REGISTRATIONS {
        let name = format!("t{}", number % 3_000);
        let registration = Registration::Register(Box::new(Toolset { name, ..files() }));
        streams.append(registration.append().expect("JSON")).await.expect("appended");
    }
    let kept = streams.read(REGISTRATIONS, None, usize::MAX, Duration::ZERO).await.expect("readable").len();
    assert_eq!(kept, MOST_REGISTRATIONS, "the stream is bounded");
    let served = Served::start(&streams);
    until(|| served.gateway.catalogue().list(&[]).len() == MAX_TOOLSETS).await;
    sleep(Duration::from_secs(35)).await;
    assert_eq!(served.gateway.catalogue().list(&[]).len(), MAX_TOOLSETS);
    assert_eq!(pings(&streams, "t0").await, 4, "at the start, and every 10 s");
    assert_eq!(pings(&streams, "t1000").await, 0, "what is not in the catalogue gets none");
    advance(Duration::from_mins(10)).await;
    sleep(Duration::from_mins(1)).await;
    assert!(pings(&streams, "t0").await <= 5, "a toolset without a provider gets no more");
}
