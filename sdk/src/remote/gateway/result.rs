//! The result of a call, unread: the gateway passes on the bytes that the provider has published.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{Gateway, GatewayError};
use crate::remote::{
    message::{RESULT_EVENT, result_stream},
    one_call::MAX_RESULT_BYTES,
    transport::StreamError,
};

/// Longest time that one request to the transport waits for entries.
const ONE_WAIT: Duration = Duration::from_secs(2);

/// Pause before a request to a transport that was unavailable is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// Most entries that one request returns.
const MOST_ENTRIES: usize = 100;

impl Gateway {
    /// Waits for up to `longest` until a call has a result, and returns its payload as it was
    /// published: a [`ToolResultMessage`](crate::remote::message::ToolResultMessage) as JSON. Any
    /// number of readers get the same result, until its stream expires.
    ///
    /// # Errors
    /// [`GatewayError::ResultTimeout`]; [`GatewayError::OutcomeUnknown`] if the result stream does
    /// not exist (the broker has lost it, it has expired, or there never was such a call), or if the
    /// result is larger than 8 MiB.
    pub async fn result(&self, tool_use_id: &str, longest: Duration) -> Result<Vec<u8>, GatewayError> {
        let (results, started) = (result_stream(tool_use_id), Instant::now());
        let mut after = None;
        loop {
            let wait = ONE_WAIT.min(longest.saturating_sub(started.elapsed()));
            match self.streams.read(&results, after, MOST_ENTRIES, wait).await {
                Ok(entries) if entries.is_empty() => {
                    if self.streams.exists(&results).await == Ok(false) {
                        return Err(GatewayError::outcome_unknown(tool_use_id, "its result stream does not exist"));
                    }
                }
                Ok(entries) => {
                    let is_full = entries.len() >= MOST_ENTRIES;
                    after = entries.last().map(|entry| entry.id);
                    if let Some(result) = entries.into_iter().find(|entry| entry.event == RESULT_EVENT) {
                        let bytes = result.payload.len();
                        if bytes > MAX_RESULT_BYTES {
                            let reason = format!("its result of {bytes} bytes is over the limit of {MAX_RESULT_BYTES}");
                            return Err(GatewayError::outcome_unknown(tool_use_id, reason));
                        }
                        return Ok(result.payload);
                    }
                    // The result may be among the entries that are there, also after the wait.
                    if is_full {
                        continue;
                    }
                }
                Err(source @ StreamError::Name { .. }) => return Err(GatewayError::Unreachable { source }),
                Err(error) => {
                    tracing::debug!(stream = results, %error, "a result stream could not be read");
                    sleep(PAUSE).await;
                }
            }
            if started.elapsed() >= longest {
                return Err(GatewayError::ResultTimeout { tool_use_id: tool_use_id.to_owned(), waited: longest });
            }
        }
    }
}
