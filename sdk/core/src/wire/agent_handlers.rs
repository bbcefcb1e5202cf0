//! Messages by which clients read the state of a workflow's runs, and decide on calls that wait.
//!
//! These are the messages of the handlers that `#[agent_handlers]` adds to a workflow: updates and
//! queries with the names below, each with one JSON value as input and one as output. A client in
//! any language can send them. A decision that does not count is data in the reply; only a message
//! that the workflow cannot read is a failed update. An *interruption* is a call that waits, see
//! [`InterruptionKind`].

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use super::{
    absent::is_default,
    decider,
    mcp_call::McpQuestion,
    run_state::{Decision, Interruption, InterruptionKind},
    run_status::{self, RunStatus},
    version::{WIRE_VERSION, WireVersion},
};

/// Name of the update that decides on a call; takes an [`AgentDecision`], returns a
/// [`DecisionReply`].
pub const AGENT_DECIDE: &str = "agent_decide";
/// Name of the update that supplies the output of a call; takes a [`SuppliedOutput`], returns a
/// [`DecisionReply`].
pub const AGENT_SUPPLY_OUTPUT: &str = "agent_supply_output";
/// Name of the query that returns an [`AgentState`].
pub const AGENT_STATE: &str = "agent_state";

/// A decision on an interruption: a call that waits.
///
/// JSON shape: `{"interruption_id": "call_1", "decision": {"kind": "approve"}}`, optionally with a
/// member `"by": "ann"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDecision {
    /// The version of this message; absent = 1.0, since people may write this message by hand.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// Id of the interruption.
    pub interruption_id: String,
    /// The verdict on the call.
    pub decision: Verdict,
    /// `true` if the decision also applies to all other calls of this tool by this agent in this
    /// run: those that wait now, and later ones, also if they would need no approval. For calls
    /// that a hosted MCP server makes, it applies to all agents.
    #[serde(default, skip_serializing_if = "is_default")]
    pub always: bool,
    /// The name or id of the person who decided, as the client states it: at most 256 characters,
    /// not sent to models and not checked. A service that lets people decide writes the
    /// authenticated user here.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decider::read")]
    pub by: Option<String>,
}

/// A verdict on a call. A message with an unknown kind is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Verdict {
    /// The call is made, unless a guardrail stops it.
    Approve,
    /// The call is made with these arguments, in place of those that the model wrote.
    ApproveWith {
        /// The arguments, which must fit the tool's schema.
        arguments: Map<String, Value>,
    },
    /// The call is not made.
    Reject {
        /// Output that the model gets instead; absent = `Tool execution was not approved.`, unless
        /// the run has a `tool_error_formatter`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The run does not make the call, because it was made elsewhere; the model gets this output.
    SupplyOutput {
        /// Output of the call for the model.
        output: String,
    },
}

impl From<Decision> for Verdict {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision { approve: true, arguments: Some(arguments), .. } => Self::ApproveWith { arguments },
            Decision { approve: true, .. } => Self::Approve,
            Decision { supplied: true, message, .. } => Self::SupplyOutput { output: message.unwrap_or_default() },
            Decision { message, .. } => Self::Reject { message },
        }
    }
}

impl AgentDecision {
    /// Returns the decision to make the call.
    pub fn approve(interruption_id: impl Into<String>) -> Self {
        Self::new(interruption_id, Verdict::Approve)
    }

    /// Returns the decision to make the call with these arguments, in place of those that the model
    /// wrote.
    pub fn approve_with(interruption_id: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self::new(interruption_id, Verdict::ApproveWith { arguments })
    }

    /// Returns the decision not to make the call; the model gets the run's default message.
    pub fn reject(interruption_id: impl Into<String>) -> Self {
        Self::new(interruption_id, Verdict::Reject { message: None })
    }

    /// Returns the decision not to make the call; the model gets this message.
    pub fn reject_with(interruption_id: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(interruption_id, Verdict::Reject { message: Some(message.into()) })
    }

