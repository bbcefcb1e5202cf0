//! The state of a run between two steps: one serde value with which a run is paused, moved and
//! resumed.
//!
//! Only the engine changes it; people decide on its [`interruptions`](RunState::interruptions).
//! JSON shape: see `tests/golden/wire/v1.2/run_state-*.json`. It contains the input and the items
//! of the run so far, and its next step; it does not contain agents, which are code and come from
//! the graph.

mod approvals;
mod guardrails;
mod interruption;
mod items;
mod new_item;
mod phase;
mod refused;
mod server;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};

pub use approvals::{Approvals, Decision};
pub use guardrails::{
    GuardrailResults, InputGuardrailResult, OutputGuardrailResult, ToolGuardrailBehavior, ToolGuardrailResult,
};
pub use interruption::content;
pub use interruption::{DecisionRefused, Interruption, InterruptionKind};
pub use new_item::{HandoffEnds, NewItem, NewItemKind};
pub use phase::{
    CallProgress, FinalOutput, FinalSource, McpAnswerer, McpApproval, Phase, PlannedCall, PlannedHandoff, Recoverable,
    RoundCall, ToolRound, ToolUse, TurnSetup,
};
pub use refused::RefusedCalls;
pub use server::ServerConversation;

use super::{
    absent::is_default,
    item::Item,
    kept_decision::KeptDecisions,
    mcp_call::McpSession,
    toolset::ToolsetSnapshot,
    trace_settings::TraceSettings,
    usage::Usage,
    version::{WIRE_VERSION, WireVersion},
};

/// A run between two steps. Reading it fails on a version that is not
/// [read here](WireVersion::check), whatever its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct RunState {
    /// The version of this value.
    pub version: WireVersion,
    /// Name of the agent whose turn it is.
    pub agent: String,
    /// The first items for the model: the run's input, or the input that a handoff made from it.
    pub input: Vec<Item>,
    /// The items since then, in order: the model's items and the outputs of tools and handoffs.
    pub items: Vec<NewItem>,
    /// Items that the model gets instead of the first of `items`, after a handoff that rewrote the
    /// conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Rewritten>,
    /// Number of model calls made so far.
    pub turn: u32,
    /// Maximum number of model calls of this run; absent = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Usage of the model calls, including those of nested runs.
    pub usage: Usage,
    /// The run context.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// The tools that each agent has used, including hosted tools and handoffs; such an agent's
    /// `tool_choice` is reset.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools_used: BTreeMap<String, BTreeSet<String>>,
    /// Id of the last response, assigned by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_response_id: Option<String>,
    /// Why the last answer stopped early, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Number of the last responses in a row that had no usable answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unanswered: u32,
    /// `true` if the hooks are not yet notified of the agent's start: at first, after a handoff,
    /// after a pause.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start_due: bool,
    /// Progress of the input guardrails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub admission: Admission,
    /// Results of the guardrails.
    #[serde(default, skip_serializing_if = "GuardrailResults::is_empty")]
    pub guardrails: GuardrailResults,
    /// Decisions of people about calls that need approval.
    #[serde(default, skip_serializing_if = "Approvals::is_empty")]
    pub approvals: Approvals,
    /// State of the conversation at the provider, if it keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerConversation>,
    /// Progress of writing the run to its session, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionProgress>,
    /// The sessions of this run with stateful MCP servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_sessions: Vec<McpSession>,
    /// The tools that the run may use beyond those of its agents.
    #[serde(default, skip_serializing_if = "ToolsetSnapshot::is_empty")]
    pub toolset: ToolsetSnapshot,
    /// The decisions that are kept for the user of the run; absent = the run keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptDecisions>,
    /// The questions of the run that expire, by the ids of the interruptions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expiries: BTreeMap<String, Expiry>,
    /// The beginning of the turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn_began: TurnMark,
    /// `true` if outputs of this turn's tools may end the run, and output guardrails then check
    /// them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub holds_back_turn: bool,
    /// Ids of the calls of this turn that ran and have their output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
    /// The tools whose latest call had arguments that were refused, by agent and tool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, BTreeMap<String, RefusedCalls>>,
    /// Ids of the calls of this turn whose outputs a recorded effect shows, so that no note of the
    /// run repeats them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shown: BTreeSet<String>,
    /// Results of `Host::patched`, by slug.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patches: BTreeMap<String, bool>,
    /// Id that distinguishes this run from all others, wherever it continues: a part of the
    /// idempotency keys of its calls. Absent before the first call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_scope: Option<String>,
    /// Settings of the trace of the run, if it has some. A run that is resumed keeps those that its
    /// runner does not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<TraceSettings>>,
    /// The next step of the run.
    pub phase: Phase,
}

