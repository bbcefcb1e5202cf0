//! A span as data, before it is one of an exporter.

use std::{borrow::Cow, time::SystemTime};

use serde_json::Value;
use temporal_agents_core::wire::{RecordedFailure, TraceSettings};

use super::{
    attributes::Described,
    ids::{SpanId, TraceId},
};

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
    pub(crate) attributes: Attributes,
    /// The reason of the failure; `None` = the span has not failed.
    pub(crate) failure: Option<String>,
    /// Name of the collector of the worker that receives it; `None` = the worker's own.
    pub(crate) collector: Option<String>,
}

/// Names and values of attributes.
pub(crate) type Attributes = Vec<(Cow<'static, str>, Attribute)>;

/// The operations whose spans belong to a conversation, by the conventions.
const IN_CONVERSATION: [&str; 3] = ["invoke_workflow", "invoke_agent", "chat"];

impl Span {
    pub(crate) fn new(
        trace: TraceId,
        id: SpanId,
        parent: Option<SpanId>,
        (start, end): (SystemTime, SystemTime),
        Described { name, attributes, is_client }: Described,
    ) -> Self {
        Self {
            trace,
            id,
            parent,
            name,
            is_client,
            start,
            end: end.max(start),
            attributes,
            failure: None,
            collector: None,
        }
    }

    /// Adds the failure, if there is one; its message is content.
    pub(crate) fn failed(mut self, failure: Option<&RecordedFailure>, is_captured: bool) -> Self {
        if let Some(RecordedFailure { type_name, message, .. }) = failure {
            self.attributes.push(("error.type".into(), type_name.as_str().into()));
            self.failure = Some(if is_captured { format!("{type_name}: {message}") } else { type_name.clone() });
        }
        self
    }

    /// Adds what the settings of its run say: the conversation, the metadata, the collector.
    pub(crate) fn labelled(mut self, settings: Option<&TraceSettings>) -> Self {
        let Some(TraceSettings { group_id, metadata, tracing, .. }) = settings else { return self };
        let is_in_conversation = operation_of(&self.attributes).is_some_and(|name| IN_CONVERSATION.contains(&name));
        if let Some(group) = group_id.as_deref().filter(|_| is_in_conversation) {
            self.attributes.push(("gen_ai.conversation.id".into(), group.into()));
        }
        for (name, value) in metadata {
            // What the span says by itself counts.
            if self.attributes.iter().all(|(own, _)| own != name) {
                self.attributes.push((name.clone().into(), value.into()));
            }
        }
        self.collector = tracing.as_ref().and_then(|tracing| tracing.collector.clone());
        self
    }
}

fn operation_of(attributes: &Attributes) -> Option<&str> {
    match attributes.iter().find(|(name, _)| name == "gen_ai.operation.name")? {
        (_, Attribute::Text(operation)) => Some(operation),
        _ => None,
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

impl From<&Value> for Attribute {
    fn from(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Self::Number(number),
                (None, Some(number)) => Self::Float(number),
                (None, None) => Self::Text(number.to_string()),
            },
            Value::Null | Value::Array(_) | Value::Object(_) => Self::Text(value.to_string()),
        }
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
