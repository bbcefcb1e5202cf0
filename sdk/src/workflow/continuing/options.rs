//! When a run continues as new, and how large its state may be.

use std::time::Duration;

const MIB: usize = 1024 * 1024;

/// When a run continues as new, and how large its state may be.
///
/// What counts is what is *new* since the run began in this execution of its workflow, so that a run with a large state does not
/// continue as new all the time. The size of a state is that of its items and its run context.
///
/// # Determinism
/// They are a part of the workflow's code. Another limit makes a running execution continue as new elsewhere than its history says
/// when it is replayed, which fails its workflow task. So let the executions that run finish with the old ones, or ask
/// `ctx.patched("..")` which ones to take.
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
    /// So many new events of history are enough. Default 10,000. (A turn with one tool call takes 12.) Not counted while nothing
    /// but local activities and timers come.
    #[builder(default = 10_000)]
    pub new_events: u32,
    /// So many new bytes are enough: the JSON of what was sent to models for the first time and of what they have answered, of what tools were
    /// given and have returned, and of what people have decided and supplied. What history holds twice counts twice, as the output of a
    /// client tool does: as an update, and in the request to the model. Default 8 MiB.
    #[builder(default = 8 * MIB)]
    pub new_bytes: usize,
    /// So many new updates are enough: messages of a chat, each of which is a run, and decisions that a run has waited for. The server
    /// admits 2,000 updates in one execution, those included that are refused or sent again, and none after that. Default 1,000.
    #[builder(default = 1_000)]
    pub new_updates: u32,
    /// After so many new events the server's suggestion to continue as new is followed, too, and before that when there is at least as
    /// much new as the state that the run began with. Default 2,000.
    #[builder(default = 2_000)]
    pub suggested_after_events: u32,
    /// A state up to so many bytes travels in the input of the next execution; a larger one in history, through activities. Default
    /// 1 MiB; more than that counts as 1 MiB.
    #[builder(default = MIB)]
    pub inline_bytes: usize,
    /// A chunk of a state that travels in history. Default 1 MiB; more than that counts as 1 MiB.
    #[builder(default = MIB)]
    pub chunk_bytes: usize,
    /// A state that takes more bytes of history is not carried: the run fails with `RunError::ConversationTooLarge`. Default 16 MiB. It is
    /// measured as it is kept, as JSON text in a JSON string: quotes and backslashes in it count twice, and each item 100 bytes more. (A history
    /// may have 50 MiB, and the state is in it when it comes and when it goes.)
    #[builder(default = 16 * MIB)]
    pub most_bytes: usize,
    /// How long handlers of the workflow have to finish. Then the run goes on here, and tries again after its next turn; one that cannot
    /// tell that it is not inside a handler, which would wait for itself, fails. Default one minute.
    #[builder(default = Duration::from_mins(1))]
    pub handlers_have: Duration,
    /// Starts the next execution of a pinned workflow on the current build of its deployment
    /// (Worker Deployment Versioning). Default false: it stays on its build. The state that is
    /// carried must fit the agents of that build. Without versioned workers it has no effect.
    #[builder(default)]
    pub moves_to_current_build: bool,
}

impl ContinueOptions {
    pub(super) fn inline_bytes(&self) -> usize {
        self.inline_bytes.min(MIB)
    }

    pub(super) fn chunk_bytes(&self) -> usize {
        // A chunk holds a character at least.
        self.chunk_bytes.clamp(16, MIB)
    }
}

impl Default for ContinueOptions {
    fn default() -> Self {
        Self::builder().build()
    }
}
