//! What may be wrong with a definition.

/// Something wrong with a tool's definition, reported when its graph is checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolIssue {
    /// No model takes such a name.
    #[error("the name must be 1 to 64 characters without white space; most models take letters, digits, '_' and '-'")]
    Name,
    /// It is to spill its output, and runs where nothing can be written.
    #[error(
        "it is no activity of this library, which alone can spill an output; make it one, or take OversizedOutput::Truncate"
    )]
    SpillsInWorkflow,
    /// A setting refers to a secret, and the tool runs where none is.
    #[error(
        "its setting {setting:?} refers to an environment variable, and it runs in the workflow, where none may be read; \
         make it an activity"
    )]
    SecretInWorkflow {
        /// The setting.
        setting: String,
    },
    /// A setting that nobody reads.
    #[error("it has the setting {setting:?}, and its body is not here to read it; drop the setting")]
    UnreadSetting {
        /// The setting.
        setting: String,
    },
    /// The schema does not fit OpenAI strict mode.
    #[error("the argument schema cannot be strict at {path:?}: {reason}")]
    NotStrict {
        /// Where in the schema.
        path: String,
        /// Why, and what to write instead.
        reason: String,
    },
    /// An approval rule reads what is no parameter of the tool.
    #[error(
        "its approval rule reads {}, and its parameters are {}; the type that the rule takes has members of these names",
        listed(.reads), listed(.known)
    )]
    ApprovalRule {
        /// The members that the rule reads and the tool does not have.
        reads: Vec<String>,
        /// The tool's parameters.
        known: Vec<String>,
    },
    /// A local activity runs where the workflow runs.
    #[error("it is a local activity and has task queue {task_queue:?}; drop one of the two")]
    LocalElsewhere {
        /// The task queue.
        task_queue: String,
    },
    /// A local activity is recorded only with its workflow task, and runs again when that is lost.
    #[error(
        "it is a local activity and not idempotent: when its workflow task is lost it runs again, whatever its attempts; make it an \
         activity, or say idempotent = true"
    )]
    LocalOnce,
}

impl ToolIssue {
    /// Whether it is wrong because of where the body runs.
    pub(super) fn is_of_binding(&self) -> bool {
        match self {
            Self::SpillsInWorkflow
            | Self::SecretInWorkflow { .. }
            | Self::UnreadSetting { .. }
            | Self::LocalElsewhere { .. }
            | Self::LocalOnce => true,
            Self::Name | Self::NotStrict { .. } | Self::ApprovalRule { .. } => false,
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nothing by name".to_owned() } else { format!("{names:?}") }
}
