//! Reads the actions of the recorded build from a history: the activities and child workflows of
//! its runs, and the responses of models.

use std::collections::BTreeMap;

use serde_json::Value;
use temporal_agents_core::wire::{
    MODEL_ACTIVITY,
    asked_questions::{AskedQuestions, QUESTIONS_MEMO},
};
use temporalio_common::{
    data_converters::{DataConverter, SerializationContextData},
    protos::{
        coresdk::common::extract_local_activity_marker_details,
        temporal::api::{
            common::v1::Payload,
            history::v1::{History, history_event::Attributes},
        },
    },
};

use super::journal::Command;

const LOCAL_ACTIVITY: &str = "core_local_activity";

/// A recorded command of a run.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) command: Command,
    /// Name of the agent that issued the command, from its request.
    pub(super) agent: Option<String>,
    pub(super) turn: Option<u32>,
    /// Name of the tool, if the command is a tool call.
    pub(super) tool: Option<String>,
    /// The functions that a model response calls: tools and handoffs.
    pub(super) functions: Vec<String>,
}

impl Recorded {
    pub(super) fn is_model_call(&self) -> bool {
        self.command.kind == MODEL_ACTIVITY
    }
}

/// The contents read from a history.
#[derive(Debug, Default)]
pub struct Record {
    pub(super) commands: Vec<Recorded>,
    /// Agent, turn and tool of the calls on which people were asked to decide.
    pub(super) asked: Vec<(String, u32, String)>,
}

/// Reads the commands of a history. A command whose payload cannot be decoded has no agent and
/// tool, and a turn only if its id contains one.
pub async fn read(history: &History, converter: &DataConverter) -> Record {
    let mut record = Record::default();
    let mut by_event = BTreeMap::new();
    for event in &history.events {
        match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                let kind = scheduled.activity_type.clone().unwrap_or_default().name;
                by_event.insert(event.event_id, record.commands.len());
                let request = json(converter, scheduled.input.clone().unwrap_or_default().payloads).await;
                record.commands.push(recorded(&scheduled.activity_id, &kind, request.as_ref()));
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                let place = by_event.get(&completed.scheduled_event_id);
                if let Some(command) = place.and_then(|place| record.commands.get_mut(*place))
                    && command.is_model_call()
                    && let Some(reply) = json(converter, completed.result.clone().unwrap_or_default().payloads).await
                {
                    command.functions = functions(&reply);
                }
            }
            Some(Attributes::MarkerRecordedEventAttributes(marker)) if marker.marker_name == LOCAL_ACTIVITY => {
                let (Some(data), result) = extract_local_activity_marker_details(&mut marker.details.clone()) else {
                    continue;
                };
                let mut command = recorded(&data.activity_id, &data.activity_type, None);
                command.command.is_local = true;
                if let Some(reply) = json(converter, result.into_iter().collect()).await
                    && command.is_model_call()
                {
                    command.functions = functions(&reply);
                }
                record.commands.push(command);
            }
            Some(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child)) => {
                let kind = child.workflow_type.clone().unwrap_or_default().name;
                record.commands.push(recorded(&child.workflow_id, &kind, None));
            }
            Some(Attributes::WorkflowPropertiesModifiedEventAttributes(modified)) => {
                let memo = modified.upserted_memo.as_ref().and_then(|memo| memo.fields.get(QUESTIONS_MEMO));
                if let Some(payload) = memo
                    && let Some(asked) = json(converter, vec![payload.clone()]).await
                    && let Ok(AskedQuestions { turn, questions, is_update: false, .. }) = serde_json::from_value(asked)
                {
                    let calls = questions.into_iter().map(|question| (question.agent, turn, question.tool));
                    record.asked.extend(calls);
                }
            }
            _ => {}
        }
    }
    record.commands.retain(|recorded| is_of_a_run(&recorded.command.id));
    record
}

/// Returns `true` if an id has the form of a run's ids: the run's own eight characters, a hyphen,
/// and more. In the id of a child workflow, this part follows the id of the parent and a slash.
pub(super) fn is_of_a_run(id: &str) -> bool {
    let own = id.rsplit('/').next().unwrap_or(id);
    own.split_once('-').is_some_and(|(run, rest)| {
        run.len() == 8 && run.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) && !rest.is_empty()
    })
}

fn recorded(id: &str, kind: &str, request: Option<&Value>) -> Recorded {
    let member = |name: &str| request.and_then(|request| request.get(name));
    let text = |name: &str| member(name).and_then(Value::as_str).map(str::to_owned);
    Recorded {
        command: Command { id: id.to_owned(), kind: kind.to_owned(), is_local: false },
        agent: text("agent"),
        turn: member("turn").and_then(Value::as_u64).and_then(|turn| u32::try_from(turn).ok()).or_else(|| turn_of(id)),
        tool: text("tool"),
        functions: Vec::new(),
    }
}

/// Returns the turn in an id: `<run>-<turn>-model`, and for a nested run
/// `<run>-<turn>-tool-<n>-<turn>-model`.
pub(super) fn turn_of(id: &str) -> Option<u32> {
    let mut turn = None;
    let parts: Vec<&str> = id.rsplit('/').next().unwrap_or(id).split('-').collect();
    for pair in parts.windows(2) {
        if matches!(pair[1], "model" | "tool" | "mcp" | "input" | "output") {
            turn = pair[0].parse().ok().or(turn);
        }
    }
    turn
}

/// Returns the names of the function calls in a model response.
fn functions(reply: &Value) -> Vec<String> {
    let items = reply.get("response").and_then(|response| response.get("output")).and_then(Value::as_array);
    let calls = items.into_iter().flatten().filter(|item| item.get("type").is_some_and(|kind| kind == "function_call"));
    calls.filter_map(|call| call.get("name")?.as_str().map(str::to_owned)).collect()
}

async fn json(converter: &DataConverter, payloads: Vec<Payload>) -> Option<Value> {
    let decoded = converter.codec().decode(&SerializationContextData::None, payloads).await.ok()?;
    serde_json::from_slice(&decoded.first()?.data).ok()
}
