//! A span as data, before it is one of an exporter.

use std::time::SystemTime;

use super::{
    attributes::Described,
    ids::{SpanId, TraceId},
};
use crate::wire::RecordedFailure;

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) trace: TraceId,
    pub(crate) id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) name: String,
    /// `true` for a request to another service: kind `CLIENT` instead of `INTERNAL`.
    pub(crate) is_client: bool,
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
    pub(crate) attributes: Vec<(&'static str, Attribute)>,
    /// The reason of the failure; `None` = the span has not failed.
    pub(crate) failure: Option<String>,
}

impl Span {
    pub(crate) fn new(
        trace: TraceId,
        id: SpanId,
        parent: Option<SpanId>,
        (start, end): (SystemTime, SystemTime),
        Described { name, attributes }: Described,
    ) -> Self {
        let is_chat = |(name, value): &(&str, Attribute)| *name == "gen_ai.operation.name" && *value == "chat".into();
        let is_client = attributes.iter().any(is_chat);
        Self { trace, id, parent, name, is_client, start, end: end.max(start), attributes, failure: None }
    }

    /// Adds the failure, if there is one; its message is content.
    pub(crate) fn failed(mut self, failure: Option<&RecordedFailure>, is_captured: bool) -> Self {
        if let Some(RecordedFailure { type_name, message, .. }) = failure {
            self.attributes.push(("error.type", type_name.as_str().into()));
            self.failure = Some(if is_captured { format!("{type_name}: {message}") } else { type_name.clone() });
        }
        self
    }
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute {
    Text(String),
    Number(i64),
    Float(f64),
    Flag(bool),
    Texts(Vec<String>),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for Attribute {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Attribute {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for Attribute {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Attribute {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}
