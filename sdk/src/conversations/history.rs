//! Reads the missing parts of a conversation from the workflow's own history, newest event first.
//!
//! It uses the client's data converter, so that codecs (encryption, compression) keep working. It
//! stops at the first event after which nothing is missing: a worker that remembers the
//! conversation of a few turns ago reads only those turns.

use std::{collections::HashMap, sync::Arc};

use serde_json::Value;
use temporal_agents_core::wire::{
    Conversation, Definitions, Item, MODEL_ACTIVITY, ModelReply, ModelRequest, ToolReply, ToolRequest,
    carried::{LOAD_STATE_ACTIVITY, LoadStateReply},
    conversation::{RECORD_ACTIVITY, RecordRequest},
    decode,
    definitions::DefinitionsPart,
    digest::Digest,
    tool_batch::{BatchedOutcome, TOOL_BATCH_ACTIVITY, ToolBatchDetails, ToolBatchReply, ToolBatchRequest, call_in},
};
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::{
    data_converters::{ActivitySerializationContext, DataConverter, SerializationContextData},
    protos::temporal::api::{
        common::v1::Payload,
        failure::v1::{Failure, failure::FailureInfo},
        history::v1::{ActivityTaskScheduledEventAttributes, HistoryEvent, history_event::Attributes},
    },
};

use super::{cache::RunKey, newest_first::NewestFirst, pending::Pending, states::States};

/// The error of a part that history does not return.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    /// The server has refused the request, or is unavailable.
    #[error("the workflow's history cannot be read: {0}")]
    Server(#[from] tonic::Status),
    /// The part is not in history.
    #[error("the workflow's history does not hold {0}")]
    Absent(String),
    /// The part is in history and cannot be read.
    #[error("{what} in the workflow's history cannot be read: {why}")]
    Unreadable { what: String, why: String },
}

/// A reference to definitions that are missing.
#[derive(Clone, Debug)]
pub(super) struct MissingDefinitions {
    pub(super) activity_id: String,
    pub(super) digest: Digest,
}

/// The result of reading history.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) bytes: u64,
    pub(super) pages: u64,
    /// The definitions, if they are in history with the requested digest.
    pub(super) definitions: Option<Arc<Definitions>>,
}

/// Reads until no item is missing, and the definitions were found or turned out to be different.
/// `known` resolves the references of each request on the way from memory.
///
/// # Errors
/// [`HistoryError`].
pub(super) async fn read(
    client: &Client,
    key: &RunKey,
    pending: &mut Pending,
    definitions: Option<&MissingDefinitions>,
    mut known: impl FnMut(&mut Pending),
) -> Result<Read, HistoryError> {
    let converter = client.data_converter().clone();
    let mut read = Read::default();
    let mut definitions = definitions;
    // The results of activities, by the event that scheduled them, which follows in this order.
    let mut results: HashMap<i64, Vec<Payload>> = HashMap::new();
    // The details of their failures: the outcomes of calls whose batch has failed.
    let mut details: HashMap<i64, Vec<Payload>> = HashMap::new();
    let mut states = States::default();
    let mut pages = NewestFirst::of(client, key);
    while let Some(events) = pages.next().await? {
        read.pages += 1;
        for event in events {
            let HistoryEvent { event_id, attributes, .. } = event;
            match attributes {
                Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                    let payloads = completed.result.unwrap_or_default().payloads;
                    results.insert(completed.scheduled_event_id, payloads);
                }
                Some(Attributes::ActivityTaskFailedEventAttributes(failed)) => {
                    details.extend(details_of(failed.failure).map(|details| (failed.scheduled_event_id, details)));
                }
                Some(Attributes::ActivityTaskTimedOutEventAttributes(failed)) => {
                    details.extend(details_of(failed.failure).map(|details| (failed.scheduled_event_id, details)));
                }
                Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                    let result = results.remove(&event_id).unwrap_or_default();
                    let details = details.remove(&event_id).unwrap_or_default();
                    let wants_definitions = definitions.filter(|wanted| wanted.activity_id == scheduled.activity_id);
                    if pending.wants(&scheduled.activity_id) || wants_definitions.is_some() {
                        let event = Event { converter: &converter, scheduled, result, details, read: &mut read };
                        event.take(pending, wants_definitions, &mut states).await?;
                        known(pending);
                        if wants_definitions.is_some() {
                            definitions = None;
                        }
                    }
                }
                _ => {}
            }
            if pending.missing().is_none() && definitions.is_none() {
                return Ok(read);
            }
        }
    }
    match pending.missing() {
        Some(missing) => Err(HistoryError::Absent(missing.to_string())),
        None => Ok(read),
    }
}

