//! Calls that must not be made twice, and calls that nobody waits for.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use rstest::rstest;
use serde_json::json;
use temporal_agents_core::tool::OUTCOME_UNKNOWN;
use tokio::{sync::Notify, time::advance};

use super::{Call, Payments, Stop, Task, provider, registry, request, result, result_soon, still};
use crate::{
    remote::transport::{Append, Appended, Entry, EntryId, GroupMember, MemoryTransport, StreamError, Streams},
    worker::ToolProvider,
};

const MINUTE: Duration = Duration::from_mins(1);

/// Lets a provider serve for a while, in which it would begin what it can.
async fn serve_for_a_while(payments: &Arc<Payments>, streams: &MemoryTransport) {
    let task = Task::serve(provider(payments, streams)).await;
    for _ in 0..60 {
        advance(Duration::from_secs(2)).await;
        // A body that has begun is noted by its own thread.
        still(ready(())).await;
    }
    task.kill().await;
}

#[rstest]
#[case::shorter_than_marks(5)]
#[case::longer_than_the_retention(16)]
#[case::longer_than_the_result_stream(200)]
#[case::longer_than_marks(7 * 60)]
#[tokio::test(start_paused = true)]
async fn a_call_does_not_begin_again_after_an_outage(#[case] minutes: u32) -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let first = Task::serve(provider(&payments, &streams)).await;
    // The caller keeps the result stream for longer than the provider would.
    streams.append(request("c1", "pay", true, Some(MINUTE * 180))).await?;
    still(payments.begins.notified()).await;
    first.kill().await;
    advance(MINUTE * minutes).await;
    serve_for_a_while(&payments, &streams).await;
    assert_eq!(payments.count(), 1);
    let has_mark = minutes < 6 * 60;
    assert_eq!(result(&streams, "c1").await, has_mark.then(|| Err("outcome_unknown".to_owned())));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_mark_exists_while_its_call_runs() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let first = Task::serve(provider(&payments, &streams)).await;
    streams.append(request("c1", "pay", true, Some(MINUTE * 15))).await?;
    still(payments.begins.notified()).await;
    tokio::time::sleep(MINUTE * 50).await;
    assert!(streams.exists("result:c1:begun").await?);
    // A writer that knows nothing of marks appends to the stream that has expired.
    streams.append(Append::new().entry("result:c1", "output_delta", "{}")).await?;
    first.kill().await;
    advance(MINUTE).await;
    serve_for_a_while(&payments, &streams).await;
    assert_eq!(payments.count(), 1);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_result_is_not_made_again() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let first = Task::serve(provider(&payments, &streams)).await;
    streams.append(request("c1", "pay", false, Some(MINUTE * 180))).await?;
    assert_eq!(result_soon(&streams, "c1").await, Ok(json!("paid")));
    first.kill().await;
    // As if the acknowledgement had been lost.
    let again = request("c1", "pay", false, None);
    streams.append(again).await?;
    advance(MINUTE * 100).await;
    serve_for_a_while(&payments, &streams).await;
    assert_eq!(payments.count(), 1);
    assert_eq!(result(&streams, "c1").await, Some(Ok(json!("paid"))));
    Ok(())
}

#[rstest]
#[case::must_not_run_twice("pay", OUTCOME_UNKNOWN)]
#[case::may_run_twice("look", "Tool 'look' timed out after 60 seconds.")]
#[tokio::test(start_paused = true)]
async fn a_call_whose_run_was_told_is_not_made(
    #[case] tool: &'static str,
    #[case] outcome: &str,
    #[values(0, 10, 6 * 60)] minutes: u32,
) -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    // A provider in another language has created the group.
    streams.create_group("toolset:demo:requests", "provider", MINUTE).await?;
    let call = Call { tool, ..Call::new(&streams, "c1") };
    assert_eq!(call.told().await, outcome);
    advance(MINUTE * minutes).await;
    serve_for_a_while(&payments, &streams).await;
    assert_eq!(payments.count(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_begun_after_its_deadline() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    streams.create_group("toolset:demo:requests", "provider", MINUTE).await?;
    for tool in ["pay", "look"] {
        let call = Call { tool, ..Call::new(&streams, tool) };
        // Its worker is killed before the caller can give up.
        let killed = tokio::time::timeout(Duration::from_secs(50), call.told()).await;
        assert!(killed.is_err());
    }
    advance(Duration::from_secs(11)).await;
    serve_for_a_while(&payments, &streams).await;
    assert_eq!(payments.count(), 0);
    for tool in ["pay", "look"] {
        assert_eq!(result(&streams, tool).await, Some(Err("expired".to_owned())));
    }
    Ok(())
}

/// Streams of a broker that has no memory left: it answers, but takes no results and no marks.
#[derive(Clone)]
struct FullBroker {
    streams: MemoryTransport,
    is_full: Arc<AtomicBool>,
    refused: Arc<Notify>,
}

impl Streams for FullBroker {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, StreamError>> {
        if self.is_full.load(Ordering::Acquire) && format!("{append:?}").contains("result:") {
            self.refused.notify_one();
            let error = StreamError::Unavailable { stream: "begun".to_owned(), reason: "out of memory".to_owned() };
            return ready(Err(error)).boxed();
        }
        self.streams.append(append)
    }

    fn read<'a>(
        &'a self,
        stream: &'a str,
        after: Option<EntryId>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.streams.read(stream, after, most, wait)
    }

    fn exists<'a>(&'a self, stream: &'a str) -> BoxFuture<'a, Result<bool, StreamError>> {
        self.streams.exists(stream)
    }

    fn create_group<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        since: Duration,
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        self.streams.create_group(stream, group, since)
    }

    fn read_group<'a>(
        &'a self,
        member: GroupMember<'a>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.streams.read_group(member, most, wait)
    }

    fn claim_idle<'a>(
        &'a self,
        member: GroupMember<'a>,
        idle: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.streams.claim_idle(member, idle, most)
    }

    fn renew<'a>(&'a self, member: GroupMember<'a>, ids: &'a [EntryId]) -> BoxFuture<'a, Result<(), StreamError>> {
        self.streams.renew(member, ids)
    }

    fn acknowledge<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        self.streams.acknowledge(stream, group, ids)
    }

    fn idle_time<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
    ) -> BoxFuture<'a, Result<Option<Duration>, StreamError>> {
        self.streams.idle_time(stream, group)
    }

    fn now(&self) -> BoxFuture<'_, Result<u64, StreamError>> {
        self.streams.now()
    }
}