    /// Returns a message with this verdict, for this call only.
    pub fn new(interruption_id: impl Into<String>, decision: Verdict) -> Self {
        Self { version: WIRE_VERSION, interruption_id: interruption_id.into(), decision, always: false, by: None }
    }

    /// Sets the name or id of the person who decided; the first 256 characters are kept.
    #[must_use]
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = decider::named(name);
        self
    }

    /// Also applies the decision to all other calls of this tool by this agent in this run: see the
    /// field `always`.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.always = true;
        self
    }
}

/// The output of a call that was made outside the run.
///
/// JSON shape: `{"interruption_id": "call_1", "output": "paid by hand"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SuppliedOutput {
    /// The version of this message; absent = 1.0.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// Id of the interruption.
    pub interruption_id: String,
    /// Output for the model: a string as it is, any other value as its JSON.
    pub output: Value,
    /// Name or id of the person who made the call, as the client states it: at most 256 characters,
    /// not sent to models and not checked. A service that lets people decide writes the
    /// authenticated user here.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decider::read")]
    pub by: Option<String>,
}

impl SuppliedOutput {
    /// Returns a message with this output.
    pub fn new(interruption_id: impl Into<String>, output: impl Into<Value>) -> Self {
        Self { version: WIRE_VERSION, interruption_id: interruption_id.into(), output: output.into(), by: None }
    }

    /// Sets the name or id of the person who made the call; the first 256 characters are kept.
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

/// The result of the updates `agent_decide` and `agent_supply_output`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The outcome of the decision.
    pub answer: DecisionAnswer,
}

impl From<DecisionAnswer> for DecisionReply {
    fn from(answer: DecisionAnswer) -> Self {
        Self { version: WIRE_VERSION, answer }
    }
}

/// The outcome of a decision. A decision that is sent twice has the same effect as one that is sent
/// once. The answer may differ: [`Kept`](Self::Kept) or [`Unmatched`](Self::Unmatched) at first and
/// [`Accepted`](Self::Accepted) later, when a run waits for the decision or has taken it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum DecisionAnswer {
    /// A run waits for this decision, or has already taken it. A guardrail may still stop the call.
    Accepted,
    /// No call waits now. The decision is kept until one with this id does, and dropped if it does
    /// not fit that call, or when all runs have ended.
    Kept {
        /// Empty. Builds before `Unmatched` listed the calls that waited.
        waits_for: Vec<String>,
    },
    /// Other calls wait, and none with this id: the id is probably mistyped. The decision is kept as
    /// with [`Kept`](Self::Kept), for a call that comes later.
    Unmatched {
        /// Ids of the calls that wait.
        waits_for: Vec<String>,
    },
    /// A different decision on this id was made before, and remains in effect.
    AlreadyDecided {
        /// The earlier decision.
        decision: Verdict,
        /// `true` if the earlier decision also applies to later calls of the tool.
        #[serde(default, skip_serializing_if = "is_default")]
        always: bool,
    },
    /// The decision is not kept: all runs have ended, or the run that requested it has, or the
    /// limit of kept decisions that no run has requested is reached.
    Unknown {
        /// Ids of the interruptions that runs wait for.
        waits_for: Vec<String>,
    },
    /// This call cannot be decided in this way, for example a client tool by an approval.
    Refused {
        /// Reason for the refusal, and what to do instead.
        reason: String,
    },
    /// An answer of a later release.
    #[serde(other)]
    Other,
}

impl DecisionAnswer {
    /// Returns `true` if the decision applies to its call, now or as soon as that call waits.
    pub fn counts(&self) -> bool {
        match self {
            Self::Accepted | Self::Kept { .. } | Self::Unmatched { .. } => true,
            Self::AlreadyDecided { .. } | Self::Unknown { .. } | Self::Refused { .. } | Self::Other => false,
        }
    }
}

