//! The decisions that hold beyond the run in which they were made, and the activity that reads and
//! writes them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    digest::Digest,
    run_state::Decision,
    version::{Versioned, WireVersion},
};

/// Type of the activity that reads and writes kept decisions.
pub const KEPT_DECISIONS_ACTIVITY: &str = "agents.kept_decisions";
/// Failure type of a store that cannot be reached now; it is retried.
pub const DECISION_STORE_ERROR: &str = "DecisionStoreError";

/// A decision that holds for all later calls of a tool, or for the calls with the same arguments.
///
/// JSON: `{"agent": "coder", "tool": "dev_laptop_run", "place": "laptop", "arguments":
/// "sha256-128:..", "decision": {"approve": true, "by": "ada"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDecision {
    /// Name of the agent that makes the calls.
    pub agent: String,
    /// Name of the tool, as models know it.
    pub tool: String,
    /// Name of the MCP server or toolset that has the tool, or `hosted:` and the label of an MCP
    /// server that the provider calls; absent = the agent itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Digest of the arguments with which a call is made; absent = any. A decision on a call with a
    /// command always has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Digest>,
    /// The decision.
    pub decision: Decision,
}

impl KeptDecision {
    /// Creates a decision on all calls of a tool.
    pub fn on_tool(
        agent: impl Into<String>,
        tool: impl Into<String>,
        place: impl Into<String>,
        decision: Decision,
    ) -> Self {
        Self { agent: agent.into(), tool: tool.into(), place: place.into(), arguments: None, decision }
    }

    /// Restricts the decision to calls with these arguments, in any order of their members.
    #[must_use]
    pub fn with_arguments(mut self, arguments: &Value) -> Self {
        self.arguments = Some(Digest::of_value(arguments));
        self
    }

    /// Returns the digest of what the decision is about: decisions about the same calls have the
    /// same one.
    #[doc(hidden)]
    pub fn subject(&self) -> Digest {
        let Self { agent, tool, place, arguments, decision: _ } = self;
        Digest::of_value(&serde_json::json!([agent, tool, place, arguments]))
    }

    /// Returns `true` if both decisions are about the same calls.
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        (&self.agent, &self.tool, &self.place, &self.arguments)
            == (&other.agent, &other.tool, &other.place, &other.arguments)
    }
}

/// The decisions that are kept for the user of a run: those found when it began, and its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDecisions {
    /// The user.
    pub user: String,
    /// The decisions, each about other calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<KeptDecision>,
}

/// A request for the decisions of a user, or to keep one more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDecisionsRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// The user.
    pub user: String,
    /// The decision to keep; absent = the request reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<NewDecision>,
}

/// A decision to keep, with the arguments for people who read it later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDecision {
    /// The decision.
    pub decision: KeptDecision,
    /// The arguments of the call that was decided, as JSON; truncated to 4 KiB.
    pub arguments: String,
}

/// The decisions of a user. A reply to a request that keeps one has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDecisionsReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The decisions, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<KeptDecision>,
}

impl Versioned for KeptDecisionsReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
