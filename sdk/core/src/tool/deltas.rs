//! Output, progress and values that a tool sends while it works.
//!
//! Best effort: nothing of it is recorded, retried, or a part of the tool's result. A run without
//! a subscriber has no transport, and sending costs nothing.

use serde::Serialize;
use serde_json::Value;

use super::context::{CallInfo, ToolContext};
use crate::wire::size::encoded_len;

/// The stream of [`ToolContext::progress`].
const PROGRESS: &str = "progress";
/// Maximum size of the string or the value of a delta, in bytes; a longer string is truncated, a
/// larger value is dropped.
const MAX_DELTA_BYTES: usize = 64 * 1024;

/// A delta of a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolDelta {
    /// Output on a stream; progress has a fraction.
    Output {
        /// Name of the stream.
        stream: String,
        /// The text.
        text: String,
        /// Fraction of the work that is done, from 0 to 1.
        fraction: Option<f64>,
    },
    /// A value of the author.
    Emitted {
        /// Name of the value.
        name: String,
        /// The value.
        value: Value,
    },
}

/// Takes the deltas of one call to its subscribers.
pub trait DeltaTransport: Send + Sync {
    /// Sends a delta; does not wait, and cannot fail.
    fn send(&self, call: &CallInfo, delta: ToolDelta);
}

impl ToolContext {
    /// Sends a part of the tool's output while the tool works, to the readers of the run's events
    /// (`InlineRunner::on_event`, `AgentsPlugin::deltas`). `stream` is `stdout`, `stderr`, `log`,
    /// or a name of the author.
    ///
    /// Best effort: the tool's result does not contain it, and a run without a subscriber drops it.
    /// It is redacted as the result is, each part by itself, so send whole lines where a secret
    /// could be in them. A string of more than 64 KiB is truncated.
    pub fn output_delta(&self, stream: &str, text: impl AsRef<str>) {
        self.send(|| {
            Some(ToolDelta::Output { stream: stream.to_owned(), text: text.as_ref().to_owned(), fraction: None })
        });
    }

    /// Sends the progress of the tool: a message and, if it is known, the fraction of the work that
    /// is done, from 0 to 1. Best effort, as [`output_delta`](Self::output_delta).
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// # use temporal_agents_macros::tool;
    /// use temporal_agents::{ToolContext, tool};
    ///
    /// /// Reads the whole archive.
    /// #[tool]
    /// async fn read_archive(ctx: &ToolContext, files: u32) -> u32 {
    ///     for file in 0..files {
    ///         ctx.progress(f64::from(file) / f64::from(files), format!("file {file}"));
    ///     }
    ///     files
    /// }
    /// ```
    pub fn progress(&self, fraction: impl Into<Option<f64>>, message: impl AsRef<str>) {
        self.send(|| {
            let fraction = fraction.into().filter(|part| part.is_finite()).map(|part| part.clamp(0.0, 1.0));
            Some(ToolDelta::Output { stream: PROGRESS.to_owned(), text: message.as_ref().to_owned(), fraction })
        });
    }

    /// Sends a named value, for a client that knows the name. Best effort, as
    /// [`output_delta`](Self::output_delta); a value that is not JSON, or of more than 64 KiB, is
    /// dropped with a warning.
    pub fn emit(&self, name: &str, value: impl Serialize) {
        self.send(|| {
            let json = serde_json::to_value(value).ok().filter(fits);
            if json.is_none() {
                tracing::warn!(name, tool = self.info().tool, "an emitted value is not JSON or too large: dropped");
            }
            Some(ToolDelta::Emitted { name: name.to_owned(), value: json? })
        });
    }

    fn send(&self, delta: impl FnOnce() -> Option<ToolDelta>) {
        if let Some(transport) = self.deltas()
            && let Some(delta) = delta()
        {
            transport.send(self.info(), delta);
        }
    }
}

fn fits(value: &Value) -> bool {
    encoded_len(value).is_ok_and(|bytes| bytes <= MAX_DELTA_BYTES)
}

/// Returns a string within the limit. A transport redacts it before.
pub fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_DELTA_BYTES));
    text
}
