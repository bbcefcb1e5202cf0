//! A record that a workflow writes about one of its runs, where history would not tell it by
//! itself: that a run pauses, is resumed from a state, or ends, and that a guardrail has tripped.
//!
//! A note is one upsert of the memo, in the workflow task in which it happens. Its size is bounded:
//! what does not fit is left out or truncated, on every host alike.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{failure::RecordedFailure, kind::GuardrailStage};
use crate::wire::{
    absent::is_default,
    agent_handlers::Verdict,
    item::{Item, ItemView},
    run_state::{CallProgress, Decision, NewItemKind, Phase, RunState},
    side_data::SideData,
    size::encoded_len,
    trace_settings::TraceSettings,
    usage::Usage,
    version::{WIRE_VERSION, WireVersion},
};

/// Key of the memo.
pub const RUN_NOTE_MEMO: &str = "agents.run_note";

/// Maximum bytes of JSON of an output, and of all outputs of calls.
const MAX_OUTPUT_BYTES: usize = 4 * 1024;
/// Maximum bytes of a message, and of a guardrail's information.
const MAX_MESSAGE_BYTES: usize = 1024;
/// Maximum bytes of JSON of the data that models do not receive.
const MAX_SIDE_DATA_BYTES: usize = 64 * 1024;

/// A record about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunNote {
    /// The version of this value.
    pub version: WireVersion,
    /// Prefix of the ids of the run's activities.
    pub run: String,
    /// Name of the agent whose turn it is.
    pub agent: String,
    /// Number of the turn, counted from 1; 0 before the first one.
    pub turn: u32,
    /// Outputs of calls that history does not hold, as far as they fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Item>,
    /// Settings of the trace of the run, if it has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<TraceSettings>>,
    /// The subject of the record.
    pub note: NoteKind,
}

/// The subject of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteKind {
    /// The run waits for decisions. The memo `agents.questions` has them.
    Paused,
    /// The run begins from a state with these decisions.
    Resumed {
        /// The decisions.
        decisions: Vec<NotedDecision>,
    },
    /// A guardrail of a nested run has tripped.
    GuardrailTripped {
        /// The guardrail.
        guardrail: TrippedGuardrail,
    },
    /// The conversation was shortened.
    Compacted {
        /// Number of items before.
        before: u32,
        /// Number of items after.
        after: u32,
    },
    /// Tools that no recorded effect shows have returned data that the model does not receive.
    SideData {
        /// The data, by the id of the call.
        calls: BTreeMap<String, SideData>,
    },
    /// The gate of the run has denied calls of a response, or lets a person decide about them.
    Gated {
        /// The calls, in call order; those beyond 64 KiB are left out.
        calls: Vec<GatedCallNote>,
    },
    /// Calls of a response have failed without an effect that history records: their arguments do
    /// not fit, or their bodies ran in the loop or elsewhere.
    CallsFailed {
        /// The calls, in call order; those beyond 64 KiB are left out.
        calls: Vec<FailedCallNote>,
    },
    /// Questions of the run have expired.
    Expired {
        /// The decisions that count since then.
        decisions: Vec<NotedDecision>,
    },
    /// The run has ended with a final output.
    Finished {
        /// The output, or its place.
        output: NotedOutput,
        /// Token usage of the whole run.
        usage: Usage,
    },
    /// The run has failed.
    Failed {
        /// The error.
        failure: RecordedFailure,
        /// The guardrail that ended the run, if one has tripped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guardrail: Option<TrippedGuardrail>,
        /// Token usage of the whole run; absent if the run had no state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The run was cancelled.
    Cancelled {
        /// Token usage of the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// A subject that this build does not know.
    #[serde(other)]
    Other,
}

impl NoteKind {
    /// Returns `true` for the end of a run.
    pub fn ends_the_run(&self) -> bool {
        matches!(self, Self::Finished { .. } | Self::Failed { .. } | Self::Cancelled { .. })
    }
}

/// The verdict of the gate about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatedCallNote {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// `true` if the call is not made, whatever a person says; otherwise a person decides.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_denied: bool,
    /// The rule that decided, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The reason, at most 1 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The failure of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCallNote {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// The failure, with a message of at most 1 KiB.
    pub failure: RecordedFailure,
}