/// Returns the details that the failure of an activity holds: those of its last heartbeat after a
/// timeout, otherwise its own.
pub(crate) fn details_of(failure: Option<Failure>) -> Option<Vec<Payload>> {
    let details = match failure?.failure_info? {
        FailureInfo::TimeoutFailureInfo(info) => info.last_heartbeat_details,
        FailureInfo::ApplicationFailureInfo(info) => info.details,
        _ => None,
    };
    Some(details?.payloads).filter(|payloads| !payloads.is_empty())
}

/// An activity whose request or result is needed.
struct Event<'e> {
    converter: &'e DataConverter,
    scheduled: ActivityTaskScheduledEventAttributes,
    /// Payloads of the result; empty if the activity did not complete.
    result: Vec<Payload>,
    /// Payloads of the details of its failure.
    details: Vec<Payload>,
    read: &'e mut Read,
}

impl Event<'_> {
    async fn take(
        mut self,
        pending: &mut Pending,
        definitions: Option<&MissingDefinitions>,
        states: &mut States,
    ) -> Result<(), HistoryError> {
        let activity_id = self.scheduled.activity_id.clone();
        let input = std::mem::take(&mut self.scheduled.input).unwrap_or_default().payloads;
        let kind = self.scheduled.activity_type.take().unwrap_or_default().name;
        if kind == LOAD_STATE_ACTIVITY {
            // A worker refused the activity, so it was scheduled again under another id.
            if self.result.is_empty() {
                return Ok(());
            }
            let LoadStateReply { version: _, chunk } = self.result("the result").await?;
            return states.take(&activity_id, chunk, pending).map_err(|error| self.unreadable("the state", &error));
        }
        if kind == RECORD_ACTIVITY {
            let RecordRequest { version: _, items } = self.message("the request", input).await?;
            pending.recorded(&activity_id, &items);
            return Ok(());
        }
        if kind == TOOL_BATCH_ACTIVITY {
            let request: ToolBatchRequest = self.message("the request", input).await?;
            for BatchedOutcome { index, output, .. } in self.outcomes().await? {
                let call = request.calls.iter().find(|call| call.index == index);
                if let (Some(call), Some(output), Some(id)) = (call, output, call_in(&activity_id, index)) {
                    pending.returned(&id, &Item::function_call_output(&call.call_id, output.into_value()));
                }
            }
            return Ok(());
        }
        if kind != MODEL_ACTIVITY {
            let request: ToolRequest = self.message("the request", input).await?;
            let reply: ToolReply = self.result("the result").await?;
            let item = Item::function_call_output(&request.call_id, reply.output.into_value());
            pending.returned(&activity_id, &item);
            return Ok(());
        }
        let request: ModelRequest = self.message("the request", input).await?;
        let Conversation { segments, count: _, digest: _ } = request.input;
        let given = Pending::of(segments, request.version).map_err(|error| self.unreadable("the request", &error))?;
        let answered = if self.result.is_empty() {
            Vec::new()
        } else {
            self.result::<ModelReply>("the answer").await?.response.output
        };
        pending.found(&activity_id, &given, &answered);
        // The digest differs if a deploy has changed the definitions that replay assumes for this
        // call.
        if let (Some(wanted), DefinitionsPart::Inline { digest, definitions }) = (definitions, request.definitions)
            && wanted.digest == digest
        {
            self.read.definitions = Some(Arc::from(definitions));
        }
        Ok(())
    }

    /// Returns the outcomes of the calls of a batch.
    async fn outcomes(&mut self) -> Result<Vec<BatchedOutcome>, HistoryError> {
        if !self.result.is_empty() {
            return Ok(self.result::<ToolBatchReply>("the result").await?.outcomes);
        }
        if self.details.is_empty() {
            return Ok(Vec::new());
        }
        let details = std::mem::take(&mut self.details);
        Ok(self.message::<ToolBatchDetails>("the failure", details).await?.outcomes)
    }

    async fn result<T: serde::de::DeserializeOwned>(&mut self, what: &str) -> Result<T, HistoryError> {
        let payloads = std::mem::take(&mut self.result);
        self.message(what, payloads).await
    }

    async fn message<T: serde::de::DeserializeOwned>(
        &mut self,
        what: &str,
        payloads: Vec<Payload>,
    ) -> Result<T, HistoryError> {
        self.read.bytes += payloads.iter().map(|payload| payload.data.len() as u64).sum::<u64>();
        let context = SerializationContextData::Activity(ActivitySerializationContext::new());
        let json: Value =
            self.converter.from_payloads(&context, payloads).await.map_err(|error| self.unreadable(what, &error))?;
        decode("message", json).map_err(|error| self.unreadable(what, &error))
    }

    fn unreadable(&self, what: &str, why: &dyn std::fmt::Display) -> HistoryError {
        let what = format!("{what} of activity {}", self.scheduled.activity_id);
        HistoryError::Unreadable { what, why: why.to_string() }
    }
}
