//! Input and result of the workflow that waits for a person's decision.
//!
//! JSON shapes: `tests/golden/wire/v1.2/approval_request-*.json`, `approval_ruling-*.json`. Any
//! workflow with this input and this result can be used;
//! `ApprovalWorkflow` is one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    absent::is_default,
    agent_handlers::{AgentDecision, AgentInterruption, Verdict, first_version, readable_version},
    decider,
    run_state::Decision,
    version::{WIRE_VERSION, WireVersion},
};

/// The workflow type of `ApprovalWorkflow`.
pub const APPROVAL_WORKFLOW: &str = "ApprovalWorkflow";

/// The workflow's input: a call that a person decides on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The version of this message; absent = 1.0.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// The call to decide on.
    pub call: AgentInterruption,
    /// Seconds to wait for a decision before the call is rejected.
    pub timeout_seconds: u64,
}

/// The workflow's result: the decision. `{"approve": true}` is sufficient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalRuling {
    /// The version of this message; absent = 1.0, since people may write this message by hand.
    #[serde(default = "first_version", deserialize_with = "readable_version")]
    pub version: WireVersion,
    /// `true` if the call is made.
    pub approve: bool,
    /// Message for the model about a call that is not made. With `supplied`, the output of a call
    /// that was made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `true` if the message is the call's output.
    #[serde(default, skip_serializing_if = "is_default")]
    pub supplied: bool,
    /// `true` if the decision also applies to all later calls of this tool in the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub always: bool,
    /// Arguments with which the call is made, in place of those that the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// The name or id of the person who decided, as the caller states it: at most 256 characters,
    /// not sent to models and not checked. A service that lets people decide writes the
    /// authenticated user here.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "decider::read")]
    pub by: Option<String>,
}

impl ApprovalRuling {
    /// Converts the ruling to a decision on the call with this id.
    pub fn on(self, interruption_id: impl Into<String>) -> AgentDecision {
        let Self { version: _, approve, message, supplied, always, arguments, by } = self;
        let verdict = match (message, arguments) {
            // An approval ignores the message.
            (_, Some(arguments)) if approve => Verdict::ApproveWith { arguments },
            _ if approve => Verdict::Approve,
            (Some(output), _) if supplied => Verdict::SupplyOutput { output },
            (message, _) => Verdict::Reject { message },
        };
        AgentDecision { always, by, ..AgentDecision::new(interruption_id, verdict) }
    }

    /// Converts the ruling to a [`Decision`], without `always`.
    pub fn decision(self) -> Decision {
        let Self { version: _, approve, message, supplied, always: _, arguments, by } = self;
        Decision { approve, message, supplied, arguments, by }
    }
}

impl From<Decision> for ApprovalRuling {
    fn from(decision: Decision) -> Self {
        let Decision { approve, message, supplied, arguments, by } = decision;
        Self { version: WIRE_VERSION, approve, message, supplied, always: false, arguments, by }
    }
}

impl From<AgentDecision> for ApprovalRuling {
    fn from(decided: AgentDecision) -> Self {
        let AgentDecision { version: _, interruption_id: _, decision, always, by } = decided;
        let decision = match decision {
            Verdict::Approve => Decision::approve(),
            Verdict::ApproveWith { arguments } => Decision::approve_with(arguments),
            Verdict::Reject { message } => Decision { message, ..Decision::reject() },
            Verdict::SupplyOutput { output } => Decision::supply(output),
        };
        Self { always, by, ..Self::from(decision) }
    }
}
