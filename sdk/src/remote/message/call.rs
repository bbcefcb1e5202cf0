//! The messages of a request stream: calls, and pings.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::wire::absent;

use super::{ToolCallMeta, TraceContext, lenient};

/// A message of the request stream of a toolset. JSON: `{"type": "call" | "ping", ..}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolCallMessage {
    /// A call of a tool.
    Call(Box<CallMessage>),
    /// A request for a pong, which tells the registry that a provider is at work.
    Ping {
        /// Id that the pong repeats.
        ping_id: String,
    },
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallMessage {
    /// Id of the call, which names its result stream. All attempts at a call have the same id.
    pub tool_use_id: String,
    /// Name of the tool, after that of its toolset: `files.read`.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// The arguments, which are any JSON.
    #[serde(default, deserialize_with = "lenient::present", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// The run, session and turn of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<ToolCallMeta>,
    /// The header `traceparent` of W3C Trace Context, or an empty string.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub traceparent: String,
    /// The header `tracestate` of W3C Trace Context, or an empty string.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub tracestate: String,
    /// The header `baggage` of W3C Baggage, or an empty string.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub baggage: String,
    /// Time after which no provider begins the call, in milliseconds since the Unix epoch by the
    /// clock of the broker. If it is absent, providers begin the call for as long as they keep
    /// results (15 minutes by default).
    ///
    /// A caller that sets it must create two streams in one transaction with the call: the result
    /// stream, and `result:<tool_use_id>:waiting`, which expires at this time. Providers do not begin
    /// the call once one of them is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl ToolCallMessage {
    /// Creates a call.
    pub fn call(
        tool_use_id: impl Into<String>,
        tool: impl Into<String>,
        payload: Value,
        meta: Option<ToolCallMeta>,
    ) -> Self {
        let (tool_use_id, tool) = (tool_use_id.into(), tool.into());
        Self::Call(Box::new(CallMessage { tool_use_id, tool, payload: Some(payload), meta, ..CallMessage::default() }))
    }

    /// Creates a ping.
    pub fn ping(ping_id: impl Into<String>) -> Self {
        Self::Ping { ping_id: ping_id.into() }
    }
}

impl CallMessage {
    /// Returns the trace that the call is a part of.
    pub fn trace_context(&self) -> TraceContext {
        let Self { traceparent, tracestate, baggage, .. } = self;
        TraceContext { traceparent: traceparent.clone(), tracestate: tracestate.clone(), baggage: baggage.clone() }
    }

    /// Sets the trace that the call is a part of.
    #[must_use]
    pub fn with_trace_context(mut self, trace: TraceContext) -> Self {
        let TraceContext { traceparent, tracestate, baggage } = trace;
        (self.traceparent, self.tracestate, self.baggage) = (traceparent, tracestate, baggage);
        self
    }
}
