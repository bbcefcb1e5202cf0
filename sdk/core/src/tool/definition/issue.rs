//! Problems that a tool's definition can have.

/// A problem of a tool's definition, reported when its graph is checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolIssue {
    /// The name is not one that models accept.
    #[error("the name must be 1 to 64 ASCII letters, digits, '_' and '-', or models refuse every request")]
    Name,
    /// The tool must spill its output, but runs where it cannot write to a store.
    #[error(
        "only an activity of this library can spill an output, and it is not one; make it one, or use \
         OversizedOutput::Truncate"
    )]
    SpillWithoutActivity,
    /// A setting refers to a secret, but the tool runs in the workflow, where none may be read.
    #[error(
        "its setting {setting:?} refers to an environment variable, but it runs in the workflow, which must not read \
         any; make it an activity"
    )]
    SecretInWorkflow {
        /// Name of the setting.
        setting: String,
    },
    /// The tool has a setting that its body cannot read.
    #[error("it has the setting {setting:?}, but its body runs elsewhere and cannot read it; remove the setting")]
    UnusedSetting {
        /// Name of the setting.
        setting: String,
    },
    /// The schema does not fit OpenAI strict mode.
    #[error("the argument schema cannot be strict at {path:?}: {reason}")]
    NotStrict {
        /// Path of the place in the schema.
        path: String,
        /// The reason, and advice on a schema to use instead.
        reason: String,
    },
    /// An approval rule reads a member that is not a parameter of the tool, or no member by name.
    #[error(
        "its approval rule reads {}, but its parameters are {}; all members of the rule's type must be parameters of \
         the tool",
        listed(.reads), listed(.known)
    )]
    ApprovalRule {
        /// The members that the rule reads and the tool does not have.
        reads: Vec<String>,
        /// The tool's parameters.
        known: Vec<String>,
    },
    /// A schema that was described outside of the program is over a limit.
    #[error("{reason}")]
    SchemaTooLarge {
        /// The limit, and the size.
        reason: String,
    },
    /// A local activity has a task queue, although it runs on the worker that runs the workflow.
    #[error("it is a local activity, but has task queue {task_queue:?}; remove one of the two")]
    LocalWithTaskQueue {
        /// Name of the task queue.
        task_queue: String,
    },
    /// A local activity is not idempotent: it is recorded only with its workflow task, and runs
    /// again when that task is lost.
    #[error(
        "it is a local activity and not idempotent: when its workflow task is lost it runs again, regardless of its \
         attempts; make it an activity, or set idempotent = true"
    )]
    LocalNotIdempotent,
}

impl ToolIssue {
    /// Returns `true` if the problem depends on the tool's binding.
    pub(super) fn is_of_binding(&self) -> bool {
        match self {
            Self::SpillWithoutActivity
            | Self::SecretInWorkflow { .. }
            | Self::UnusedSetting { .. }
            | Self::LocalWithTaskQueue { .. }
            | Self::LocalNotIdempotent => true,
            Self::Name | Self::NotStrict { .. } | Self::ApprovalRule { .. } | Self::SchemaTooLarge { .. } => false,
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no named member".to_owned() } else { format!("{names:?}") }
}
