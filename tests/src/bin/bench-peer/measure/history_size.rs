//! The size of a history, event for event, and the difference of two.

use prost::Message;
use temporal_agents_testing::history::History;
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{HistoryEvent, history_event::Attributes},
};

/// The size of a history.
#[derive(Debug)]
pub(super) struct HistorySize {
    pub(super) bytes: usize,
    /// Bytes without the values that differ between any two runs.
    pub(super) comparable_bytes: usize,
    /// The events, and their comparable bytes.
    events: Vec<(EventType, usize)>,
}

impl HistorySize {
    /// Measures a history.
    pub(super) fn of(history: History) -> Self {
        let bytes = history.encoded_len();
        let comparable = comparable(history);
        let size = |event: &HistoryEvent| (event.event_type(), event.encoded_len());
        let events = comparable.events.iter().map(size).collect();
        Self { bytes, comparable_bytes: comparable.encoded_len(), events }
    }

    /// Returns the number of events.
    pub(super) fn events(&self) -> usize {
        self.events.len()
    }

    /// Returns the first event that differs in its type or its comparable bytes; `None` if all are
    /// equal.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let longest = self.events.len().max(other.events.len());
        let differs = |place: &usize| self.events.get(*place) != other.events.get(*place);
        (0..longest).find(differs).map(|place| {
            let shown = |events: &[(EventType, usize)]| match events.get(place) {
                Some((kind, bytes)) => format!("{} of {bytes} bytes", kind.as_str_name()),
                None => "no event".to_owned(),
            };
            format!("event {}: {} and {}", place + 1, shown(&self.events), shown(&other.events))
        })
    }
}

/// Removes the clock readings, the ids of processes and the server's counters: a number may take one
/// byte more or less.
fn comparable(mut history: History) -> History {
    for event in &mut history.events {
        event.event_time = None;
        event.task_id = 0;
        match &mut event.attributes {
            Some(Attributes::WorkflowTaskStartedEventAttributes(started)) => {
                started.history_size_bytes = 0;
                started.identity.clear();
            }
            Some(Attributes::WorkflowTaskCompletedEventAttributes(completed)) => completed.identity.clear(),
            Some(Attributes::ActivityTaskStartedEventAttributes(started)) => started.identity.clear(),
            Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => completed.identity.clear(),
            _ => {}
        }
    }
    history
}
