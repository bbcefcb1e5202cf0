//! The names of the errors of a run, for records in other languages.

use super::RunError;

impl RunError {
    /// Returns the name of the error: that of its variant.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::MaxTurnsExceeded { .. } => "MaxTurnsExceeded",
            Self::ModelBehavior { .. } => "ModelBehavior",
            Self::CallIdReused { .. } => "CallIdReused",
            Self::TooManyCalls { .. } => "TooManyCalls",
            Self::IncompleteAnswer { .. } => "IncompleteAnswer",
            Self::SameCallRefused { .. } => "SameCallRefused",
            Self::User { .. } => "User",
            Self::Refused { .. } => "Refused",
            Self::Spec { .. } => "Spec",
            Self::InputGuardrailTripped { .. } => "InputGuardrailTripped",
            Self::OutputGuardrailTripped { .. } => "OutputGuardrailTripped",
            Self::ToolInputGuardrailTripped { .. } => "ToolInputGuardrailTripped",
            Self::ToolOutputGuardrailTripped { .. } => "ToolOutputGuardrailTripped",
            Self::ToolFailed { .. } => "ToolFailed",
            Self::Function { .. } => "Function",
            Self::Session { .. } => "Session",
            Self::NeedsApproval { .. } => "NeedsApproval",
            Self::State(_) => "State",
            Self::ModelRefusal { .. } => "ModelRefusal",
            Self::InvalidOutput { .. } => "InvalidOutput",
            Self::Graph(_) => "Graph",
            Self::Context { .. } => "Context",
            Self::Model { .. } => "Model",
            Self::ToolNotRegistered { .. } => "ToolNotRegistered",
            Self::Tool { .. } => "Tool",
            Self::Mcp { .. } => "Mcp",
            Self::InvalidHandoffInput { .. } => "InvalidHandoffInput",
            Self::Panicked { .. } => "Panicked",
            Self::OutputType { .. } => "OutputType",
            Self::ContinuesAsNew { .. } => "ContinuesAsNew",
            Self::Continuation { .. } => "Continuation",
            Self::ConversationTooLarge { .. } => "ConversationTooLarge",
            Self::Cancelled { .. } => "Cancelled",
        }
    }
}
