//! The events of a workflow's history, as records of this crate: activities with their requests and
//! replies, questions, decisions, notes, and the end of the workflow.
//!
//! The one reader of histories in this crate's clients: transcripts and event streams are made from
//! its records. The author's own activities are left out. Local activities are read from their
//! markers, which hold the result and not the request.

mod batch;
mod failure;
mod messages;
mod record;
mod request;

use std::collections::BTreeMap;

use serde_json::Value;
use temporal_agents_core::wire::{
    AGENT_DECIDE, AGENT_SUPPLY_OUTPUT, AgentDecision, MODEL_ACTIVITY, ModelReply, RecordedFailure, RunEvent,
    SuppliedOutput, TraceSettings,
    asked_questions::{AskedQuestions, QUESTIONS_MEMO},
    decode,
    event::RUN_NOTE_MEMO,
    ready_made::CHAT_SEND,
    trace_settings::{TRACE_HEADER, TRACER_DATA},
};
use temporalio_common::{
    data_converters::DataConverter,
    payload_visitor::decode_payloads,
    protos::{
        coresdk::common::extract_local_activity_marker_details,
        temporal::api::{
            common::v1::{Header, Payload},
            enums::v1::{ParentClosePolicy, WorkflowTaskFailedCause},
            failure::v1::Failure as WireFailure,
            history::v1::{
                ActivityTaskScheduledEventAttributes, HistoryEvent, MarkerRecordedEventAttributes,
                WorkflowExecutionStartedEventAttributes, WorkflowPropertiesModifiedEventAttributes,
                history_event::Attributes,
            },
            sdk::v1::UserMetadata,
            update::{self, v1::outcome},
        },
    },
};

use self::{
    batch::PendingBatch,
    messages::{message, plain},
};
pub(super) use self::{
    failure::read as failure,
    messages::value,
    record::{ActivityKey, Kind, Record, Reply, Request, Start},
};
use super::transcript::{End, Status};
use crate::workflow::stream::messages::{PublishEntry, PublishInput, STREAM_PUBLISH, decode_payload};

const LOCAL_ACTIVITY: &str = "core_local_activity";

/// Reads events one by one, in their order.
#[derive(Debug)]
pub(super) struct HistoryReader {
    converter: DataConverter,
    /// The activities that have not ended, by the id of the event that scheduled them.
    pending: BTreeMap<i64, (String, Kind)>,
    /// The batches that have not ended, in the same way.
    batches: BTreeMap<i64, PendingBatch>,
}

impl HistoryReader {
    pub(super) fn new(converter: &DataConverter) -> Self {
        Self { converter: converter.clone(), pending: BTreeMap::new(), batches: BTreeMap::new() }
    }

    /// Reads the next event; nothing for an event that records nothing of this crate. The event of
    /// a batch has the records of all its calls. A message that cannot be read is an error in its
    /// record.
    pub(super) async fn read(&mut self, event: HistoryEvent) -> Vec<Record> {
        match Box::pin(self.of_batch(event)).await {
            Ok(records) => records,
            // Boxed, because it holds a whole event.
            Err(event) => Box::pin(self.record_of(*event)).await.into_iter().collect(),
        }
    }

