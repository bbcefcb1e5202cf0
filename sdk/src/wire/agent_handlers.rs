//! What people and programs say to a run that waits for them, and what they are told.
//!
//! Messages of the handlers that `#[agent_handlers]` adds to a workflow: updates and queries by these names, one JSON value
//! in, one out. A caller of any language sends them. Answers are data, never a failed update.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::{
    absent::is_default,
    decider,
    mcp_call::McpQuestion,
    run_state::{Interruption, InterruptionKind},
    version::{WIRE_VERSION, WireVersion},
};

/// The update that decides on a call: an [`AgentDecision`] in, a [`DecisionReply`] out.
pub const AGENT_DECIDE: &str = "agent_decide";
/// The update that supplies the output of a call: a [`SuppliedOutput`] in, a [`DecisionReply`] out.
pub const AGENT_SUPPLY_OUTPUT: &str = "agent_supply_output";
/// The query for an [`AgentState`].
pub const AGENT_STATE: &str = "agent_state";

/// A decision on a call that waits for one.
///
/// JSON shape: `{"interruption_id": "call_1", "decision": {"kind": "approve"}}`, or with `"by": "ann"` beside these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDecision {
    /// The version of this message; absent = 1.0, for people who write it by hand.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// The id of the interruption.
    pub interruption_id: String,
    /// What is decided.
    pub decision: Verdict,
    /// Whether it holds for all later calls of this tool by this agent, in this run, too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub always: bool,
    /// The name or id of the person who decided, as the caller states it: at most 256 characters,
    /// not sent to models and not checked. A service that lets people decide writes the
    /// authenticated user here.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decider::read")]
    pub by: Option<String>,
}

/// What is decided about a call. An *instruction* kind: one that is not known is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// The call is made.
    Approve,
    /// The call is not made.
    Reject {
        /// What the model gets instead of an output; absent = the run's own text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The call is not made: somebody else has made it, and the model gets this as its output.
    SupplyOutput {
        /// The output.
        output: String,
    },
}

impl AgentDecision {
    /// The call is made.
    pub fn approve(interruption_id: impl Into<String>) -> Self {
        Self::new(interruption_id, Verdict::Approve)
    }

    /// The call is not made; the model is told so in the run's own words.
    pub fn reject(interruption_id: impl Into<String>) -> Self {
        Self::new(interruption_id, Verdict::Reject { message: None })
    }

    /// The call is not made; the model gets this text.
    pub fn reject_with(interruption_id: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(interruption_id, Verdict::Reject { message: Some(message.into()) })
    }

    /// This decision.
    pub fn new(interruption_id: impl Into<String>, decision: Verdict) -> Self {
        Self { version: WIRE_VERSION, interruption_id: interruption_id.into(), decision, always: false, by: None }
    }

    /// Says who has decided: a name or an id, of which the first 256 characters are kept.
    #[must_use]
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = decider::named(name);
        self
    }

    /// The same for all later calls of this tool by this agent, in this run.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.always = true;
        self
    }
}

/// The output of a call that somebody else has made.
///
/// JSON shape: `{"interruption_id": "call_1", "output": "paid by hand"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuppliedOutput {
    /// The version of this message; absent = 1.0.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// The id of the interruption.
    pub interruption_id: String,
    /// What the model gets: a string as it is, anything else as its JSON.
    pub output: Value,
    /// Who has made the call, as the caller names them: a name or an id, at most 256 characters, of which no model is told. Nobody checks it: a service
    /// that lets people decide writes here whom it has authenticated.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decider::read")]
    pub by: Option<String>,
}

impl SuppliedOutput {
    /// This output.
    pub fn new(interruption_id: impl Into<String>, output: impl Into<Value>) -> Self {
        Self { version: WIRE_VERSION, interruption_id: interruption_id.into(), output: output.into(), by: None }
    }

    /// Says who has made the call: a name or an id, of which the first 256 characters are kept.
    #[must_use]
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = decider::named(name);
        self
    }
}

impl From<SuppliedOutput> for AgentDecision {
    fn from(supplied: SuppliedOutput) -> Self {
        let SuppliedOutput { version, interruption_id, output, by } = supplied;
        let output = match output {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Self { version, interruption_id, decision: Verdict::SupplyOutput { output }, always: false, by }
    }
}

/// The result of both updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionReply {
    /// The version of this message.
    pub version: WireVersion,
    /// What became of the decision.
    pub answer: DecisionAnswer,
}

