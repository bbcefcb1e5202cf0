//! Requests that cannot be served, providers that end, and the lives of streams.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::{sync::oneshot, time::advance};

use super::{Call, Payments, Task, provider, registry, request, result, result_soon, still};
use crate::{
    remote::{
        message::{RESULT_EVENT, result_stream, toolset_stream},
        transport::{Append, GroupMember, MemoryTransport, StreamError, Streams},
    },
    worker::ToolProvider,
};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn ids_that_cannot_be_served_are_skipped() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let requests = toolset_stream("demo");
    streams.create_group(&requests, "provider", MINUTE).await?;
    let long = "n".repeat(500);
    let ids = ["with a space", "n\0", "n*", "n?", "n[0]", &long];
    for id in ids {
        streams.append(request(id, "look", false, None)).await?;
        streams.append(request(id, "pay", false, None)).await?;
    }
    streams.append(request("c1", "look", false, None)).await?;
    let _task = Task::serve(provider(&payments, &streams)).await;
    assert_eq!(result_soon(&streams, "c1").await, Ok(json!("paid")));
    assert_eq!(payments.count(), 1);
    // None of them is delivered again.
    advance(MINUTE).await;
    let member = GroupMember { stream: &requests, group: "provider", consumer: "other" };
    assert_eq!(streams.claim_idle(member, Duration::ZERO, 100).await?, []);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_while_a_provider_ends() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let first = ToolProvider::new("demo", registry(&payments), streams.clone()).drain(MINUTE * 10);
    let (stop, stopped) = oneshot::channel::<()>();
    let first = tokio::spawn(async move { first.serve(async { drop(stopped.await) }).await });
    for tool in ["pay", "look"] {
        streams.append(request(tool, tool, true, Some(MINUTE * 180))).await?;
        still(payments.begins.notified()).await;
    }
    drop(stop);
    let _second = Task::serve(provider(&payments, &streams)).await;
    // Many times the lease.
    tokio::time::sleep(MINUTE * 5).await;
    assert_eq!(payments.count(), 2);
    payments.ends.notify_waiters();
    for tool in ["pay", "look"] {
        assert_eq!(result_soon(&streams, tool).await, Ok(json!("paid")));
    }
    first.await.expect("it has ended");
    assert_eq!(payments.count(), 2);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_life_of_a_result_is_never_shortened() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let _task = Task::serve(provider(&payments, &streams)).await;
    // The second one never expires.
    streams.append(request("long", "pay", false, Some(MINUTE * 180))).await?;
    streams.append(Append::new().entry(result_stream("ever"), "init", "{}")).await?;
    streams.append(request("ever", "pay", false, None)).await?;
    streams.append(request("short", "pay", false, Some(MINUTE))).await?;
    for id in ["long", "ever", "short"] {
        assert_eq!(result_soon(&streams, id).await, Ok(json!("paid")));
    }
    advance(MINUTE * 14).await;
    assert!(streams.exists(&result_stream("short")).await?);
    advance(MINUTE * 165).await;
    assert!(!streams.exists(&result_stream("short")).await?);
    assert!(streams.exists(&result_stream("long")).await?);
    advance(MINUTE * 1000).await;
    assert!(!streams.exists(&result_stream("long")).await?);
    assert!(streams.exists(&result_stream("ever")).await?);
    assert!(streams.exists("result:ever:ended").await?);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn deltas_create_no_stream_that_never_expires() -> Result<(), StreamError> {
    for (id, tool, kept) in [("once", "pay", Some(MINUTE)), ("foreign", "look", None)] {
        let streams = MemoryTransport::new();
        let payments = Arc::new(Payments::default());
        let _task = Task::serve(provider(&payments, &streams)).await;
        streams.append(request(id, tool, true, kept)).await?;
        still(payments.begins.notified()).await;
        advance(MINUTE * 2).await;
        assert!(!streams.exists(&result_stream(id)).await?);
        payments.says.notify_one();
        still(payments.said.notified()).await;
        tokio::time::sleep(MINUTE * 16).await;
        assert!(!streams.exists(&result_stream(id)).await?, "{id}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_too_large_is_a_failure() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    streams.create_group(&toolset_stream("demo"), "provider", MINUTE).await?;
    let call = Call::new(&streams, "c1");
    let answer = async {
        streams.read(&result_stream("c1"), None, 1, MINUTE).await?;
        let large = vec![b' '; 8 * 1024 * 1024 + 1];
        streams.append(Append::new().entry(result_stream("c1"), RESULT_EVENT, large)).await
    };
    let (told, answered) = tokio::join!(call.told(), answer);
    answered?;
    assert_eq!(told, "Tool 'pay' has run, but its result of 8388609 bytes is over the limit of 8388608.");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_provider_fails_at_once() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let begun = tokio::time::Instant::now();
    let nobody = "Tool 'pay' was not called: toolset 'demo' has no provider at work now.";
    assert_eq!(Call::new(&streams, "c0").told().await, nobody);
    assert!(begun.elapsed() <= Duration::from_secs(6));
    let task = Task::serve(provider(&payments, &streams)).await;
    assert_eq!(Call::new(&streams, "c1").told_soon().await, "paid");
    task.kill().await;
    advance(MINUTE).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(Call::new(&streams, "c2").told().await, nobody);
    assert!(begun.elapsed() <= Duration::from_secs(6));
    assert!(!streams.exists(&result_stream("c2")).await?, "it was not published");
    assert_eq!(result(&streams, "c2").await, None);
    let _task = Task::serve(provider(&payments, &streams)).await;
    assert_eq!(Call::new(&streams, "c3").told_soon().await, "paid");
    Ok(())
}
