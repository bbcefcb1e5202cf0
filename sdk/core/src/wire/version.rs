//! The version that every message carries, and the rules for reading it.
//!
//! A reader accepts its own major version at any minor version, and the previous major version.
//! Within a major version only optional fields and new *data* kinds are added; anything that a
//! reader must understand to act correctly needs a new kind of instruction, which an old reader
//! refuses ([`WireVersionMismatch`]).

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error},
};
use serde_json::Value;

use crate::wire::error_debug;

/// The version that this build writes.
pub const WIRE_VERSION: WireVersion = WireVersion { major: 1, minor: 2 };

/// A version of the wire contract; JSON shape `"1.2"`. Messages of 1.0 have
/// `{"major": 1, "minor": 0}`, which is also read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WireVersion {
    /// Incremented when old readers cannot read the message at all.
    pub major: u16,
    /// Incremented when a message gains a field or a kind.
    pub minor: u16,
}

impl std::fmt::Display for WireVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Serialize for WireVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WireVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a wire version is a string like \"1.1\", or an object with major and minor")]
        enum Written {
            Text(String),
            Object { major: u16, minor: u16 },
        }
        match Written::deserialize(deserializer)? {
            Written::Object { major, minor } => Ok(Self { major, minor }),
            Written::Text(text) => {
                let version = text
                    .split_once('.')
                    .and_then(|(major, minor)| Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? }));
                version.ok_or_else(|| D::Error::custom(format_args!("{text:?} is not a wire version such as \"1.1\"")))
            }
        }
    }
}

impl WireVersion {
    /// Checks that this build reads messages of this version.
    ///
    /// # Errors
    /// [`WireVersionMismatch`] for a newer major version and for one older than the previous major
    /// version.
    pub fn check(self, message: &'static str) -> Result<(), WireVersionMismatch> {
        let oldest = WIRE_VERSION.major.saturating_sub(1);
        if (oldest..=WIRE_VERSION.major).contains(&self.major) {
            return Ok(());
        }
        Err(WireVersionMismatch { message, found: self, reads: WIRE_VERSION, unknown: None })
    }
}

/// Error of a message that this build must not act on: its version is not supported, or it contains
/// an unknown instruction.
///
/// # Retries
/// A message newer than the worker is retried every 5 s for 10 minutes after the call was first
/// scheduled, so that in a rolling deploy a newer worker takes it. A message that is too old to
/// read is not retried.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{message} has wire version {found}{}, this build reads {}.x and {reads}; {}",
    .unknown.as_deref().map(|kind| format!(" and the unknown kind {kind:?}")).unwrap_or_default(),
    .reads.major.saturating_sub(1),
    if self.is_newer() { "deploy a newer worker" } else { "finish or reset runs of the old release" }
)]
pub struct WireVersionMismatch {
    /// Name of the message, for example `model request`.
    pub message: &'static str,
    /// The version of the message.
    pub found: WireVersion,
    /// The version that this build writes.
    pub reads: WireVersion,
    /// The unknown kind of instruction, if that is the reason.
    pub unknown: Option<String>,
}

error_debug!(struct WireVersionMismatch { message, found, reads, unknown });

impl WireVersionMismatch {
    /// Returns `true` if the writer is newer than this build, so that a newer worker could read the
    /// message.
    pub fn is_newer(&self) -> bool {
        self.unknown.is_some() || self.found.major > self.reads.major
    }
}

/// Error of reading a message.
#[derive(thiserror::Error)]
pub enum WireDecodeError {
    /// This build does not support the version of the message or an instruction in it.
    #[error(transparent)]
    Version(#[from] WireVersionMismatch),
    /// The message has a readable version, but not the shape of that version.
    #[error("{message} is malformed: {source}")]
    Malformed {
        /// Name of the message.
        message: &'static str,
        /// Error of serde.
        source: serde_json::Error,
    },
}

error_debug!(enum WireDecodeError {
    Version(source),
    Malformed { message, source },
});

/// Reads a message, its version first, so that a message of another version is never partly read.
///
/// # Errors
/// [`WireDecodeError`], which distinguishes a foreign version from a malformed message.
pub fn decode<T: DeserializeOwned>(message: &'static str, json: Value) -> Result<T, WireDecodeError> {
    let malformed = |source| WireDecodeError::Malformed { message, source };
    let version = json.get("version").unwrap_or(&Value::Null);
    WireVersion::deserialize(version).map_err(malformed)?.check(message)?;
    serde_json::from_value(json).map_err(malformed)
}

/// A message that carries its version.
pub trait Versioned: DeserializeOwned {
    /// Returns the version of the message.
    fn version(&self) -> WireVersion;
}

/// Reads a message from its JSON text, with the same outcome as [`decode`], in one pass if its
/// version is supported.
///
/// # Errors
/// [`WireDecodeError`], which distinguishes a foreign version from a malformed message.
pub(crate) fn decode_text<T: Versioned>(message: &'static str, json: &[u8]) -> Result<T, WireDecodeError> {
    match serde_json::from_slice::<T>(json) {
        Ok(read) if read.version().check(message).is_ok() => Ok(read),
        // `decode` checks the version first, so that a foreign version is reported before a wrong
        // shape.
        _ => decode(
            message,
            serde_json::from_slice(json).map_err(|source| WireDecodeError::Malformed { message, source })?,
        ),
    }
}

#[cfg(test)]
mod tests;
