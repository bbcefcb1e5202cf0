//! Converts the events of a history to its activities, with their requests and results.
//!
//! The author's own activities are left out. Local activities are read from their markers, which
//! hold the result and not the request.

use std::collections::HashMap;

use temporalio_common::{
    data_converters::DataConverter,
    payload_visitor::decode_payloads,
    protos::{
        coresdk::common::extract_local_activity_marker_details,
        temporal::api::{
            common::v1::Payload,
            failure::v1::Failure as WireFailure,
            history::v1::{
                ActivityTaskScheduledEventAttributes, HistoryEvent, MarkerRecordedEventAttributes,
                WorkflowExecutionStartedEventAttributes, history_event::Attributes,
            },
            sdk::v1::UserMetadata,
            update::{self, v1::outcome},
        },
    },
};

use super::{
    TranscriptError,
    approvals::Approvals,
    failure,
    messages::{message, plain, value},
    shape::{Activity, End, Status},
};
use crate::wire::{
    AGENT_DECIDE, AGENT_SUPPLY_OUTPUT, AgentDecision, Item, MODEL_ACTIVITY, ModelReply, ModelRequest, ModelResponse,
    SuppliedOutput, ToolReply, ToolRequest,
    asked_questions::QUESTIONS_MEMO,
    carried::{LOAD_STATE_ACTIVITY, LoadStateReply},
    conversation::{RECORD_ACTIVITY, RecordRequest},
    mcp_call::{MCP_ACTIVITY, MCP_CALL_TOOL},
    session_call::{SESSION_ACTIVITY, SessionReply, SessionRequest},
};

const TOOL_PREFIX: &str = "agents.tool.";
const GUARDRAIL_PREFIX: &str = "agents.guardrail.";
const LOCAL_ACTIVITY: &str = "core_local_activity";

/// The content of a history read so far.
#[derive(Debug)]
pub(super) struct Events<'c> {
    converter: &'c DataConverter,
    /// The activities, in the order in which they were scheduled.
    pub(super) records: Vec<Record>,
    pub(super) start: Option<Start>,
    pub(super) end: End,
    pub(super) approvals: Approvals,
    by_event: HashMap<i64, usize>,
}

/// The start of the workflow run.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) workflow_id: String,
    pub(super) run_id: String,
    pub(super) first_run_id: String,
    pub(super) continued_from: Option<String>,
    pub(super) workflow_type: String,
    pub(super) input: serde_json::Value,
}

/// An activity, with its request and its result.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) activity: Activity,
    pub(super) exchange: Exchange,
}

/// The request and the result of an activity, by its kind.
#[derive(Debug)]
pub(super) enum Exchange {
    Model {
        request: Option<Box<ModelRequest>>,
        response: Option<ModelResponse>,
    },
    Tool {
        request: ToolRequest,
        reply: Option<ToolReply>,
    },
    Guardrail {
        request: ToolRequest,
        reply: Option<ToolReply>,
    },
    Session {
        store: String,
        request: SessionRequest,
        reply: Option<SessionReply>,
    },
    /// Items that a separate activity has recorded, to which model calls refer.
    Items {
        items: Vec<Item>,
    },
    /// A part of the state from the previous execution, to which model calls refer.
    Chunk {
        chunk: Option<String>,
    },
}

impl<'c> Events<'c> {
    pub(super) fn new(converter: &'c DataConverter) -> Self {
        Self {
            converter,
            records: Vec::new(),
            start: None,
            end: End::Running,
            approvals: Approvals::default(),
            by_event: HashMap::new(),
        }
    }

