//! The facts of one run so far: what the next fact depends on.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::wire::{
    HandoffSpec, Item, ItemView, RunEvent, SideData, digest::Digest, native_call::call_of,
};

/// One run, as far as it was observed. Checkpoints of sessions contain it: a new member needs a
/// default, and no member may change its meaning.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ObservedRun {
    /// Id of the outermost run, and the calls in which this run runs.
    pub(super) root: String,
    pub(super) path: Vec<String>,
    pub(super) agent: String,
    pub(super) turn: u32,
    pub(super) has_begun: bool,
    pub(super) is_paused: bool,
    pub(super) has_ended: bool,
    /// The check of the answer of the latest model call.
    #[serde(skip_serializing_if = "OutputCheck::is_none")]
    pub(super) output_check: OutputCheck,
    /// The messages of an answer that may be the output of the run, until its guardrails have
    /// checked it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) held: Vec<RunEvent>,
    /// The calls of the latest response that may still get an output.
    pub(super) open: Vec<OpenCall>,
    /// Ids of all calls of the run: a call that the model repeats is not made again.
    pub(super) calls: BTreeSet<String>,
    /// The handoffs of the latest definitions of each agent: agent by function name.
    pub(super) handoffs: BTreeMap<String, BTreeMap<String, String>>,
    /// The agent to which the latest response hands off.
    pub(super) hands_off_to: Option<String>,
    /// Text of the latest message.
    pub(super) text: Option<String>,
    /// Ids of questions that wait.
    pub(super) asked: Vec<String>,
    /// Numbers of pauses, resumptions, questions and decisions, by turn and name: `2-question`.
    pub(super) numbers: BTreeMap<String, u32>,
}

/// The check of an answer by output guardrails, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OutputCheck {
    #[default]
    None,
    Guardrails,
    /// The request of the model call is not known.
    Unknown,
}

impl OutputCheck {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// A call that may still get an output.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OpenCall {
    pub(super) call_id: String,
    pub(super) name: String,
    /// Index of the call among the tool calls of its response; `None` for a call of a response that
    /// was not observed, and for a handoff.
    pub(super) index: Option<usize>,
    /// Digest of the output that was reported last, and the number of outputs.
    #[serde(rename = "told")]
    pub(super) reported: Option<Digest>,
    pub(super) outputs: u32,
    /// `true` if the call has failed: its output is the message that the model receives.
    #[serde(skip_serializing_if = "is_false")]
    pub(super) has_failed: bool,
    /// Data of the output that is not reported yet, which the model does not receive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) side_data: Option<Box<SideData>>,
}

impl ObservedRun {
    /// Returns the id in the run of the next fact of this name in the turn: `2-question-1`.
    pub(super) fn numbered(&mut self, name: &str) -> String {
        let name = format!("{}-{name}", self.turn);
        let number = self.numbers.entry(name.clone()).or_default();
        *number = number.saturating_add(1);
        format!("{name}-{number}")
    }

    /// Keeps the handoffs of an agent's definitions.
    pub(super) fn offers(&mut self, agent: &str, handoffs: &[HandoffSpec]) {
        let by_name = handoffs.iter().map(|spec| (spec.tool_name.clone(), spec.agent_name.clone())).collect();
        self.handoffs.insert(agent.to_owned(), by_name);
    }

    /// Keeps the calls of a response.
    pub(super) fn answered(&mut self, output: &[Item]) {
        self.open.clear();
        self.hands_off_to = None;
        let handoffs = self.handoffs.get(&self.agent);
        let mut index = 0;
        for item in output {
            match (call_of(item, output), item.view()) {
                (Some(call), _) => {
                    if !self.calls.insert(call.call_id.to_owned()) {
                        continue;
                    }
                    let target = handoffs.and_then(|handoffs| handoffs.get(call.name));
                    let target = target.filter(|_| call.namespace.is_none());
                    let own = target.is_none().then_some(index);
                    index += own.map_or(0, |_| 1);
                    if let Some(target) = target {
                        self.hands_off_to.get_or_insert_with(|| target.clone());
                    }
                    self.open.push(OpenCall::new(call.call_id, call.name, own));
                }
                (None, ItemView::Message { .. }) => self.text = item.text(),
                _ => {}
            }
        }
    }

    /// Returns the open call with this id, and opens one that an earlier run has made.
    pub(super) fn call(&mut self, call_id: &str, name: &str) -> &mut OpenCall {
        let at = self.open.iter().position(|call| call.call_id == call_id).unwrap_or_else(|| {
            self.open.push(OpenCall::new(call_id, name, None));
            self.open.len() - 1
        });
        &mut self.open[at]
    }
}

impl OpenCall {
    /// Records that this output is reported. Returns `false` if it is the output that was reported
    /// last.
    pub(super) fn report(&mut self, output: &Value) -> bool {
        let digest = Digest::of_text(&output.to_string());
        if self.reported.as_ref() == Some(&digest) {
            return false;
        }
        self.reported = Some(digest);
        self.outputs = self.outputs.saturating_add(1);
        true
    }

    fn new(call_id: &str, name: &str, index: Option<usize>) -> Self {
        Self { call_id: call_id.to_owned(), name: name.to_owned(), index, ..Self::default() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
