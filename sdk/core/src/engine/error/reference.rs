//! The errors of a run as the OpenAI Agents SDK reports them, for code that compares, translates or
//! matches its messages.

use super::RunError;

/// An error as the OpenAI Agents SDK reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceError {
    /// Name of the class, for example `MaxTurnsExceeded`; `None` for an error without such a class:
    /// of the author's code, of the provider or of the host.
    pub class: Option<&'static str>,
    /// The error message.
    pub message: String,
    /// `true` if the error carries the data of the run so far; `false` if `class` is `None`, or if
    /// the data could reveal withheld content.
    pub has_run_data: bool,
}

impl RunError {
    /// Returns the error as the OpenAI Agents SDK for Python reports it.
    #[doc(hidden)]
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
            // The OpenAI Agents SDK has no such rules.
            Self::TooManyCalls { .. } | Self::IncompleteAnswer { .. } | Self::SameCallRefused { .. } => {
                behavior(&self.to_string())
            }
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
            | Self::Spec { .. }
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
