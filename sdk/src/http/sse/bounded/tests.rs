use std::time::Duration;

use axum::response::sse::Event;
use futures::{FutureExt, StreamExt, stream};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{Bounded, Cut, StreamLimits};
use crate::http::sse::Sent;

const LIMIT: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_mins(1);

fn last(cut: Cut, cursor: Option<String>) -> Event {
    Event::default().event(cut.code()).id(cursor.unwrap_or_default())
}

fn text(event: &Event) -> String {
    format!("{event:?}")
}

/// Events without an end, which hold `held` until they are dropped.
fn bounded(held: oneshot::Sender<()>, stopping: &CancellationToken) -> Bounded {
    let events = stream::iter(0..).map(move |number| {
        let _held = &held;
        Sent { event: Event::default().data(number.to_string()), cursor: Some(format!("c{number}")) }
    });
    Bounded::new(events.boxed(), StreamLimits { slow_reader: LIMIT, stopping: stopping.clone() }, last)
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_cut_with_its_cursor_and_holds_nothing() {
    let (held, dropped) = oneshot::channel();
    let mut events = bounded(held, &CancellationToken::new());
    events.next().await;
    events.next().await;
    timeout(PATIENCE, dropped).await.expect("the source is dropped before the reader comes back").unwrap_err();
    let cut = events.next().await.expect("a last event");
    assert!(text(&cut).contains("slow_reader") && text(&cut).contains("c1"), "{cut:?}");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_reader_that_waits_for_news_is_not_slow() {
    let limits = StreamLimits { slow_reader: LIMIT, stopping: CancellationToken::new() };
    let mut events = Bounded::new(stream::pending().boxed(), limits, last);
    assert!(timeout(LIMIT * 10, events.next()).await.is_err(), "it waits");
    assert!(events.next().now_or_never().is_none(), "and waits on");
}

#[tokio::test]
async fn a_service_that_stops_cuts_its_streams() {
    let stopping = CancellationToken::new();
    let mut events = bounded(oneshot::channel().0, &stopping);
    events.next().await;
    stopping.cancel();
    let cut = events.next().await.expect("a last event");
    assert!(text(&cut).contains("stopping") && text(&cut).contains("c0"), "{cut:?}");
    assert!(events.next().await.is_none());
}
