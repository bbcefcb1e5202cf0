//! The records of a batch of tool calls: those that its calls would have as activities of their
//! own.

use temporal_agents_core::wire::{
    RecordedFailure, ToolReply, WIRE_VERSION,
    tool_batch::{
        BatchEnd, BatchedOutcome, CallInBatch, TIMEOUT, TOOL_BATCH_ACTIVITY, TOOLS_UNFINISHED, ToolBatchDetails,
        ToolBatchReply, ToolBatchRequest, call_in,
    },
};
use temporalio_common::{
    data_converters::{ActivitySerializationContext, SerializationContextData},
    protos::temporal::api::{
        common::v1::Payload,
        failure::v1::Failure as WireFailure,
        history::v1::{ActivityTaskScheduledEventAttributes, HistoryEvent, history_event::Attributes},
        sdk::v1::UserMetadata,
    },
};

use super::{
    HistoryReader,
    messages::message,
    record::{ActivityKey, Kind, Record, Reply, Request},
};
use crate::{
    client::transcript::{Status, TranscriptError},
    conversations::details_of,
};

/// A batch that has not ended.
#[derive(Debug)]
pub(super) struct PendingBatch {
    id: String,
    /// The numbers of its calls.
    calls: Vec<u32>,
    attempt: u32,
    earlier_failure: Option<RecordedFailure>,
}

impl HistoryReader {
    /// Reads an event of a batch; returns any other event.
    pub(super) async fn of_batch(&mut self, event: HistoryEvent) -> Result<Vec<Record>, Box<HistoryEvent>> {
        let of_batch = match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                scheduled.activity_type.as_ref().is_some_and(|kind| kind.name == TOOL_BATCH_ACTIVITY)
            }
            Some(Attributes::ActivityTaskStartedEventAttributes(event)) => self.has_batch(event.scheduled_event_id),
            Some(Attributes::ActivityTaskCompletedEventAttributes(event)) => self.has_batch(event.scheduled_event_id),
            Some(Attributes::ActivityTaskFailedEventAttributes(event)) => self.has_batch(event.scheduled_event_id),
            Some(Attributes::ActivityTaskTimedOutEventAttributes(event)) => self.has_batch(event.scheduled_event_id),
            Some(Attributes::ActivityTaskCanceledEventAttributes(event)) => self.has_batch(event.scheduled_event_id),
            _ => false,
        };
        if !of_batch {
            return Err(Box::new(event));
        }
        let HistoryEvent { event_id, attributes, user_metadata, .. } = event;
        Ok(match attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                self.batch_scheduled(event_id, scheduled, user_metadata).await
            }
            Some(Attributes::ActivityTaskStartedEventAttributes(started)) => {
                let failure = self.failure(started.last_failure).await;
                let attempt = u32::try_from(started.attempt).unwrap_or_default();
                self.batch_started(started.scheduled_event_id, attempt, failure)
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                let payloads = completed.result.unwrap_or_default().payloads;
                self.batch_completed(completed.scheduled_event_id, payloads).await
            }
            Some(Attributes::ActivityTaskFailedEventAttributes(failed)) => {
                self.batch_failed(failed.scheduled_event_id, Status::Failed, failed.failure).await
            }
            Some(Attributes::ActivityTaskTimedOutEventAttributes(failed)) => {
                self.batch_failed(failed.scheduled_event_id, Status::TimedOut, failed.failure).await
            }
            Some(Attributes::ActivityTaskCanceledEventAttributes(cancelled)) => {
                self.batch_failed(cancelled.scheduled_event_id, Status::Cancelled, None).await
            }
            _ => Vec::new(),
        })
    }

    fn has_batch(&self, scheduled: i64) -> bool {
        self.batches.contains_key(&scheduled)
    }

    async fn batch_scheduled(
        &mut self,
        event: i64,
        scheduled: ActivityTaskScheduledEventAttributes,
        metadata: Option<UserMetadata>,
    ) -> Vec<Record> {
        let id = scheduled.activity_id;
        let payloads = scheduled.input.unwrap_or_default().payloads;
        let what = || format!("the request of activity {id}");
        let (summary, trace) = (self.summary(metadata).await, self.trace(scheduled.header).await);
        let kind = Kind::Tool;
        let request = match message::<ToolBatchRequest>(&self.converter, payloads, what).await {
            Ok(request) => request,
            Err(error) => {
                self.pending.insert(event, (id.clone(), kind));
                return vec![Record::Scheduled {
                    activity: event.into(),
                    id,
                    kind,
                    request: Err(error),
                    summary,
                    trace,
                }];
            }
        };
        let calls = request.into_requests();
        let numbers = calls.iter().map(|(index, _)| *index).collect();
        let record = |(call, request)| {
            let id = call_in(&id, call).unwrap_or_else(|| id.clone());
            let (activity, summary) = (ActivityKey { event, call: Some(call) }, summary.clone());
            let (request, trace) = (Ok(Request::Tool(request)), trace.clone());
            Record::Scheduled { activity, id, kind, request, summary, trace }
        };
        let records = calls.into_iter().map(record).collect();
        self.batches.insert(event, PendingBatch { id, calls: numbers, attempt: 0, earlier_failure: None });
        records
    }

    fn batch_started(&mut self, event: i64, attempt: u32, failure: Option<RecordedFailure>) -> Vec<Record> {
        let Some(batch) = self.batches.get_mut(&event) else { return Vec::new() };
        // The failure of an attempt after which calls are made again: each outcome has that of its
        // call.
        batch.earlier_failure = failure.filter(|failure| failure.type_name != TOOLS_UNFINISHED);
        batch.attempt = attempt;
        let record = |call: &u32| Record::Attempt {
            activity: ActivityKey { event, call: Some(*call) },
            attempt,
            earlier_failure: batch.earlier_failure.clone(),
        };
        batch.calls.iter().map(record).collect()
    }

    async fn batch_completed(&mut self, event: i64, payloads: Vec<Payload>) -> Vec<Record> {
        let Some(batch) = self.batches.remove(&event) else { return Vec::new() };
        let what = || format!("the result of activity {}", batch.id);
        match message::<ToolBatchReply>(&self.converter, payloads, what).await {
            Ok(reply) => batch.ended(event, BatchEnd::Completed, &reply.outcomes, Status::Failed, None),
            Err(error) => {
                let why = error.to_string();
                let unreadable = || TranscriptError::Unreadable { what: what(), why: why.clone() };
                let record = |call: &u32| Record::Completed {
                    activity: ActivityKey { event, call: Some(*call) },
                    reply: Err(unreadable()),
                };
                batch.calls.iter().map(record).collect()
            }
        }
    }

    async fn batch_failed(&mut self, event: i64, status: Status, failure: Option<WireFailure>) -> Vec<Record> {
        let Some(batch) = self.batches.remove(&event) else { return Vec::new() };
        let details = match details_of(failure.clone()) {
            Some(details) => self.details(details).await,
            None => Vec::new(),
        };
        let failure = self.failure(failure).await;
        let end = match status {
            Status::Cancelled => BatchEnd::Cancelled,
            Status::TimedOut => BatchEnd::TimedOut,
            _ => BatchEnd::of_failure(failure.as_ref().map(|failure| &*failure.type_name)),
        };
        batch.ended(event, end, &details, status, failure.as_ref())
    }

    /// Returns the outcomes that a failure holds; none that cannot be read.
    async fn details(&self, payloads: Vec<Payload>) -> Vec<BatchedOutcome> {
        let context = SerializationContextData::Activity(ActivitySerializationContext::new());
        let json: Option<serde_json::Value> = self.converter.from_payloads(&context, payloads).await.ok();
        let details = json.and_then(|json| ToolBatchDetails::read(json.to_string().as_bytes()));
        details.map(|details| details.outcomes).unwrap_or_default()
    }
}

