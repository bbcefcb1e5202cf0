//! The place in a chat's history from which a turn reads.
//!
//! # Design
//! **A turn reads no more than it needs.** A chat continues as new whenever its history has grown,
//! so the execution that has received a message has a bounded history. The first event of each
//! execution names the messages that were open or answered before it: a message that is among these
//! is looked for in the execution before, one request for each.

use temporal_agents_core::wire::RunMode;

use crate::http::service::Shared;

/// The place from which a turn reads. The events of a task are read from their beginning.
#[derive(Debug, Default)]
pub(in crate::http) struct TurnStart {
    /// Temporal's run id of the first execution that is read; `None` for the first of the chat.
    pub(super) execution: Option<String>,
    /// Ids of the messages that the chat remembers at the beginning of that execution.
    pub(super) answered: Vec<String>,
}

impl TurnStart {
    /// Returns the beginning of the latest execution in which the run of this message begins.
    /// `latest` is the chat's latest execution.
    pub(in crate::http) async fn of_message(
        shared: &Shared,
        (mode, id): (RunMode, &str),
        latest: Option<&str>,
        message: &str,
    ) -> Self {
        let Some(events) = shared.events.as_ref().filter(|_| mode == RunMode::Temporal) else { return Self::default() };
        let mut execution = latest.map(str::to_owned);
        let mut found = Self::default();
        while let Some(place) = execution {
            // The server may have deleted an earlier execution: the turn then begins after it.
            let Ok(start) = events.chat_start(id, &place).await else { break };
            let is_earlier =
                start.current.as_deref() == Some(message) || start.answered.iter().any(|old| old == message);
            found = Self { execution: Some(place), answered: start.answered };
            execution = start.previous.filter(|_| is_earlier);
        }
        found
    }

    /// Returns the beginning of this execution, of which the latest calls wait.
    pub(in crate::http) async fn of_execution(
        shared: &Shared,
        (mode, id): (RunMode, &str),
        execution: Option<&str>,
    ) -> Self {
        let events = shared.events.as_ref().filter(|_| mode == RunMode::Temporal);
        let (Some(execution), Some(events)) = (execution, events) else { return Self::default() };
        match events.chat_start(id, execution).await {
            Ok(start) => Self { execution: Some(execution.to_owned()), answered: start.answered },
            Err(_) => Self::default(),
        }
    }
}