impl From<DecisionAnswer> for DecisionReply {
    fn from(answer: DecisionAnswer) -> Self {
        Self { version: WIRE_VERSION, answer }
    }
}

/// What became of a decision. The same decision sent twice has the same effect, and the same answer, as sent once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecisionAnswer {
    /// The run waits for it, or has taken it.
    Accepted,
    /// The run has not asked for it; it is kept until the run does.
    Kept {
        /// What the run waits for.
        waits_for: Vec<String>,
    },
    /// Something else was decided before, and counts.
    AlreadyDecided {
        /// What was decided.
        decision: Verdict,
        /// Whether it holds for later calls, too.
        #[serde(default, skip_serializing_if = "is_default")]
        always: bool,
    },
    /// No run will ask for it, so it is not kept: all have ended, or the one that did, or too much is kept already that no run
    /// has asked for.
    Unknown {
        /// What runs wait for.
        waits_for: Vec<String>,
    },
    /// This call cannot be decided in this way.
    Refused {
        /// Why, and what to do instead.
        reason: String,
    },
    /// An answer of a later release.
    #[serde(other)]
    Other,
}

/// How far a workflow's run is, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    /// The version of this message.
    pub version: WireVersion,
    /// What the run does.
    pub status: AgentStatus,
    /// The agent whose turn it is, or was last; absent before the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its turn, counted from 1; 0 before the first one.
    #[serde(default)]
    pub turn: u32,
    /// The calls that wait for a decision, in the order in which they are to be shown.
    #[serde(default)]
    pub interruptions: Vec<AgentInterruption>,
    /// What was decided, in the order of arrival.
    #[serde(default)]
    pub decided: Vec<DecidedInterruption>,
}

/// What the run of a workflow does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentStatus {
    /// No run has begun, or one was carried over and has not begun again.
    #[default]
    Idle,
    /// A run is at work.
    Running,
    /// A run waits for decisions.
    Waiting,
    /// The last run has ended with a final output.
    Finished,
    /// The last run has failed.
    Failed,
    /// The last run was cancelled.
    Cancelled,
    /// A status of a later release.
    #[serde(other)]
    Other,
}

/// A call that waits for a decision, or, with `kind` [`Output`](InterruptionKind::Output), for its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInterruption {
    /// What to decide by: the id of the call, with `#2` and so on at its end where another question had that id.
    pub id: String,
    /// The agent that calls.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The arguments as the model wrote them: JSON text.
    pub arguments: String,
    /// The hosted MCP server that asks; absent for the tools of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What it waits for; absent = a decision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: InterruptionKind,
    /// What an MCP server asks, where `kind` is [`Input`](InterruptionKind::Input): `{"message": .., "schema": ..}`. The answer is supplied as an
    /// output is, as the text of a JSON object that fits the schema; a rejection declines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<McpQuestion>,
}

impl From<Interruption> for AgentInterruption {
    fn from(interruption: Interruption) -> Self {
        let arguments = interruption.arguments();
        let server = interruption.server().map(str::to_owned);
        let Interruption { id, agent, tool, raw: _, kind, question } = interruption;
        Self { id, agent, tool, arguments, server, kind, question }
    }
}

/// A decision that has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedInterruption {
    /// The id of the interruption.
    pub id: String,
    /// What was decided.
    pub decision: Verdict,
    /// Whether it holds for later calls, too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub always: bool,
    /// Whether a run has taken it; until then it is kept.
    pub taken: bool,
    /// Who has decided, as the decision says.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decider::read")]
    pub by: Option<String>,
}

pub(crate) fn first_version() -> WireVersion {
    WireVersion { major: 1, minor: 0 }
}

/// A version this build reads, so that a message of another one is refused before it is half understood.
pub(crate) fn readable_version<'de, D: Deserializer<'de>>(json: D) -> Result<WireVersion, D::Error> {
    let version = WireVersion::deserialize(json)?;
    version.check("agent message").map_err(D::Error::custom)?;
    Ok(version)
}