/// Progress of a workflow's runs, and the calls that they wait for. Of several runs at the same
/// time, `agent` and `turn` are those of the latest turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentState {
    /// The version of this message.
    pub version: WireVersion,
    /// Status of the runs: that of the latest one, unless another one is in progress or waits.
    #[serde(serialize_with = "run_status::in_first_words")]
    pub status: RunStatus,
    /// Name of the agent whose turn it is, or was last; absent before the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Number of the turn, counted from 1; 0 before the first turn.
    #[serde(default)]
    pub turn: u32,
    /// The calls that wait and have no decision yet, in call order.
    #[serde(default)]
    pub interruptions: Vec<AgentInterruption>,
    /// The decisions, in order of arrival.
    #[serde(default)]
    pub decided: Vec<DecidedInterruption>,
}

impl AgentState {
    /// Returns the ids of the calls that wait for their output.
    #[doc(hidden)]
    pub fn calls_without_output(&self) -> Vec<&str> {
        let waiting = self.interruptions.iter().filter(|call| call.kind == InterruptionKind::Output);
        waiting.map(|call| &*call.id).collect()
    }

    /// Returns the ids of the calls whose output was supplied, the latest first.
    #[doc(hidden)]
    pub fn calls_with_output(&self) -> Vec<&str> {
        let is_supplied = |decided: &&DecidedInterruption| matches!(decided.decision, Verdict::SupplyOutput { .. });
        self.decided.iter().rev().filter(is_supplied).map(|decided| &*decided.id).collect()
    }
}

/// An interruption: a call that waits for a decision, or, according to its `kind`, for its
/// [`Output`](InterruptionKind::Output) or for an [`Input`](InterruptionKind::Input).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInterruption {
    /// Id to decide by: the id of the call, with a suffix (`#2` and so on) if another interruption
    /// had that id.
    pub id: String,
    /// Name of the agent that made the call.
    pub agent: String,
    /// Name of the tool.
    pub tool: String,
    /// The arguments as the model wrote them: JSON text.
    pub arguments: String,
    /// Label of the hosted MCP server that requests approval; absent for the tools of an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The kind of the interruption; absent = [`Approval`](InterruptionKind::Approval).
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: InterruptionKind,
    /// Question of an MCP server, if `kind` is [`Input`](InterruptionKind::Input):
    /// `{"message": .., "schema": ..}`. The answer is supplied like an output, as the string of a
    /// JSON object that fits the schema; a rejection declines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<McpQuestion>,
    /// Time at which the question expires, in milliseconds since the Unix epoch; absent = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl From<Interruption> for AgentInterruption {
    fn from(interruption: Interruption) -> Self {
        let arguments = interruption.arguments();
        let server = interruption.server().map(str::to_owned);
        let Interruption { id, agent, tool, raw: _, kind, question } = interruption;
        Self { id, agent, tool, arguments, server, kind, question, expires_at: None }
    }
}

/// A decision that the workflow has received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecidedInterruption {
    /// Id of the interruption.
    pub id: String,
    /// The decision.
    pub decision: Verdict,
    /// `true` if the decision also applies to later calls of the tool.
    #[serde(default, skip_serializing_if = "is_default")]
    pub always: bool,
    /// `true` if a run has taken the decision; `false` if it has not done so yet.
    pub taken: bool,
    /// Name or id of the person who decided, as the decision states it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decider::read")]
    pub by: Option<String>,
}

/// The version of a message without one: 1.0.
pub fn first_version() -> WireVersion {
    WireVersion { major: 1, minor: 0 }
}

/// Reads the version and checks that this build supports it, so that a message of another version
/// is refused before it is partly read.
pub fn readable_version<'de, D: Deserializer<'de>>(json: D) -> Result<WireVersion, D::Error> {
    let version = WireVersion::deserialize(json)?;
    version.check("agent message").map_err(D::Error::custom)?;
    Ok(version)
}