#[tokio::test(start_paused = true)]
async fn no_call_begins_late_at_a_full_broker() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let broker = FullBroker { streams: streams.clone(), is_full: Arc::default(), refused: Arc::default() };
    broker.is_full.store(true, Ordering::Release);
    let provider = ToolProvider::new("demo", registry(&payments), broker.clone()).drain(Duration::ZERO);
    let task = Task::serve(provider).await;
    let call = Call::new(&streams, "c1");
    // Its worker is killed before the caller can give up.
    let killed = tokio::time::timeout(Duration::from_secs(50), call.told()).await;
    assert!(killed.is_err());
    broker.refused.notified().await;
    // The provider is between two attempts, of which the first was in time.
    broker.is_full.store(false, Ordering::Release);
    advance(Duration::from_secs(11)).await;
    assert_eq!(result_soon(&streams, "c1").await, Err("expired".to_owned()));
    assert_eq!(payments.count(), 0);
    task.kill().await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn results_bound_calls_without_a_deadline() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    streams.create_group("toolset:demo:requests", "provider", MINUTE).await?;
    // Callers in other languages, of which two create no result stream.
    streams.append(request("early", "look", false, None)).await?;
    streams.append(request("kept", "pay", false, Some(MINUTE * 180))).await?;
    streams.append(request("gone", "pay", false, Some(MINUTE))).await?;
    advance(MINUTE * 14).await;
    let task = Task::serve(provider(&payments, &streams)).await;
    assert_eq!(result_soon(&streams, "early").await, Ok(json!("paid")));
    assert_eq!(result_soon(&streams, "kept").await, Ok(json!("paid")));
    task.kill().await;
    streams.append(request("late", "look", false, None)).await?;
    advance(MINUTE * 16).await;
    serve_for_a_while(&payments, &streams).await;
    assert_eq!(payments.count(), 2);
    assert_eq!(result(&streams, "gone").await, None);
    assert_eq!(result(&streams, "late").await, None);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_does_not_begin() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    streams.create_group("toolset:demo:requests", "provider", MINUTE).await?;
    for tool in ["pay", "look"] {
        let call = Call { tool, ..Call::new(&streams, tool) };
        let stop = Stop::new(true);
        let cancelling = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            stop.cancel();
        };
        let (outcome, ()) = tokio::join!(call.attempt(1, Arc::clone(&stop)), cancelling);
        assert!(outcome.is_err());
    }
    serve_for_a_while(&payments, &streams).await;
    assert_eq!(payments.count(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_the_body_of_the_call() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let _task = Task::serve(provider(&payments, &streams)).await;
    let call = Call { waits: true, timeout: MINUTE * 10, ..Call::new(&streams, "c1") };
    let stop = Stop::new(true);
    let cancelling = async {
        still(payments.begins.notified()).await;
        stop.cancel();
    };
    let (outcome, ()) = tokio::join!(call.attempt(1, Arc::clone(&stop)), cancelling);
    assert!(outcome.is_err());
    // More than a third of the lease.
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(result(&streams, "c1").await, Some(Err("cancelled".to_owned())));
    payments.is_cancelled.notified().await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_cancels_no_call() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    let payments = Arc::new(Payments::default());
    let _task = Task::serve(provider(&payments, &streams)).await;
    let call = Call { waits: true, timeout: MINUTE * 10, ..Call::new(&streams, "c1") };
    let stop = Stop::new(false);
    let stopping = async {
        still(payments.begins.notified()).await;
        stop.cancel();
    };
    let (outcome, ()) = tokio::join!(call.attempt(1, Arc::clone(&stop)), stopping);
    assert!(outcome.is_err());
    assert!(!streams.exists("result:c1:given_up").await?);
    payments.ends.notify_one();
    let joined = still(call.attempt(2, Stop::new(true))).await.expect("an outcome");
    assert_eq!((joined.as_str(), payments.count()), ("paid", 1));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn later_attempt_joins_a_given_up_call() -> Result<(), StreamError> {
    let streams = MemoryTransport::new();
    streams.create_group("toolset:demo:requests", "provider", MINUTE).await?;
    let call = Call { timeout: MINUTE * 10, ..Call::new(&streams, "c1") };
    assert_eq!(call.told().await, OUTCOME_UNKNOWN);
    let begun = tokio::time::Instant::now();
    let joined = call.attempt(2, Stop::new(true)).await.expect("an outcome");
    assert_eq!(joined, OUTCOME_UNKNOWN);
    assert!(begun.elapsed() < Duration::from_secs(1));
    Ok(())
}
