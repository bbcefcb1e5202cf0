//! The ids of traces and spans, which are made of the ids of Temporal.

use serde_json::json;
use sha2::{Digest, Sha256};

/// The id of a trace: 16 bytes, not all of them zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TraceId(pub(crate) [u8; 16]);

/// The id of a span: 8 bytes, not all of them zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpanId(pub(crate) [u8; 8]);

impl SpanId {
    /// Reads 16 lowercase hexadecimal digits.
    pub(crate) fn of_hex(text: &str) -> Option<Self> {
        bytes(text).map(Self)
    }

    /// Returns 16 lowercase hexadecimal digits.
    pub(crate) fn to_hex(self) -> String {
        format!("{:016x}", u64::from_be_bytes(self.0))
    }
}

/// The execution of a workflow, of whose ids the ids of its spans are made.
#[expect(clippy::struct_field_names, reason = "the names of Temporal")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Execution<'i> {
    pub(crate) workflow_id: &'i str,
    pub(crate) run_id: &'i str,
    /// Id of the workflow's first run: another one if the workflow has continued as new.
    pub(crate) first_run_id: &'i str,
}

impl Execution<'_> {
    /// Returns the id of the trace of a workflow that no caller's trace contains.
    pub(crate) fn trace(&self) -> TraceId {
        TraceId(hash(&["temporal-agents/trace", self.first_run_id]))
    }

    /// Returns the id of the span of the whole workflow.
    pub(crate) fn workflow(&self) -> SpanId {
        self.span("workflow", self.first_run_id, &[])
    }

    /// Returns the id of the span of an agent: `ordinal` counts the agents of this run in this
    /// execution, from 0.
    pub(crate) fn agent(&self, run: &str, ordinal: usize) -> SpanId {
        self.span("agent", self.run_id, &[run, &ordinal.to_string()])
    }

    /// Returns the id of the span of a call, by the id of its activity or effect.
    pub(crate) fn call(&self, id: &str) -> SpanId {
        self.span("call", self.run_id, &[id])
    }

    /// Returns the id of the span of an attempt at a call, counted from 1.
    pub(crate) fn attempt(&self, id: &str, attempt: u32) -> SpanId {
        self.span("attempt", self.run_id, &[id, &attempt.to_string()])
    }

    /// Returns the id of the span of a wait for people, by the id of the question.
    pub(crate) fn wait(&self, run: &str, question: &str) -> SpanId {
        self.span("wait", self.run_id, &[run, question])
    }

    /// Returns the id of the span of the guardrail that has tripped, and ended this run, and is not
    /// an activity.
    pub(crate) fn tripped(&self, run: &str) -> SpanId {
        self.span("tripped", self.run_id, &[run])
    }

    /// Returns the id of a span that the author of the workflow opens, by its number.
    pub(crate) fn custom(&self, number: u64) -> SpanId {
        self.span("custom", self.run_id, &[&number.to_string()])
    }

    fn span(&self, kind: &str, run_id: &str, parts: &[&str]) -> SpanId {
        let mut all = vec!["temporal-agents/span", kind, self.workflow_id, run_id];
        all.extend(parts);
        SpanId(hash(&all))
    }
}

/// Returns the first bytes of the digest of these strings, as a JSON list.
fn hash<const N: usize>(parts: &[&str]) -> [u8; N] {
    let digest = Sha256::digest(json!(parts).to_string());
    let mut id = [0; N];
    id.copy_from_slice(&digest[..N]);
    if id == [0; N] {
        // Zero is no id.
        id[N - 1] = 1;
    }
    id
}

/// The trace of a caller, and its span that started the workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) trace: TraceId,
    pub(crate) span: SpanId,
    pub(crate) is_sampled: bool,
}

impl Caller {
    /// Reads the header `traceparent` of W3C Trace Context; `None` if it is malformed.
    pub(crate) fn of_traceparent(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Later versions may have more parts.
        if version.len() != 2 || version == "ff" || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let [flags] = bytes::<1>(flags)?;
        let (trace, span) = (TraceId(bytes(trace)?), SpanId(bytes(span)?));
        let is_id = bytes::<1>(version).is_some() && trace.0 != [0; 16] && span.0 != [0; 8];
        is_id.then_some(Self { trace, span, is_sampled: flags & 1 == 1 })
    }

    /// Returns the header `traceparent`.
    pub(crate) fn to_traceparent(self) -> String {
        let (trace, span) = (u128::from_be_bytes(self.trace.0), u64::from_be_bytes(self.span.0));
        format!("00-{trace:032x}-{span:016x}-{:02x}", u8::from(self.is_sampled))
    }
}

/// Reads lowercase hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * N {
        return None;
    }
    let mut read = [0; N];
    for (byte, pair) in read.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(read)
}

#[cfg(test)]
mod tests;
