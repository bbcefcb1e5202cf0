//! The end of a history, newest event first.

use std::collections::BTreeSet;

use serde_json::Value;
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::{
    data_converters::{DataConverter, SerializationContextData},
    protos::temporal::api::{
        common::v1::{Payload, WorkflowExecution},
        enums::v1::WorkflowTaskFailedCause,
        history::v1::{HistoryEvent, history_event::Attributes},
    },
};

use super::{
    facts::{Caller, FailedTask, Tail, millis},
    rules::MAX_EVENTS,
};
use crate::{
    client::history,
    conversations::{NewestFirst, RunKey},
};

/// Number of pages that are read for one event: 140 events.
const MAX_PAGES: usize = 3;

/// The history of an execution.
pub(super) struct History<'c> {
    client: &'c Client,
    key: RunKey,
}

impl<'c> History<'c> {
    pub(super) fn new(client: &'c Client, execution: &WorkflowExecution) -> Self {
        let key = RunKey {
            namespace: client.namespace(),
            workflow_id: execution.workflow_id.clone(),
            run_id: execution.run_id.clone(),
        };
        Self { client, key }
    }

    /// Returns the latest workflow task that has ended, unless it has completed.
    pub(super) async fn failed_task(&self) -> Option<FailedTask> {
        let found = self.find(|event| match &event.attributes {
            Some(
                Attributes::WorkflowTaskFailedEventAttributes(_)
                | Attributes::WorkflowTaskTimedOutEventAttributes(_)
                | Attributes::WorkflowTaskCompletedEventAttributes(_),
            ) => event.attributes,
            _ => None,
        });
        let failed = match found.await? {
            Attributes::WorkflowTaskFailedEventAttributes(failed) => failed,
            Attributes::WorkflowTaskTimedOutEventAttributes(_) => return Some(FailedTask::TimedOut),
            _ => return None,
        };
        let cause = failed.cause();
        let failure = history::failure(self.client.data_converter(), failed.failure.unwrap_or_default()).await;
        let message = if failure.message.is_empty() { cause.as_str_name().to_owned() } else { failure.message };
        match cause {
            WorkflowTaskFailedCause::NonDeterministicError => Some(FailedTask::Nondeterminism(message)),
            // The server asks for the task again, because something else has happened meanwhile.
            WorkflowTaskFailedCause::UnhandledCommand
            | WorkflowTaskFailedCause::ResetStickyTaskQueue
            | WorkflowTaskFailedCause::ResetWorkflow => None,
            _ => Some(FailedTask::Failed(message)),
        }
    }

    /// Returns the origin of an activity.
    pub(super) async fn caller(&self, activity_id: &str) -> Option<Caller> {
        let found = self.find(|event| match event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled))
                if scheduled.activity_id == activity_id =>
            {
                Some((millis(event.event_time.as_ref()), scheduled.input.unwrap_or_default().payloads))
            }
            _ => None,
        });
        let (first_scheduled, input) = found.await?;
        let request = json(self.client.data_converter(), input).await.unwrap_or_default();
        Some(Caller { agent: request["agent"].as_str().map(str::to_owned), first_scheduled })
    }

    /// Reads the whole history for its last event, and for timers that have not fired.
    pub(super) async fn tail(&self) -> Option<Tail> {
        let mut tail: Option<Tail> = None;
        let mut ended = BTreeSet::new();
        let mut pages = NewestFirst::of(self.client, &self.key);
        let mut count = 0;
        while let Some(page) = self.page(&mut pages).await? {
            count += page.len();
            for event in page {
                let tail =
                    tail.get_or_insert(Tail { last_event: millis(event.event_time.as_ref()), may_have_timer: false });
                match event.attributes {
                    Some(Attributes::TimerFiredEventAttributes(fired)) => {
                        ended.insert(fired.started_event_id);
                    }
                    Some(Attributes::TimerCanceledEventAttributes(cancelled)) => {
                        ended.insert(cancelled.started_event_id);
                    }
                    Some(Attributes::TimerStartedEventAttributes(_)) => {
                        tail.may_have_timer |= !ended.contains(&event.event_id);
                    }
                    _ => {}
                }
            }
            if tail.is_some_and(|tail| tail.may_have_timer)
                || i64::try_from(count).is_ok_and(|count| count > MAX_EVENTS)
            {
                break;
            }
        }
        tail
    }

    async fn find<T>(&self, is_found: impl Fn(HistoryEvent) -> Option<T>) -> Option<T> {
        let mut pages = NewestFirst::of(self.client, &self.key);
        for _ in 0..MAX_PAGES {
            if let Some(found) = self.page(&mut pages).await??.into_iter().find_map(&is_found) {
                return Some(found);
            }
        }
        None
    }

    /// Returns the next page; inside, `None` after the last one.
    async fn page(&self, pages: &mut NewestFirst) -> Option<Option<Vec<HistoryEvent>>> {
        let page = pages.next().await;
        if let Err(error) = &page {
            tracing::debug!(workflow_id = self.key.workflow_id, %error, "a history could not be read");
        }
        page.ok()
    }
}

async fn json(converter: &DataConverter, payloads: Vec<Payload>) -> Option<Value> {
    let decoded = converter.codec().decode(&SerializationContextData::None, payloads).await.ok()?;
    serde_json::from_slice(&decoded.first()?.data).ok()
}