/// The end of the time for a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// The time, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The decision that counts from then on.
    pub decision: Decision,
}

/// Items that the model gets instead of the first items of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rewritten {
    /// The items for the model.
    pub items: Vec<NewItem>,
    /// Number of items of the run that they replace.
    pub stands_for: usize,
    /// Indexes of the items of the run that the input contains verbatim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_input: Vec<usize>,
}

/// The beginning of a turn, or the point at which it resumed after a pause: the number of entries
/// of each list that a turn appends to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnMark {
    /// Number of items.
    #[serde(default, skip_serializing_if = "is_default")]
    pub items: usize,
    /// Number of results of guardrails before tools.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_input: usize,
    /// Number of results of guardrails after tools.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_output: usize,
}

impl TurnMark {
    /// Returns the mark of the run's present state.
    pub fn here(state: &RunState) -> Self {
        Self {
            items: state.items.len(),
            tool_input: state.guardrails.tool_input.len(),
            tool_output: state.guardrails.tool_output.len(),
        }
    }
}

/// Progress of the input guardrails of a run. They check the first turn only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Admission {
    /// The blocking guardrails have not run yet.
    BlockingDue,
    /// The blocking guardrails have passed; those that run in parallel with the first turn have not
    /// all returned.
    ParallelDue,
    /// All guardrails have passed.
    #[default]
    Admitted,
}

/// The progress of writing a run to its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionProgress {
    /// The new input, until it is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<Item>,
    /// Number of the run's items that are written.
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
        // The version first, wherever it is in the object: a state of another version may have
        // another shape.
        let json = Value::deserialize(deserializer)?;
        let version = json.get("version").ok_or_else(|| D::Error::missing_field("version"))?;
        let version = WireVersion::deserialize(version).map_err(D::Error::custom)?;
        version.check("run state").map_err(D::Error::custom)?;
        Self::deserialize(json).map_err(D::Error::custom)
    }
}

impl RunState {
    /// Returns the state of a finished run, which carries a conversation while no run is in
    /// progress.
    #[doc(hidden)]
    pub fn finished(agent: &str, conversation: Vec<Item>) -> Self {
        let item =
            |raw| NewItem { kind: NewItemKind::Unknown, agent: agent.to_owned(), raw, handoff: None, side_data: None };
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
            incomplete: None,
            unanswered: 0,
            start_due: false,
            admission: Admission::Admitted,
            guardrails: GuardrailResults::default(),
            approvals: Approvals::default(),
            server: None,
            session: None,
            mcp_sessions: Vec::new(),
            toolset: ToolsetSnapshot::default(),
            kept: None,
            expiries: BTreeMap::new(),
            turn_began: TurnMark::default(),
            holds_back_turn: false,
            completed: Vec::new(),
            refused: BTreeMap::new(),
            shown: BTreeSet::new(),
            patches: BTreeMap::new(),
            key_scope: None,
            trace: None,
            phase: Phase::Finished { output: Value::Null },
        }
    }

    /// Returns the items that the model gets after the input, including approval placeholders.
    pub fn model_items(&self) -> impl Iterator<Item = &NewItem> {
        let (first, stands_for) = match &self.rewritten {
            Some(rewritten) => (&*rewritten.items, rewritten.stands_for),
            None => (&[][..], 0),
        };
        first.iter().chain(self.items.get(stands_for..).unwrap_or_default())
    }
}