/// The final output of a run, or its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NotedOutput {
    /// The output is the text of the last message.
    Text,
    /// The output is the JSON in the last message.
    Json,
    /// The output itself.
    Value {
        /// The output.
        value: Value,
    },
    /// The output is too large for the record.
    TooLarge {
        /// Its size, in bytes of JSON.
        bytes: usize,
    },
    /// A place that this build does not know.
    #[serde(other)]
    Other,
}

/// A decision in the state from which a run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotedDecision {
    /// Id of the question.
    pub id: String,
    /// The decision; a message or an output is truncated.
    pub decision: Verdict,
    /// Name of the person who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A guardrail that has tripped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrippedGuardrail {
    /// Name of the guardrail.
    pub name: String,
    /// The data that it checked.
    pub stage: GuardrailStage,
    /// Name of the tool, for a guardrail of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Information that the guardrail returned, if it fits.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_info: Value,
}

impl RunNote {
    /// Returns a note about a run; the host adds the run's id.
    pub fn new(agent: impl Into<String>, turn: u32, note: NoteKind) -> Self {
        Self {
            version: WIRE_VERSION,
            run: String::new(),
            agent: agent.into(),
            turn,
            outputs: Vec::new(),
            trace: None,
            note,
        }
    }

    /// Adds those of the outputs that fit.
    #[must_use]
    pub fn with_outputs(mut self, outputs: Vec<Item>) -> Self {
        let mut left = MAX_OUTPUT_BYTES;
        self.outputs = outputs;
        self.outputs.retain(|item| {
            let fits = item.json_len() <= left;
            left -= if fits { item.json_len() } else { 0 };
            fits
        });
        self
    }

    /// Returns the note of the data of these calls, as far as it fits; `None` if there is none.
    pub fn side_data(agent: &str, turn: u32, calls: impl Iterator<Item = (String, SideData)>) -> Option<Self> {
        let mut left = MAX_SIDE_DATA_BYTES;
        let fits = |(_, data): &(String, SideData)| {
            let bytes = encoded_len(data).unwrap_or(usize::MAX);
            let fits = bytes <= left;
            left -= if fits { bytes } else { 0 };
            fits
        };
        let calls: BTreeMap<_, _> = calls.filter(fits).collect();
        (!calls.is_empty()).then(|| Self::new(agent, turn, NoteKind::SideData { calls }))
    }

    /// Returns the note of what the gate says about calls; `None` without any.
    pub fn gated(agent: &str, turn: u32, calls: Vec<GatedCallNote>) -> Option<Self> {
        let mut left = MAX_SIDE_DATA_BYTES;
        let fits = |call: &GatedCallNote| {
            left = left.saturating_sub(encoded_len(call).unwrap_or(usize::MAX));
            left > 0
        };
        let cut = |call: GatedCallNote| {
            let end = call.reason.floor_char_boundary(MAX_MESSAGE_BYTES);
            GatedCallNote { reason: call.reason[..end].to_owned(), ..call }
        };
        let calls: Vec<_> = calls.into_iter().map(cut).take_while(fits).collect();
        (!calls.is_empty()).then(|| Self::new(agent, turn, NoteKind::Gated { calls }))
    }

    /// Returns the note of calls that have failed; `None` without any.
    pub fn calls_failed(agent: &str, turn: u32, calls: Vec<FailedCallNote>) -> Option<Self> {
        let mut left = MAX_SIDE_DATA_BYTES;
        let fits = |call: &FailedCallNote| {
            left = left.saturating_sub(encoded_len(call).unwrap_or(usize::MAX));
            left > 0
        };
        let calls: Vec<_> = calls.into_iter().take_while(fits).collect();
        (!calls.is_empty()).then(|| Self::new(agent, turn, NoteKind::CallsFailed { calls }))
    }

