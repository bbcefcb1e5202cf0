//! The state of a run between two steps: one serde value that pauses, travels and resumes.
//!
//! The engine alone changes it; people decide on its [`interruptions`](RunState::interruptions). JSON shape: see
//! `tests/golden/wire/v1.2/run_state-*.json`. It holds what the run has said and done and what it is about to do; it does
//! not hold agents, which are code and come from the graph.

mod approvals;
mod guardrails;
mod interruption;
mod items;
mod new_item;
mod phase;
mod server;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};

pub use approvals::{Approvals, Decision};
pub use guardrails::{
    GuardrailResults, InputGuardrailResult, OutputGuardrailResult, ToolGuardrailBehavior, ToolGuardrailResult,
};
pub(crate) use interruption::content;
pub use interruption::{DecisionRefused, Interruption, InterruptionKind, UnknownInterruption};
pub use new_item::{HandoffEnds, NewItem, NewItemKind};
pub use phase::{
    CallProgress, FinalOutput, FinalSource, McpAnswerer, McpApproval, Phase, PlannedCall, PlannedHandoff, Recoverable,
    RoundCall, ToolRound, ToolUse, TurnSetup,
};
pub use server::ServerConversation;

use super::{
    absent::is_default,
    item::Item,
    mcp_call::McpSession,
    usage::Usage,
    version::{WIRE_VERSION, WireVersion},
};

/// A run between two steps. Reading it fails on a version that is not [read here](WireVersion::check), whatever its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct RunState {
    /// The version of this value.
    pub version: WireVersion,
    /// The agent whose turn it is.
    pub agent: String,
    /// What the model is given first: the run's input, or what a handoff made of it.
    pub input: Vec<Item>,
    /// What has happened since: the model's items and the outputs of tools and handoffs, in order.
    pub items: Vec<NewItem>,
    /// What the model is given instead of the first of them, after a handoff that rewrote the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Rewritten>,
    /// Model calls made so far.
    pub turn: u32,
    /// Most model calls this run may make; absent = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// What the model calls have used, those of nested runs included.
    pub usage: Usage,
    /// The run context.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// The tools each agent has used, hosted ones and handoffs included; such an agent's `tool_choice` is reset.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools_used: BTreeMap<String, BTreeSet<String>>,
    /// The provider's id of the last response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_response_id: Option<String>,
    /// Whether the agent's start is still to be told to the hooks: at first, after a handoff, after a pause.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start_due: bool,
    /// How far the input guardrails are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub admission: Admission,
    /// What the guardrails have found.
    #[serde(default, skip_serializing_if = "GuardrailResults::is_empty")]
    pub guardrails: GuardrailResults,
    /// What people have decided about calls that need approval.
    #[serde(default, skip_serializing_if = "Approvals::is_empty")]
    pub approvals: Approvals,
    /// The conversation the provider keeps, where it keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerConversation>,
    /// What of this run is in the session, where the run has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionProgress>,
    /// The sessions of this run with stateful MCP servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_sessions: Vec<McpSession>,
    /// Where the turn began.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn_began: TurnMark,
    /// Whether outputs of this turn's tools may end the run, and guardrails then look at them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub holds_back_turn: bool,
    /// The calls of this turn that ran and have their output, by call id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
    /// The answers of `Host::patched`, by slug.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patches: BTreeMap<String, bool>,
    /// What tells this run from all others, wherever it goes on: a part of the idempotency keys of its calls. Absent before the first call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_scope: Option<String>,
    /// What comes next.
    pub phase: Phase,
}

/// What the model is given instead of the first items of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rewritten {
    /// The items for the model.
    pub items: Vec<NewItem>,
    /// How many items of the run they stand for.
    pub stands_for: usize,
    /// The items of the run (by place) that stand word for word in the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_input: Vec<usize>,
}

/// Where a turn began, or where it was taken up again after a pause: how many there were of what it adds to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnMark {
    /// Items.
    #[serde(default, skip_serializing_if = "is_default")]
    pub items: usize,
    /// Findings of guardrails before tools.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_input: usize,
    /// Findings of guardrails after tools.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_output: usize,
}

impl TurnMark {
    /// Where the run stands.
    pub fn here(state: &RunState) -> Self {
        Self {
            items: state.items.len(),
            tool_input: state.guardrails.tool_input.len(),
            tool_output: state.guardrails.tool_output.len(),
        }
    }
}

/// How far the input guardrails of a run are. They look at the first turn only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Admission {
    /// The blocking ones are to be asked.
    BlockingDue,
    /// The blocking ones have passed; those beside the first turn have not all answered.
    ParallelDue,
    /// All have passed.
    #[default]
    Admitted,
}

/// What of a run is in its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionProgress {
    /// The new input, until it is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<Item>,
    /// How many of the run's items are written.
    #[serde(default)]
    pub saved: usize,
}

impl Serialize for RunState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for RunState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The version first, wherever it stands: a state of another version may have another shape.
        let json = Value::deserialize(deserializer)?;
        let version = json.get("version").ok_or_else(|| D::Error::missing_field("version"))?;
        let version = WireVersion::deserialize(version).map_err(D::Error::custom)?;
        version.check("run state").map_err(D::Error::custom)?;
        Self::deserialize(json).map_err(D::Error::custom)
    }
}

impl RunState {
    /// The state of a run that is over: what carries a conversation when no run is under way.
    pub(crate) fn finished(agent: &str, conversation: Vec<Item>) -> Self {
        let item = |raw| NewItem { kind: NewItemKind::Unknown, agent: agent.to_owned(), raw, handoff: None };
        Self {
            version: WIRE_VERSION,
            agent: agent.to_owned(),
            input: Vec::new(),
            items: conversation.into_iter().map(item).collect(),
            rewritten: None,
            turn: 0,
            max_turns: None,
            usage: Usage::default(),
            context: Map::new(),
            tools_used: BTreeMap::new(),
            last_response_id: None,
            start_due: false,
            admission: Admission::Admitted,
            guardrails: GuardrailResults::default(),
            approvals: Approvals::default(),
            server: None,
            session: None,
            mcp_sessions: Vec::new(),
            turn_began: TurnMark::default(),
            holds_back_turn: false,
            completed: Vec::new(),
            patches: BTreeMap::new(),
            key_scope: None,
            phase: Phase::Finished { output: Value::Null },
        }
    }

    /// The items the model is given after the input, approval placeholders included.
    pub fn model_items(&self) -> impl Iterator<Item = &NewItem> {
        let (first, stands_for) = match &self.rewritten {
            Some(rewritten) => (&*rewritten.items, rewritten.stands_for),
            None => (&[][..], 0),
        };
        first.iter().chain(self.items.get(stands_for..).unwrap_or_default())
    }
}