    async fn record_of(&mut self, event: HistoryEvent) -> Option<Record> {
        let HistoryEvent { event_id, attributes, user_metadata, .. } = event;
        match attributes? {
            Attributes::WorkflowExecutionStartedEventAttributes(started) => {
                Some(Record::Started(Box::new(self.started(started).await)))
            }
            Attributes::ActivityTaskScheduledEventAttributes(scheduled) => {
                self.scheduled(event_id, scheduled, user_metadata).await
            }
            Attributes::ActivityTaskStartedEventAttributes(started) => {
                self.pending.get(&started.scheduled_event_id)?;
                let earlier_failure = self.failure(started.last_failure).await;
                let attempt = u32::try_from(started.attempt).unwrap_or_default();
                Some(Record::Attempt { activity: started.scheduled_event_id.into(), attempt, earlier_failure })
            }
            Attributes::ActivityTaskCompletedEventAttributes(completed) => {
                let payloads = completed.result.unwrap_or_default().payloads;
                let (id, kind) = self.pending.remove(&completed.scheduled_event_id)?;
                let reply = request::reply(&self.converter, kind, &id, payloads).await;
                Some(Record::Completed { activity: completed.scheduled_event_id.into(), reply })
            }
            Attributes::ActivityTaskFailedEventAttributes(failed) => {
                self.failed(failed.scheduled_event_id, Status::Failed, failed.failure).await
            }
            Attributes::ActivityTaskTimedOutEventAttributes(timed_out) => {
                self.failed(timed_out.scheduled_event_id, Status::TimedOut, timed_out.failure).await
            }
            Attributes::ActivityTaskCanceledEventAttributes(cancelled) => {
                self.failed(cancelled.scheduled_event_id, Status::Cancelled, None).await
            }
            Attributes::MarkerRecordedEventAttributes(marker) if marker.marker_name == LOCAL_ACTIVITY => {
                self.local(marker, user_metadata).await
            }
            Attributes::WorkflowPropertiesModifiedEventAttributes(modified) => self.noted(modified).await,
            Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) => {
                let sent = accepted.accepted_request.and_then(|request| request.input);
                self.accepted(event_id, sent?).await
            }
            Attributes::WorkflowExecutionUpdateCompletedEventAttributes(completed) => {
                let event = completed.accepted_event_id;
                match completed.outcome.and_then(|outcome| outcome.value) {
                    Some(outcome::Value::Success(payloads)) => {
                        let reply = value(&self.converter, payloads.payloads).await;
                        answered(event, reply)
                    }
                    _ => None,
                }
            }
            Attributes::WorkflowExecutionSignaledEventAttributes(signal) if signal.signal_name == STREAM_PUBLISH => {
                Some(self.published(signal.input.unwrap_or_default().payloads).await)
            }
            Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(initiated) => {
                Some(Record::ChildInitiated {
                    event: event_id,
                    ends_with_parent: initiated.parent_close_policy() == ParentClosePolicy::Terminate,
                    namespace: initiated.namespace,
                    workflow_id: initiated.workflow_id,
                })
            }
            Attributes::ChildWorkflowExecutionStartedEventAttributes(started) => {
                let run_id = started.workflow_execution.unwrap_or_default().run_id;
                Some(Record::ChildStarted { initiated: started.initiated_event_id, run_id })
            }
            Attributes::ChildWorkflowExecutionCompletedEventAttributes(ended) => child_ended(ended.initiated_event_id),
            Attributes::ChildWorkflowExecutionFailedEventAttributes(ended) => child_ended(ended.initiated_event_id),
            Attributes::ChildWorkflowExecutionCanceledEventAttributes(ended) => child_ended(ended.initiated_event_id),
            Attributes::ChildWorkflowExecutionTimedOutEventAttributes(ended) => child_ended(ended.initiated_event_id),
            Attributes::ChildWorkflowExecutionTerminatedEventAttributes(ended) => child_ended(ended.initiated_event_id),
            Attributes::WorkflowTaskFailedEventAttributes(failed)
                if failed.cause() == WorkflowTaskFailedCause::ResetWorkflow =>
            {
                let reason = failed.failure.map(|failure| failure.message).unwrap_or_default();
                Some(Record::Reset { run_id: failed.new_run_id, reason })
            }
            other => self.ended(other).await,
        }
    }

    async fn started(&self, started: WorkflowExecutionStartedEventAttributes) -> Start {
        let payloads = started.input.unwrap_or_default().payloads;
        Start {
            workflow_id: started.workflow_id,
            run_id: started.original_execution_run_id,
            first_run_id: started.first_execution_run_id,
            continued_from: Some(started.continued_execution_run_id).filter(|run_id| !run_id.is_empty()),
            workflow_type: started.workflow_type.unwrap_or_default().name,
            input: value(&self.converter, payloads).await,
            tracer_data: self.tracer_data(started.header).await,
        }
    }

    /// Reads the context of a trace from the header of a start; empty if there is none.
    async fn tracer_data(&self, header: Option<Header>) -> BTreeMap<String, String> {
        let Some(payload) = header.and_then(|mut header| header.fields.remove(TRACER_DATA)) else {
            return BTreeMap::new();
        };
        serde_json::from_value(value(&self.converter, vec![payload]).await).unwrap_or_default()
    }

    /// Reads the settings of a trace from the header of an activity.
    pub(super) async fn trace(&self, header: Option<Header>) -> Option<Box<TraceSettings>> {
        let field = header.and_then(|mut header| header.fields.remove(TRACE_HEADER));
        serde_json::from_value(self.field(field).await?).ok()
    }

    async fn scheduled(
        &mut self,
        event: i64,
        scheduled: ActivityTaskScheduledEventAttributes,
        metadata: Option<UserMetadata>,
    ) -> Option<Record> {
        let (id, activity_type) = (scheduled.activity_id, scheduled.activity_type.unwrap_or_default().name);
        let kind = Kind::of(&activity_type)?;
        let payloads = scheduled.input.unwrap_or_default().payloads;
        let request = request::request(&self.converter, kind, &activity_type, &id, payloads).await;
        let (summary, trace) = (self.summary(metadata).await, self.trace(scheduled.header).await);
        self.pending.insert(event, (id.clone(), kind));
        Some(Record::Scheduled { activity: event.into(), id, kind, request, summary, trace })
    }

    async fn failed(&mut self, activity: i64, status: Status, failure: Option<WireFailure>) -> Option<Record> {
        self.pending.remove(&activity)?;
        let failure = self.failure(failure).await;
        Some(Record::Failed { activity: activity.into(), status, failure })
    }

    async fn failure(&self, failure: Option<WireFailure>) -> Option<RecordedFailure> {
        Some(failure::read(&self.converter, failure?).await)
    }

    /// Reads the marker of a local activity that has ended; only model calls are records.
    async fn local(&self, marker: MarkerRecordedEventAttributes, metadata: Option<UserMetadata>) -> Option<Record> {
        let mut details = marker.details;
        let (Some(data), result) = extract_local_activity_marker_details(&mut details) else { return None };
        if data.activity_type != MODEL_ACTIVITY {
            return None;
        }
        let what = || format!("the result of local activity {}", data.activity_id);
        let response = match result {
            Some(payload) if marker.failure.is_none() => {
                Some(message::<ModelReply>(&self.converter, vec![payload], what).await.map(|reply| reply.response))
            }
            _ => None,
        };
        let failure = self.failure(marker.failure).await;
        let (summary, attempt) = (self.summary(metadata).await, data.attempt);
        Some(Record::LocalModelCall { id: data.activity_id, summary, attempt, response, failure })
    }

    /// Reads what a run has recorded about itself. A value that cannot be read is left out: it
    /// explains the history, and decides nothing.
    async fn noted(&self, modified: WorkflowPropertiesModifiedEventAttributes) -> Option<Record> {
        let mut fields = modified.upserted_memo.unwrap_or_default().fields;
        let (note, questions) = (fields.remove(RUN_NOTE_MEMO), fields.remove(QUESTIONS_MEMO));
        let note = self.field(note).await.and_then(|note| serde_json::from_value(note).ok());
        let questions =
            self.field(questions).await.and_then(|asked| serde_json::from_value::<AskedQuestions>(asked).ok());
        // The decision that an update follows is in the history itself.
        let questions = questions.filter(|asked| !asked.is_update);
        (note.is_some() || questions.is_some()).then_some(Record::Noted { note, questions })
    }

    async fn field(&self, field: Option<Payload>) -> Option<Value> {
        Some(value(&self.converter, vec![field?]).await)
    }

    /// Returns the decision in an update; `None` for other updates, and for one that cannot be
    /// read, which decides nothing.
    /// Returns the record of an accepted update: a decision, or a message to a chat.
    async fn accepted(&self, event: i64, sent: update::v1::Input) -> Option<Record> {
        let update::v1::Input { name, args, .. } = sent;
        let payloads = args.unwrap_or_default().payloads;
        let decision: AgentDecision = match &*name {
            AGENT_DECIDE => serde_json::from_value(value(&self.converter, payloads).await).ok()?,
            AGENT_SUPPLY_OUTPUT => {
                let supplied: SuppliedOutput = serde_json::from_value(value(&self.converter, payloads).await).ok()?;
                supplied.into()
            }
            CHAT_SEND => {
                let message = serde_json::from_value(value(&self.converter, payloads).await).ok()?;
                return Some(Record::ChatMessage { event, message });
            }
            _ => return None,
        };
        Some(Record::DecisionSent { event, decision })
    }

    /// Returns the deltas in a batch for the workflow's stream. Anyone who can signal the workflow
    /// can send one: what cannot be read is left out.
    async fn published(&self, payloads: Vec<Payload>) -> Record {
        let input: PublishInput = serde_json::from_value(value(&self.converter, payloads).await).unwrap_or_default();
        let delta = |item: Value| {
            let PublishEntry { topic: _, data } = serde_json::from_value(item).ok()?;
            let json = serde_json::from_slice(&decode_payload(&data)?.data).ok()?;
            decode::<RunEvent>("run event", json).ok().filter(RunEvent::is_delta)
        };
        let deltas = input.items.into_iter().filter_map(delta).collect();
        Record::Published { publisher: input.publisher_id, sequence: input.sequence, deltas }
    }

    async fn ended(&self, attributes: Attributes) -> Option<Record> {
        let next = |run_id: String| Some(run_id).filter(|run_id| !run_id.is_empty());
        let (end, next) = match attributes {
            Attributes::WorkflowExecutionCompletedEventAttributes(completed) => {
                let payloads = completed.result.unwrap_or_default().payloads;
                (
                    End::Completed { result: value(&self.converter, payloads).await },
                    next(completed.new_execution_run_id),
                )
            }
            Attributes::WorkflowExecutionFailedEventAttributes(failed) => {
                let failure = failure::read(&self.converter, failed.failure.unwrap_or_default()).await;
                (End::Failed { failure }, next(failed.new_execution_run_id))
            }
            Attributes::WorkflowExecutionCanceledEventAttributes(_) => (End::Cancelled, None),
            Attributes::WorkflowExecutionTerminatedEventAttributes(terminated) => {
                (End::Terminated { reason: terminated.reason }, None)
            }
            Attributes::WorkflowExecutionTimedOutEventAttributes(timed_out) => {
                (End::TimedOut, next(timed_out.new_execution_run_id))
            }
            Attributes::WorkflowExecutionContinuedAsNewEventAttributes(continued) => {
                let run_id = continued.new_execution_run_id;
                (End::ContinuedAsNew { run_id: run_id.clone() }, Some(run_id))
            }
            _ => return None,
        };
        Some(Record::Ended { end, next })
    }

    /// Returns the summary that the UI shows. A summary that cannot be read is left out, because it
    /// is not essential.
    async fn summary(&self, metadata: Option<UserMetadata>) -> Option<String> {
        let mut payload = metadata?.summary?;
        let context = temporalio_common::data_converters::SerializationContextData::None;
        decode_payloads(&mut payload, self.converter.codec(), &context).await.ok()?;
        plain(&self.converter, payload)?.as_str().map(str::to_owned)
    }
}

/// Decodes a value of a workflow's memo.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) async fn memo_value(client: &temporalio_client::Client, payload: Payload) -> Value {
    value(temporalio_client::NamespacedClient::data_converter(client), vec![payload]).await
}

#[expect(clippy::unnecessary_wraps, reason = "the arms of a match that returns options")]
fn child_ended(initiated: i64) -> Option<Record> {
    Some(Record::ChildEnded { initiated })
}

/// Returns the record of an update's reply: to a decision, or the refusal of a message to a chat.
fn answered(event: i64, reply: Value) -> Option<Record> {
    if reply["outcome"]["kind"] == "refused" {
        return Some(Record::ChatMessageRefused { event });
    }
    serde_json::from_value(reply).ok().map(|reply| Record::DecisionAnswered { event, reply })
}