    /// Returns the note that the run begins from a state, with the decisions in it.
    pub fn resumed(state: &RunState) -> Self {
        let decided = |id: String| {
            let decision = state.decision_on(&id)?;
            Some(NotedDecision::new(id, decision))
        };
        let decisions = state.paused_calls().into_iter().filter_map(|call| decided(call.id)).collect();
        Self::new(&*state.agent, state.turn, NoteKind::Resumed { decisions })
    }
}

impl NotedDecision {
    /// Returns the decision on a question, short enough for the record.
    pub fn new(id: impl Into<String>, decision: &Decision) -> Self {
        Self { id: id.into(), decision: short(decision), by: decision.by.clone() }
    }
}

impl NotedOutput {
    /// Returns the place of the final output of a run in this state.
    pub fn of(output: &Value, state: &RunState) -> Self {
        let last = state.items.iter().rev().find_map(|item| item.raw.text());
        if let (Value::String(text), Some(last)) = (output, &last)
            && text == last
        {
            return Self::Text;
        }
        if last.is_some_and(|last| serde_json::from_str(&last).is_ok_and(|json: Value| json == *output)) {
            return Self::Json;
        }
        match encoded_len(output) {
            Ok(bytes) if bytes > MAX_OUTPUT_BYTES => Self::TooLarge { bytes },
            _ => Self::Value { value: output.clone() },
        }
    }
}

impl TrippedGuardrail {
    /// Returns the guardrail with its information, if that fits.
    pub fn new(name: &str, stage: GuardrailStage, tool: Option<&str>, output_info: &Value) -> Self {
        let fits = encoded_len(output_info).is_ok_and(|bytes| bytes <= MAX_MESSAGE_BYTES);
        let output_info = if fits { output_info.clone() } else { Value::Null };
        Self { name: name.to_owned(), stage, tool: tool.map(str::to_owned), output_info }
    }
}

/// Returns the outputs of the calls of the current response, without those that `is_told` names.
pub fn untold_outputs(state: &RunState, is_told: impl Fn(&str) -> bool) -> Vec<Item> {
    if let Phase::Interrupted { round } = &state.phase {
        let done = round.calls.iter().filter_map(|call| match &call.progress {
            CallProgress::Done { output } => {
                Some(Item::function_call_output(&call.call.call_id, output.clone().into_value()))
            }
            _ => None,
        });
        return done.filter(|item| !item.call_id().is_some_and(&is_told)).collect();
    }
    // The items since the latest response: outputs of its calls.
    let mut outputs: Vec<Item> = state
        .items
        .iter()
        .rev()
        .take_while(|item| match item.raw.view() {
            ItemView::FunctionCallOutput { .. } => true,
            // Not one of the provider.
            ItemView::NativeCallOutput { .. } => item.kind == NewItemKind::ToolCallOutput,
            _ => false,
        })
        .map(|item| &item.raw)
        .filter(|item| !item.call_id().is_some_and(&is_told))
        .cloned()
        .collect();
    outputs.reverse();
    outputs
}

fn short(decision: &Decision) -> Verdict {
    let cut = |text: &String| text[..text.floor_char_boundary(MAX_MESSAGE_BYTES)].to_owned();
    let fits = |arguments| encoded_len(arguments).is_ok_and(|bytes| bytes <= MAX_MESSAGE_BYTES);
    match decision {
        Decision { approve: true, arguments: Some(arguments), .. } => Verdict::ApproveWith {
            // Too large ones are those of the call that follows.
            arguments: if fits(arguments) { arguments.clone() } else { Map::new() },
        },
        Decision { approve: true, .. } => Verdict::Approve,
        Decision { supplied: true, message, .. } => {
            Verdict::SupplyOutput { output: message.as_ref().map(cut).unwrap_or_default() }
        }
        Decision { message, .. } => Verdict::Reject { message: message.as_ref().map(cut) },
    }
}
