use std::{sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use temporal_agents_core::wire::{EventKind, RunEvent};
use temporalio_common::data_converters::DataConverter;
use tokio::time::{Instant, timeout};

use super::{BrokerDeltas, Channel, stream_of};
use crate::{
    client::{DeltaCall, DeltaReader},
    deltas::{DeltaBatch, DeltaChannel},
    remote::{
        BatchWriter,
        transport::{Append, Appended, Entry, EntryId, GroupMember, MemoryTransport, StreamError, Streams},
    },
};

const CALL: &str = "r/1-model";
const PLACE: [&str; 3] = ["default", "order 7 *?[]\0", "run"];

fn channel(streams: impl Streams, [namespace, workflow_id, run_id]: [&str; 3]) -> Channel {
    let execution = Some([namespace, workflow_id, run_id].map(str::to_owned));
    Channel { writer: BatchWriter::new(Arc::new(streams)), converter: DataConverter::default(), execution }
}

fn call([namespace, workflow_id, run_id]: [&str; 3]) -> DeltaCall {
    DeltaCall {
        namespace: namespace.to_owned(),
        workflow_id: workflow_id.to_owned(),
        run_id: run_id.to_owned(),
        id: CALL.to_owned(),
        converter: DataConverter::default(),
    }
}

fn batch(attempt: u32, numbers: std::ops::Range<u64>, text: &str) -> DeltaBatch {
    let event = |number: u64| {
        let (message_id, delta) = (format!("{CALL}/0"), text.to_owned());
        let id = format!("{CALL}#{attempt}.{number}");
        RunEvent { id, ..RunEvent::new(EventKind::TextDelta { message_id, attempt, delta }) }
    };
    DeltaBatch { events: numbers.map(event).collect(), native: Vec::new() }
}

/// The ids of the next deltas.
async fn next(deltas: &mut BoxStream<'static, Vec<RunEvent>>) -> Vec<String> {
    let batch = timeout(Duration::from_mins(1), deltas.next()).await.ok().flatten().unwrap_or_default();
    batch.into_iter().map(|event| event.id).collect()
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_begins_later_receives_the_beginning() {
    let streams = MemoryTransport::new();
    let (mut sender, broker) = (channel(streams.clone(), PLACE), BrokerDeltas::new(streams));
    let sent = batch(1, 0..2, "a");
    assert!(sender.send(sent.clone()).await);
    let mut first = broker.read(call(PLACE));
    assert_eq!(first.next().await, Some(sent.events));
    assert!(sender.send(batch(1, 2..3, "b")).await);
    assert_eq!(next(&mut first).await, ["r/1-model#1.2"]);
    let mut second = broker.read(call(PLACE));
    assert_eq!(next(&mut second).await, ["r/1-model#1.0", "r/1-model#1.1", "r/1-model#1.2"]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_another_place_receives_nothing() {
    let streams = MemoryTransport::new();
    assert!(channel(streams.clone(), PLACE).send(batch(1, 0..1, "a")).await);
    let broker = BrokerDeltas::new(streams);
    let others = [["other", PLACE[1], "run"], ["default", "order 7", "run"], ["default", PLACE[1], "later"]];
    for place in others {
        assert_eq!(next(&mut broker.read(call(place))).await, [""; 0], "{place:?}");
    }
    // The parts of a name do not run into each other.
    assert_ne!(stream_of(["a", "bc", "d", "e"]), stream_of(["ab", "c", "d", "e"]));
}

#[tokio::test(start_paused = true)]
async fn a_stream_holds_the_latest_part_of_the_latest_attempt_and_expires() {
    let streams = MemoryTransport::new();
    let name = stream_of([PLACE[0], PLACE[1], PLACE[2], CALL]);
    let held = async || streams.read(&name, None, 100, Duration::ZERO).await.expect("readable").len();
    let mut first = channel(streams.clone(), PLACE);
    for number in 0..20 {
        assert!(first.send(batch(1, number..number + 1, &"x".repeat(200_000))).await);
    }
    assert_eq!(held().await, 4, "1 MB are kept");
    assert!(channel(streams.clone(), PLACE).send(batch(2, 0..1, "a")).await);
    assert_eq!(held().await, 1, "the second attempt replaces the first");
    tokio::time::advance(Duration::from_secs(301)).await;
    assert_eq!(held().await, 0);
}

#[tokio::test]
async fn an_entry_of_another_form_is_skipped() {
    let streams = MemoryTransport::new();
    let name = stream_of([PLACE[0], PLACE[1], PLACE[2], CALL]);
    for payload in ["", "no payload", "{}"] {
        streams.append(Append::new().entry(&*name, "odd", payload)).await.expect("appended");
    }
    assert!(channel(streams.clone(), PLACE).send(batch(1, 0..1, "a")).await);
    assert_eq!(next(&mut BrokerDeltas::new(streams).read(call(PLACE))).await, ["r/1-model#1.0"]);
}

/// Streams of a broker that is not available, or never answers.
#[derive(Clone, Copy)]
struct Unavailable {
    answers: bool,
}

impl Unavailable {
    fn outcome<T: Send + 'static>(self) -> BoxFuture<'static, Result<T, StreamError>> {
        let error = StreamError::Unavailable { stream: "s".to_owned(), reason: "down".to_owned() };
        if self.answers { std::future::ready(Err(error)).boxed() } else { std::future::pending().boxed() }
    }
}

impl Streams for Unavailable {
    fn append(&self, _append: Append) -> BoxFuture<'_, Result<Appended, StreamError>> {
        self.outcome()
    }

    fn read<'a>(
        &'a self,
        _stream: &'a str,
        _after: Option<EntryId>,
        _most: usize,
        _wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.outcome()
    }

    fn exists<'a>(&'a self, _stream: &'a str) -> BoxFuture<'a, Result<bool, StreamError>> {
        self.outcome()
    }

    fn create_group<'a>(
        &'a self,
        _stream: &'a str,
        _group: &'a str,
        _since: Duration,
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        self.outcome()
    }

    fn read_group<'a>(
        &'a self,
        _member: GroupMember<'a>,
        _most: usize,
        _wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.outcome()
    }

    fn claim_idle<'a>(
        &'a self,
        _member: GroupMember<'a>,
        _idle: Duration,
        _most: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.outcome()
    }

    fn renew<'a>(&'a self, _member: GroupMember<'a>, _ids: &'a [EntryId]) -> BoxFuture<'a, Result<(), StreamError>> {
        self.outcome()
    }

    fn acknowledge<'a>(
        &'a self,
        _stream: &'a str,
        _group: &'a str,
        _ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        self.outcome()
    }

    fn idle_time<'a>(
        &'a self,
        _stream: &'a str,
        _group: &'a str,
    ) -> BoxFuture<'a, Result<Option<Duration>, StreamError>> {
        self.outcome()
    }

    fn now(&self) -> BoxFuture<'_, Result<u64, StreamError>> {
        self.outcome()
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_no_broker_takes_is_lost_in_bounded_time() {
    for answers in [false, true] {
        let begun = Instant::now();
        assert!(!channel(Unavailable { answers }, PLACE).send(batch(1, 0..1, "a")).await);
        assert!(begun.elapsed() <= Duration::from_secs(5));
        assert_eq!(next(&mut BrokerDeltas::new(Unavailable { answers }).read(call(PLACE))).await, [""; 0]);
    }
}
