//! The stream of registrations, and its messages: providers append them, gateways read them.
//!
//! | event | payload |
//! |---|---|
//! | `register` | the toolset, in the form of [`Toolset`] |
//! | `unregister` | `{"name": "files"}` |
//! | `pong` | `{"toolset": "files", "ping_id": "p-1"}` |
//!
//! Other events are skipped, so that later releases can add some.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporal_agents_core::wire::absent;

use super::{Toolset, limits::MAX_BYTES};
use crate::remote::transport::{Append, Entry, StreamError};

/// Name of the stream.
pub(super) const REGISTRATIONS: &str = "toolregistry:registrations";

/// Approximate number of entries that the stream keeps: those of 100 s, if 100 pongs a second
/// arrive. Providers register again within that time.
pub(super) const MOST_REGISTRATIONS: usize = 10_000;

/// Time after which a toolset without a sign of life is forgotten, and the stream expires after its
/// last entry.
pub(super) const REMEMBERED_FOR: Duration = Duration::from_hours(1);

/// A message of the stream of registrations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Registration {
    /// A provider offers this toolset.
    Register(Box<Toolset>),
    /// The toolset is no longer offered.
    Unregister { name: String },
    /// A provider of the toolset has read this ping. The id is empty if it was too busy to read
    /// one.
    Pong { toolset: String, ping_id: String },
}

/// The payload of `unregister`.
#[derive(Serialize, Deserialize)]
struct UnregisterMessage {
    name: String,
}

/// The payload of `pong`.
#[derive(Serialize, Deserialize)]
struct PongMessage {
    toolset: String,
    #[serde(default, deserialize_with = "absent::or_default")]
    ping_id: String,
}

impl Registration {
    /// Returns the name of the event.
    fn event(&self) -> &'static str {
        match self {
            Self::Register(_) => "register",
            Self::Unregister { .. } => "unregister",
            Self::Pong { .. } => "pong",
        }
    }

    /// Returns the payload.
    pub(super) fn payload(&self) -> Result<Vec<u8>, serde_json::Error> {
        match self.clone() {
            Self::Register(toolset) => serde_json::to_vec(&toolset),
            Self::Unregister { name } => serde_json::to_vec(&UnregisterMessage { name }),
            Self::Pong { toolset, ping_id } => serde_json::to_vec(&PongMessage { toolset, ping_id }),
        }
    }

    /// Returns the entry that publishes the message.
    pub(crate) fn append(&self) -> Result<Append, StreamError> {
        let payload = self.payload().map_err(|error| StreamError::Unavailable {
            stream: REGISTRATIONS.to_owned(),
            reason: error.to_string(),
        })?;
        let append = Append::new().entry(REGISTRATIONS, self.event(), payload);
        Ok(append.max_len(REGISTRATIONS, MOST_REGISTRATIONS).expire(REGISTRATIONS, REMEMBERED_FOR))
    }

    /// Reads an entry; `None` for an event of a later release.
    ///
    /// # Errors
    /// The reason for which the entry cannot be read.
    pub(super) fn read(entry: &Entry) -> Result<Option<Self>, String> {
        let bytes = entry.payload.len();
        if bytes > MAX_BYTES {
            return Err(format!("it has {bytes} bytes, the limit is {MAX_BYTES}"));
        }
        let payload = &*entry.payload;
        let read = match &*entry.event {
            "register" => serde_json::from_slice(payload).map(|toolset| Self::Register(Box::new(toolset))),
            "unregister" => serde_json::from_slice(payload).map(|UnregisterMessage { name }| Self::Unregister { name }),
            "pong" => {
                serde_json::from_slice(payload).map(|PongMessage { toolset, ping_id }| Self::Pong { toolset, ping_id })
            }
            _ => return Ok(None),
        };
        read.map(Some).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests;
