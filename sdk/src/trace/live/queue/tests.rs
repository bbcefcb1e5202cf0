use std::cell::Cell;

use temporalio_common::{
    data_converters::DataConverter,
    protos::temporal::api::history::v1::{
        History, HistoryEvent, WorkflowExecutionCompletedEventAttributes, WorkflowExecutionStartedEventAttributes,
        history_event::Attributes,
    },
};

use super::*;

fn refused() -> TranscriptError {
    tonic::Status::permission_denied("no histories for you").into()
}

async fn transcript(has_end: bool) -> Result<Transcript, TranscriptError> {
    let started =
        Attributes::WorkflowExecutionStartedEventAttributes(WorkflowExecutionStartedEventAttributes::default());
    let completed =
        Attributes::WorkflowExecutionCompletedEventAttributes(WorkflowExecutionCompletedEventAttributes::default());
    let attributes = std::iter::once(started).chain(has_end.then_some(completed));
    let events = attributes.map(|attributes| HistoryEvent { attributes: Some(attributes), ..HistoryEvent::default() });
    Transcript::of_history(History { events: events.collect() }, &DataConverter::default()).await
}

#[tokio::test(start_paused = true)]
async fn a_history_that_cannot_be_read_is_reported_by_its_last_error() {
    let looks = Cell::new(0);
    let unread = ended(|| {
        looks.set(looks.get() + 1);
        async { Err(refused()) }
    })
    .await
    .expect_err("it cannot be read");
    let reason = unread.to_string();
    assert!(reason.contains("history cannot be read") && reason.contains("no histories for you"), "{reason}");
    assert_eq!(looks.get(), LOOKS.len());
    let unread = ended(|| transcript(false)).await.expect_err("it has no end");
    assert_eq!(unread.to_string(), "its history has no end yet");
}

#[tokio::test(start_paused = true)]
async fn a_history_is_read_until_it_has_its_end() {
    let looks = Cell::new(0);
    let read = || {
        looks.set(looks.get() + 1);
        let look = looks.get();
        async move { if look == 1 { Err(refused()) } else { transcript(look == 3).await } }
    };
    let transcript = ended(read).await.expect("it has its end");
    assert_ne!(transcript.end, End::Running);
    assert_eq!(looks.get(), 3);
}