    /// Reads the next event.
    ///
    /// # Errors
    /// [`TranscriptError`] when a message or a failure cannot be read.
    pub(super) async fn take(&mut self, event: HistoryEvent) -> Result<(), TranscriptError> {
        let HistoryEvent { event_id, event_time, attributes, user_metadata, .. } = event;
        let Some(attributes) = attributes else { return Ok(()) };
        match attributes {
            Attributes::WorkflowExecutionStartedEventAttributes(started) => self.started(started).await,
            Attributes::ActivityTaskScheduledEventAttributes(scheduled) => {
                return self.scheduled(event_id, scheduled, user_metadata).await;
            }
            Attributes::ActivityTaskStartedEventAttributes(started) => {
                let earlier = self.failure(started.last_failure, started.scheduled_event_id).await?;
                if let Some(record) = self.record(started.scheduled_event_id) {
                    record.activity.attempts = u32::try_from(started.attempt).unwrap_or_default();
                    record.activity.earlier_failure = earlier;
                }
            }
            Attributes::ActivityTaskCompletedEventAttributes(completed) => {
                let payloads = completed.result.unwrap_or_default().payloads;
                return self.completed(completed.scheduled_event_id, payloads).await;
            }
            Attributes::ActivityTaskFailedEventAttributes(failed) => {
                return self.failed(failed.scheduled_event_id, Status::Failed, failed.failure).await;
            }
            Attributes::ActivityTaskTimedOutEventAttributes(timed_out) => {
                return self.failed(timed_out.scheduled_event_id, Status::TimedOut, timed_out.failure).await;
            }
            Attributes::ActivityTaskCanceledEventAttributes(cancelled) => {
                return self.failed(cancelled.scheduled_event_id, Status::Cancelled, None).await;
            }
            Attributes::MarkerRecordedEventAttributes(marker) if marker.marker_name == LOCAL_ACTIVITY => {
                return self.local(marker, user_metadata).await;
            }
            Attributes::WorkflowPropertiesModifiedEventAttributes(modified) => {
                let memo = modified.upserted_memo.unwrap_or_default().fields.remove(QUESTIONS_MEMO);
                if let Some(asked) = memo
                    && let Ok(asked) = serde_json::from_value(value(self.converter, vec![asked]).await)
                {
                    self.approvals.asked(event_time.map(|time| time.to_string()).as_ref(), asked);
                }
            }
            Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) => {
                let sent = accepted.accepted_request.and_then(|request| request.input);
                if let Some(decision) = self.decision(sent).await {
                    self.approvals.sent(event_id, event_time.map(|time| time.to_string()), decision);
                }
            }
            Attributes::WorkflowExecutionUpdateCompletedEventAttributes(completed) => {
                if let Some(outcome::Value::Success(payloads)) = completed.outcome.and_then(|outcome| outcome.value)
                    && let Ok(reply) = serde_json::from_value(value(self.converter, payloads.payloads).await)
                {
                    self.approvals.answered(completed.accepted_event_id, &reply);
                }
            }
            other => {
                if let Some(end) = self.ended(other).await? {
                    self.end = end;
                }
            }
        }
        Ok(())
    }

    async fn started(&mut self, started: WorkflowExecutionStartedEventAttributes) {
        let payloads = started.input.unwrap_or_default().payloads;
        self.start = Some(Start {
            workflow_id: started.workflow_id,
            run_id: started.original_execution_run_id,
            first_run_id: started.first_execution_run_id,
            continued_from: Some(started.continued_execution_run_id).filter(|run_id| !run_id.is_empty()),
            workflow_type: started.workflow_type.unwrap_or_default().name,
            input: value(self.converter, payloads).await,
        });
    }

    async fn scheduled(
        &mut self,
        event_id: i64,
        scheduled: ActivityTaskScheduledEventAttributes,
        metadata: Option<UserMetadata>,
    ) -> Result<(), TranscriptError> {
        let (id, kind) = (scheduled.activity_id, scheduled.activity_type.unwrap_or_default().name);
        let Some(exchange) = self.asked(&kind, &id, scheduled.input.unwrap_or_default().payloads).await? else {
            return Ok(());
        };
        let summary = self.summary(metadata).await;
        self.by_event.insert(event_id, self.records.len());
        self.records.push(Record { activity: pending(id, summary), exchange });
        Ok(())
    }

    /// Returns the decision in an update; `None` for other updates, and for one that cannot be
    /// read, which decides nothing.
    async fn decision(&self, sent: Option<update::v1::Input>) -> Option<AgentDecision> {
        let update::v1::Input { name, args, .. } = sent?;
        let payloads = args.unwrap_or_default().payloads;
        match &*name {
            AGENT_DECIDE => serde_json::from_value(value(self.converter, payloads).await).ok(),
            AGENT_SUPPLY_OUTPUT => {
                let supplied: SuppliedOutput = serde_json::from_value(value(self.converter, payloads).await).ok()?;
                Some(supplied.into())
            }
            _ => None,
        }
    }

    /// Reads the request of an activity of this type; `None` for an activity that is not of this
    /// crate.
    async fn asked(&self, kind: &str, id: &str, payloads: Vec<Payload>) -> Result<Option<Exchange>, TranscriptError> {
        let what = || format!("the request of activity {id}");
        let converter = self.converter;
        Ok(if kind == MODEL_ACTIVITY {
            let request: ModelRequest = message(converter, payloads, what).await?;
            Some(Exchange::Model { request: Some(Box::new(request)), response: None })
        } else if kind.starts_with(TOOL_PREFIX) || is_mcp_call(kind) {
            Some(Exchange::Tool { request: message(converter, payloads, what).await?, reply: None })
        } else if kind.starts_with(GUARDRAIL_PREFIX) {
            Some(Exchange::Guardrail { request: message(converter, payloads, what).await?, reply: None })
        } else if kind == RECORD_ACTIVITY {
            let RecordRequest { version: _, items } = message(converter, payloads, what).await?;
            Some(Exchange::Items { items })
        } else if kind == LOAD_STATE_ACTIVITY {
            Some(Exchange::Chunk { chunk: None })
        } else if let Some(store) = kind.strip_prefix(SESSION_ACTIVITY).and_then(|rest| rest.strip_prefix('.')) {
            let request = message(converter, payloads, what).await?;
            Some(Exchange::Session { store: store.to_owned(), request, reply: None })
        } else {
            None
        })
    }

    async fn completed(&mut self, scheduled: i64, payloads: Vec<Payload>) -> Result<(), TranscriptError> {
        let converter = self.converter;
        let Some(record) = self.record(scheduled) else { return Ok(()) };
        record.activity.status = Status::Completed;
        let id = record.activity.id.clone();
        let what = || format!("the result of activity {id}");
        match &mut record.exchange {
            Exchange::Model { response, .. } => {
                let reply: ModelReply = message(converter, payloads, what).await?;
                *response = Some(reply.response);
            }
            Exchange::Tool { reply, .. } | Exchange::Guardrail { reply, .. } => {
                *reply = Some(message(converter, payloads, what).await?);
            }
            Exchange::Session { reply, .. } => *reply = Some(message(converter, payloads, what).await?),
            Exchange::Items { .. } => {}
            Exchange::Chunk { chunk } => {
                let reply: LoadStateReply = message(converter, payloads, what).await?;
                *chunk = Some(reply.chunk);
            }
        }
        Ok(())
    }

    async fn failed(
        &mut self,
        scheduled: i64,
        status: Status,
        failure: Option<WireFailure>,
    ) -> Result<(), TranscriptError> {
        let failure = self.failure(failure, scheduled).await?;
        if let Some(record) = self.record(scheduled) {
            record.activity.status = status;
            record.activity.failure = failure;
        }
        Ok(())
    }

    /// Records the current attempt of an activity that has not ended, and the failure of the
    /// previous attempt.
    ///
    /// # Errors
    /// [`TranscriptError`] when the failure cannot be read.
    pub(super) async fn under_way(
        &mut self,
        activity_id: &str,
        attempt: u32,
        failure: Option<WireFailure>,
    ) -> Result<(), TranscriptError> {
        let converter = self.converter;
        let is_it = |record: &&mut Record| record.activity.id == activity_id;
        let Some(record) = self.records.iter_mut().rev().find(is_it) else { return Ok(()) };
        record.activity.attempts = attempt;
        if let Some(failure) = failure {
            let failure = failure::read(converter, failure, &format!("activity {activity_id}")).await?;
            record.activity.earlier_failure = Some(failure);
        }
        Ok(())
    }

    /// Reads a failure of a recorded activity.
    async fn failure(
        &mut self,
        failure: Option<WireFailure>,
        scheduled: i64,
    ) -> Result<Option<super::Failure>, TranscriptError> {
        let converter = self.converter;
        let (Some(failure), Some(record)) = (failure, self.record(scheduled)) else { return Ok(None) };
        failure::read(converter, failure, &format!("activity {}", record.activity.id)).await.map(Some)
    }

    /// Records a local activity that has ended.
    async fn local(
        &mut self,
        marker: MarkerRecordedEventAttributes,
        metadata: Option<UserMetadata>,
    ) -> Result<(), TranscriptError> {
        let mut details = marker.details;
        let (Some(data), result) = extract_local_activity_marker_details(&mut details) else { return Ok(()) };
        if data.activity_type != MODEL_ACTIVITY {
            return Ok(());
        }
        let what = || format!("the result of local activity {}", data.activity_id);
        let response = match result {
            Some(payload) if marker.failure.is_none() => {
                let reply: ModelReply = message(self.converter, vec![payload], what).await?;
                Some(reply.response)
            }
            _ => None,
        };
        let failure = match marker.failure {
            Some(failure) => Some(failure::read(self.converter, failure, &data.activity_id).await?),
            None => None,
        };
        let mut activity = pending(data.activity_id, self.summary(metadata).await);
        activity.status = if failure.is_some() { Status::Failed } else { Status::Completed };
        activity.attempts = data.attempt;
        activity.failure = failure;
        self.records.push(Record { activity, exchange: Exchange::Model { request: None, response } });
        Ok(())
    }

    async fn ended(&self, attributes: Attributes) -> Result<Option<End>, TranscriptError> {
        Ok(Some(match attributes {
            Attributes::WorkflowExecutionCompletedEventAttributes(completed) => {
                let payloads = completed.result.unwrap_or_default().payloads;
                End::Completed { result: value(self.converter, payloads).await }
            }
            Attributes::WorkflowExecutionFailedEventAttributes(failed) => {
                let failure = failure::read(self.converter, failed.failure.unwrap_or_default(), "the workflow").await?;
                End::Failed { failure }
            }
            Attributes::WorkflowExecutionCanceledEventAttributes(_) => End::Cancelled,
            Attributes::WorkflowExecutionTerminatedEventAttributes(terminated) => {
                End::Terminated { reason: terminated.reason }
            }
            Attributes::WorkflowExecutionTimedOutEventAttributes(_) => End::TimedOut,
            Attributes::WorkflowExecutionContinuedAsNewEventAttributes(continued) => {
                End::ContinuedAsNew { run_id: continued.new_execution_run_id }
            }
            _ => return Ok(None),
        }))
    }

    /// Returns the summary that the UI shows. A summary that cannot be read is left out, because it
    /// is not essential.
    async fn summary(&self, metadata: Option<UserMetadata>) -> Option<String> {
        let mut payload = metadata?.summary?;
        let context = temporalio_common::data_converters::SerializationContextData::None;
        decode_payloads(&mut payload, self.converter.codec(), &context).await.ok()?;
        plain(self.converter, payload)?.as_str().map(str::to_owned)
    }

    fn record(&mut self, scheduled: i64) -> Option<&mut Record> {
        self.by_event.get(&scheduled).and_then(|place| self.records.get_mut(*place))
    }
}

fn pending(id: String, summary: Option<String>) -> Activity {
    Activity { id, summary, status: Status::Pending, attempts: 0, failure: None, earlier_failure: None }
}

/// `true` if activities of this type call a tool of an MCP server.
fn is_mcp_call(kind: &str) -> bool {
    let ours = kind.strip_prefix(MCP_ACTIVITY).and_then(|rest| rest.strip_prefix('.'));
    ours.and_then(|rest| rest.strip_suffix(MCP_CALL_TOOL)).is_some_and(|server| server.ends_with('.'))
}