impl PendingBatch {
    /// Returns the records of the ends of the calls; `status` and `failure` are those of the
    /// activity, if it has failed.
    fn ended(
        &self,
        event: i64,
        end: BatchEnd,
        outcomes: &[BatchedOutcome],
        status: Status,
        failure: Option<&RecordedFailure>,
    ) -> Vec<Record> {
        let mut records = Vec::new();
        for call in &self.calls {
            let activity = ActivityKey { event, call: Some(*call) };
            let outcome = outcomes.iter().find(|outcome| outcome.index == *call);
            let record = match end.of_call(outcomes, *call) {
                CallInBatch::Returned(output, outcome) => {
                    records.push(self.attempt(activity, outcome));
                    let (context_patch, side_data) = (outcome.context_patch.clone(), outcome.side_data.clone());
                    let output = output.clone();
                    let reply = ToolReply { version: WIRE_VERSION, output, context_patch, side_data, question: None };
                    Record::Completed { activity, reply: Ok(Reply::Tool(reply)) }
                }
                CallInBatch::Failed(failed) => {
                    records.extend(outcome.map(|outcome| self.attempt(activity, outcome)));
                    let status = if failed.failure_type == TIMEOUT { Status::TimedOut } else { Status::Failed };
                    Record::Failed { activity, status, failure: Some(failed.recorded()) }
                }
                CallInBatch::Cancelled => Record::Failed { activity, status: Status::Cancelled, failure: None },
                CallInBatch::NotMade => Record::NotMade { activity },
                CallInBatch::AsActivity => Record::Failed { activity, status, failure: failure.cloned() },
            };
            records.push(record);
        }
        records
    }

    /// Returns the record of the attempt that ended a call.
    fn attempt(&self, activity: ActivityKey, outcome: &BatchedOutcome) -> Record {
        let of_batch = self.earlier_failure.as_ref().filter(|_| outcome.attempt == self.attempt);
        let earlier_failure = outcome.earlier_failure.as_ref().or(of_batch).cloned();
        Record::Attempt { activity, attempt: outcome.attempt, earlier_failure }
    }
}
