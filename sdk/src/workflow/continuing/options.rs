//! Options for when a run continues as new and how large its state may be.

use std::time::Duration;

const MIB: usize = 1024 * 1024;

/// Options for when a run continues as new and how large its state may be.
///
/// Only content that is *new* since the run began in this execution of its workflow counts, so that
/// a run with a large state does not continue as new all the time. The size of a state is that of
/// its items and its run context.
///
/// # Determinism
/// The options are part of the workflow's code. With a different limit, a running execution
/// continues as new at another place than its history says when it is replayed, which fails its
/// workflow task. So let running executions finish with the old options, or use `ctx.patched("..")`
/// to choose between them.
///
/// ```
/// use temporal_agents::workflow::ContinueOptions;
///
/// let options = ContinueOptions::builder().new_events(5_000).build();
/// assert_eq!(options.new_bytes, 8 * 1024 * 1024);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, bon::Builder)]
#[non_exhaustive]
pub struct ContinueOptions {
    /// Number of new history events after which the run continues as new. Default 10,000. (A turn
    /// with one tool call takes 12.) Not counted while only local activities and timers run.
    #[builder(default = 10_000)]
    pub new_events: u32,
    /// Number of new bytes after which the run continues as new: the JSON of the items that are
    /// sent to models for the first time and of the responses, of tool inputs and outputs, and of
    /// people's decisions and supplied outputs. Content that history holds twice counts twice, such
    /// as the output of a client tool, which is in an update and in the request to the model.
    /// Definitions (instructions, tools, schemas) count as 1/80 of this number each time they are
    /// sent, and with their size only above a fifth of `max_request_bytes`. Default 8 MiB.
    #[builder(default = 8 * MIB)]
    pub new_bytes: usize,
    /// Number of new updates after which the run continues as new: messages of a chat, each of
    /// which is a run, decisions that a run has waited for, and polls of the workflow's stream. The
    /// server admits 2,000 updates in one execution, including those that are refused or sent
    /// again, and none after that. Default 1,000.
    #[builder(default = 1_000)]
    pub max_new_updates: u32,
    /// Number of new events after which the server's suggestion to continue as new is also
    /// followed. It is followed earlier if there is at least as much new content as the state that
    /// the run began with. Default 2,000.
    #[builder(default = 2_000)]
    pub follow_suggestion_after_events: u32,
    /// Maximum size in bytes of a state that travels in the input of the next execution; a larger
    /// one travels in history, through activities. Default 1 MiB; larger values count as 1 MiB.
    #[builder(default = MIB)]
    pub inline_bytes: usize,
    /// Size in bytes of a chunk of a state that travels in history. Default 1 MiB; larger values
    /// count as 1 MiB.
    #[builder(default = MIB)]
    pub chunk_bytes: usize,
    /// Maximum bytes of history that a carried state may take; with a larger state the run fails
    /// with `RunError::ConversationTooLarge`. Default 16 MiB. The state is measured as it is kept,
    /// as JSON inside a JSON string: quotes and backslashes in it count twice, and each item counts
    /// 100 additional bytes. (A history may have 50 MiB, and holds the state both when it is loaded
    /// and when it is kept.)
    #[builder(default = 16 * MIB)]
    pub most_bytes: usize,
    /// Time that handlers of the workflow have to finish. After it, the run continues in this
    /// execution, and tries again after its next turn. A run that cannot rule out that it is inside
    /// a handler, which would wait for itself, fails. Default one minute.
    #[builder(default = Duration::from_mins(1))]
    pub handler_timeout: Duration,
    /// Starts the next execution of a pinned workflow on the current build of its deployment
    /// (Worker Deployment Versioning). Default `false`: the workflow stays on its build. The
    /// carried state must fit the agents of the new build. Without versioned workers this has no
    /// effect.
    #[builder(default)]
    pub upgrade_to_current_build: bool,
}

impl ContinueOptions {
    pub(super) fn inline_bytes(&self) -> usize {
        self.inline_bytes.min(MIB)
    }

    pub(super) fn chunk_bytes(&self) -> usize {
        // A chunk has to hold at least one character.
        self.chunk_bytes.clamp(16, MIB)
    }
}

impl Default for ContinueOptions {
    fn default() -> Self {
        Self::builder().build()
    }
}
