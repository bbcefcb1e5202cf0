//! Settings of the trace of a run, and what a model call says about it.
//!
//! History holds them: in the header [`TRACE_HEADER`] of the activities of a run, in its notes, and
//! in its state. Spans that are made from history therefore have the same names, attributes and
//! places as those that were sent while the run happened. Keys of a collector are no settings: they
//! stay on the worker, which knows the collector by its name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::absent::is_default;

/// The header of the activities of a run that has [`TraceSettings`].
pub const TRACE_HEADER: &str = "agents.trace";

/// The header in which the SDKs of Temporal send the context of a trace: fields of W3C Trace Context as
/// JSON.
pub const TRACER_DATA: &str = "_tracer-data";

/// Maximum bytes of JSON of the settings: each activity of the run repeats them in history.
pub(crate) const MAX_TRACE_BYTES: usize = 4 * 1024;

/// Settings of the trace of a run; JSON shape:
/// `{"workflow_name": "Support", "group_id": "chat-7"}`.
///
/// Each is described at the method of `RunConfig::builder` that sets it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TraceSettings {
    /// Name of the workflow, in place of the workflow's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_name: Option<String>,
    /// Id of the trace: 32 lowercase hexadecimal digits, not all zero; `trace_` before them is
    /// ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Id of the conversation or another group to which the trace belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// Attributes of all spans.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
    /// `false` if spans must not have content, whatever the worker permits; absent = as the worker
    /// permits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_sensitive_data: Option<bool>,
    /// `true` if the run has no spans.
    #[serde(default, skip_serializing_if = "is_default")]
    pub disabled: bool,
    /// The export of the spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracing: Option<TracingConfig>,
}

/// The export of the spans of a run; JSON shape: `{"collector": "team-a"}`.
///
/// It never holds a key: history would show it. The worker has the collector under this name, with
/// its address and its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TracingConfig {
    /// Name of a collector of the worker; absent = the worker's own collector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<String>,
}

impl TracingConfig {
    /// Returns the configuration of an export to the worker's collector of this name.
    pub fn to_collector(name: impl Into<String>) -> Self {
        Self { collector: Some(name.into()) }
    }
}

/// The extent to which a model may trace a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelTracing {
    /// Not at all.
    Disabled,
    /// With content.
    Enabled,
    /// Without content of messages.
    EnabledWithoutData,
    /// An extent that this build does not know; to be treated as [`Disabled`](Self::Disabled).
    #[serde(other)]
    Other,
}

impl TraceSettings {
    /// Returns `true` if nothing is set.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns these settings, and those of an earlier part of the run where they say nothing.
    /// Tracing that is disabled stays disabled.
    #[doc(hidden)]
    #[must_use]
    pub fn over(self, earlier: &Self) -> Self {
        let mut metadata = earlier.metadata.clone();
        metadata.extend(self.metadata);
        Self {
            workflow_name: self.workflow_name.or_else(|| earlier.workflow_name.clone()),
            trace_id: self.trace_id.or_else(|| earlier.trace_id.clone()),
            group_id: self.group_id.or_else(|| earlier.group_id.clone()),
            metadata,
            include_sensitive_data: self.include_sensitive_data.or(earlier.include_sensitive_data),
            disabled: self.disabled || earlier.disabled,
            tracing: self.tracing.or_else(|| earlier.tracing.clone()),
        }
    }

    /// Returns these settings of a request, and those of the workflow's author where they say
    /// nothing. A request can narrow the extent that the author permits, and not widen it; the
    /// author's export counts.
    #[doc(hidden)]
    #[must_use]
    pub fn within(self, authored: &Self) -> Self {
        let narrowed = authored.include_sensitive_data.filter(|includes| !includes);
        let tracing = authored.tracing.clone().or_else(|| self.tracing.clone());
        let merged = self.over(authored);
        Self { include_sensitive_data: narrowed.or(merged.include_sensitive_data), tracing, ..merged }
    }

    /// Returns the settings of the run of an agent in a child workflow, which has a name of its
    /// own.
    #[doc(hidden)]
    #[must_use]
    pub fn for_child(&self) -> Self {
        Self { workflow_name: None, ..self.clone() }
    }

    /// Returns the member of a model call; `None` if the run has no settings.
    pub(crate) fn for_models(&self) -> Option<ModelTracing> {
        if self.is_empty() {
            return None;
        }
        Some(match (self.disabled, self.include_sensitive_data) {
            (true, _) => ModelTracing::Disabled,
            (false, Some(false)) => ModelTracing::EnabledWithoutData,
            (false, _) => ModelTracing::Enabled,
        })
    }

    /// Returns the id of the trace; `None` if there is none, or it is malformed.
    #[doc(hidden)]
    pub fn trace(&self) -> Option<[u8; 16]> {
        bytes_of(self.trace_id.as_deref()?)
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// The reason why a run must not begin with them.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(id) = self.trace_id.as_deref().filter(|id| bytes_of(id).is_none()) {
            return Err(format!(
                "the trace id {id:?} is not 32 lowercase hexadecimal digits, with or without \"trace_\" before them, \
                 of which one is not 0"
            ));
        }
        let bytes = serde_json::to_vec(self).map_or(0, |json| json.len());
        if bytes > MAX_TRACE_BYTES {
            return Err(format!(
                "the settings of the trace are {bytes} bytes of JSON, the limit is {MAX_TRACE_BYTES}: history holds \
                 them once for each activity"
            ));
        }
        Ok(())
    }
}

/// Reads the id of a trace.
fn bytes_of(id: &str) -> Option<[u8; 16]> {
    let digits = id.strip_prefix("trace_").unwrap_or(id);
    if digits.len() != 32 || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let id = u128::from_str_radix(digits, 16).ok()?;
    (id != 0).then(|| id.to_be_bytes())
}

#[cfg(test)]
mod tests;
