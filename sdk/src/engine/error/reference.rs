//! What the OpenAI Agents SDK calls an error, for those who compare, translate or match on its words.

use super::RunError;

/// An error in the words of the OpenAI Agents SDK.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceError {
    /// The class, for example `MaxTurnsExceeded`; `None` for a failure of the author's or the provider's own.
    pub class: Option<&'static str>,
    /// The message.
    pub message: String,
    /// Whether the error carries what the run has done so far; it does not where that could tell what is withheld.
    pub has_run_data: bool,
}

impl RunError {
    /// The error in the words of the OpenAI Agents SDK for Python.
    pub fn reference(&self) -> ReferenceError {
        let own = |class, message: String| ReferenceError { class: Some(class), message, has_run_data: true };
        let foreign = |message: String| ReferenceError { class: None, message, has_run_data: false };
        let behavior = |message: &str| own("ModelBehaviorError", message.to_owned());
        let invalid = || ReferenceError { has_run_data: false, ..behavior("Invalid JSON when parsing model output") };
        match self {
            Self::MaxTurnsExceeded { max_turns, .. } => {
                own("MaxTurnsExceeded", format!("Max turns ({max_turns}) exceeded"))
            }
            Self::ModelBehavior { message, .. } | Self::CallIdReused { message, .. } => behavior(message),
            // The reference has no limit.
            Self::TooManyCalls { .. } => behavior(&self.to_string()),
            Self::InvalidOutput { .. } | Self::InvalidHandoffInput { .. } => invalid(),
            Self::ModelRefusal { refusal, .. } => {
                own("ModelRefusalError", format!("Model refused to produce output: {refusal}"))
            }
            Self::User { message, has_run_data, .. } => {
                ReferenceError { has_run_data: *has_run_data, ..own("UserError", message.clone()) }
            }
            Self::InputGuardrailTripped { .. } => {
                own("InputGuardrailTripwireTriggered", "Guardrail InputGuardrail triggered tripwire".to_owned())
            }
            Self::OutputGuardrailTripped { from_tool, .. } => ReferenceError {
                has_run_data: !from_tool,
                ..own("OutputGuardrailTripwireTriggered", "Guardrail OutputGuardrail triggered tripwire".to_owned())
            },
            Self::ToolInputGuardrailTripped { .. } => own(
                "ToolInputGuardrailTripwireTriggered",
                "Tool input guardrail ToolInputGuardrail triggered tripwire".to_owned(),
            ),
            Self::ToolOutputGuardrailTripped { .. } => own(
                "ToolOutputGuardrailTripwireTriggered",
                "Tool output guardrail ToolOutputGuardrail triggered tripwire".to_owned(),
            ),
            Self::ToolFailed { tool, source, .. } => own("UserError", format!("Error running tool {tool}: {source}")),
            Self::Graph(issues) => own("UserError", issues.to_string()),
            Self::Context { .. }
            | Self::State(_)
            | Self::NeedsApproval { .. }
            | Self::Refused { .. }
            | Self::ToolNotRegistered { .. } => own("UserError", self.to_string()),
            Self::Model { reason, .. } => foreign(reason.clone()),
            Self::Function { source, .. }
            | Self::Session { source, .. }
            | Self::Tool { source, .. }
            | Self::Mcp { source, .. } => foreign(source.to_string()),
            Self::Panicked { message, .. } => foreign(message.clone()),
            Self::OutputType { .. }
            | Self::Cancelled { .. }
            | Self::ContinuesAsNew { .. }
            | Self::Continuation { .. }
            | Self::ConversationTooLarge { .. } => foreign(self.to_string()),
        }
    }
}
