//! One call through a gateway: the order of its checks, and its publication.
//!
//! # Design
//! **The cheap and certain checks are first**: a toolset or a tool that does not exist, then a
//! payload that does not fit, then a toolset without a provider. So a caller learns of its own
//! mistake whatever the state of the provider is.
//!
//! **A call is published at most once for each id.** A caller that repeats a call with the
//! `tool_call_id` of the first attempt gets the id of the call that is there.

use std::{fmt, future::IntoFuture};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use temporal_agents_core::{tool::schema, wire::RemoteTool};
use uuid::Uuid;

use super::{Gateway, GatewayError, toolset::shown};
use crate::remote::{
    marks::CallStreams,
    message::{FieldIssue, ToolCallMessage, ToolCallMeta, TraceContext, result_stream},
    transport::StreamError,
};

/// Most tools that an error names.
const MOST_KNOWN: usize = 20;

/// A call through a gateway, which is checked and published when it is awaited.
#[must_use = "the call is made when it is awaited"]
pub struct GatewayCall<'g> {
    gateway: &'g Gateway,
    toolset: String,
    tool: String,
    payload: Value,
    meta: Option<ToolCallMeta>,
    trace: TraceContext,
}

impl Gateway {
    /// Calls a tool of a toolset with this payload, which is any JSON that fits its
    /// `payload_schema`. The name of the tool may begin with that of the toolset and a dot.
    ///
    /// The future returns the id of the call (`tool_use_id`), with which [`result`](Self::result)
    /// waits for its result. The checks, in this order: the toolset exists, the tool exists, the
    /// payload fits, the toolset is healthy. Then the call and the first entry of its result stream
    /// are published in one transaction.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use serde_json::json;
    /// use temporal_agents::remote::{
    ///     gateway::{Gateway, GatewayError}, message::ToolResultMessage,
    /// };
    ///
    /// async fn read(gateway: &Gateway) -> Result<(), Box<dyn std::error::Error>> {
    ///     let id = gateway.call("files", "read", json!({"path": "a.txt"})).await?;
    ///     let result = gateway.result(&id, Duration::from_mins(1)).await?;
    ///     let result: ToolResultMessage = serde_json::from_slice(&result)?;
    ///     println!("{:?}", result.result);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`GatewayError`]. Nothing is published unless it is [`GatewayError::OutcomeUnknown`].
    pub fn call(&self, toolset: impl Into<String>, tool: impl Into<String>, payload: Value) -> GatewayCall<'_> {
        let (toolset, tool) = (toolset.into(), tool.into());
        GatewayCall { gateway: self, toolset, tool, payload, meta: None, trace: TraceContext::default() }
    }
}

impl GatewayCall<'_> {
    /// Sets the run, session and turn of the call. Its `tool_call_id` is the id of the call, which
    /// is published once however often it is called; it must be unique across runs. Without one,
    /// the id of the call is a random UUID.
    pub fn meta(mut self, meta: ToolCallMeta) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Sets the trace that the call is a part of.
    pub fn trace_context(mut self, trace: TraceContext) -> Self {
        self.trace = trace;
        self
    }

    async fn publish(self) -> Result<String, GatewayError> {
        let tool = self.checked()?;
        let Self { gateway, toolset, payload, meta, trace, .. } = self;
        let given = meta.as_ref().map(|meta| meta.tool_call_id.clone()).filter(|id| !id.is_empty());
        let id = given.unwrap_or_else(|| Uuid::new_v4().to_string());
        let message = match ToolCallMessage::call(&*id, format!("{toolset}.{tool}"), payload, meta) {
            ToolCallMessage::Call(call) => ToolCallMessage::Call(Box::new(call.with_trace_context(trace))),
            ping @ ToolCallMessage::Ping { .. } => ping,
        };
        let unwritable = |error: serde_json::Error| GatewayError::Unreachable {
            source: StreamError::Unavailable { stream: result_stream(&id), reason: error.to_string() },
        };
        let message = serde_json::to_vec(&message).map_err(unwritable)?;
        let streams = CallStreams::for_call(&id).map_err(|source| GatewayError::Unreachable { source })?;
        match gateway.streams.append(streams.publish(&toolset, message, gateway.retention, None)).await {
            // The stream exists: the call is published already.
            Ok(_) => Ok(id),
            Err(error) if error.is_ambiguous() => gateway.published(id, &error).await,
            Err(source) => Err(GatewayError::Unreachable { source }),
        }
    }

    /// Makes the checks, and returns the name of the tool in its toolset.
    fn checked(&self) -> Result<String, GatewayError> {
        let toolset = self.gateway.state().catalogue.shared(&self.toolset);
        let toolset = toolset.ok_or_else(|| GatewayError::toolset_not_found(&self.toolset))?;
        let not_found = || {
            let known = toolset.tools.iter().take(MOST_KNOWN).map(|tool| &*tool.name).collect::<Vec<_>>().join(", ");
            GatewayError::ToolNotFound { toolset: self.toolset.clone(), tool: shown(&self.tool), known }
        };
        let RemoteTool { name, payload_schema, .. } = toolset.tool(&self.tool).ok_or_else(not_found)?;
        schema::validate(payload_schema, &self.payload).map_err(|issues| GatewayError::InvalidPayload {
            toolset: self.toolset.clone(),
            tool: name.clone(),
            issues: issues.iter().map(FieldIssue::from).collect(),
        })?;
        self.gateway.health(&self.toolset)?;
        Ok(name.clone())
    }
}

impl<'g> IntoFuture for GatewayCall<'g> {
    type Output = Result<String, GatewayError>;
    type IntoFuture = BoxFuture<'g, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.publish().boxed()
    }
}

impl fmt::Debug for GatewayCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayCall").field("toolset", &self.toolset).field("tool", &self.tool).finish_non_exhaustive()
    }
}

impl Gateway {
    /// Returns the id of a call whose publication has an unknown outcome, if its stream exists.
    async fn published(&self, id: String, error: &StreamError) -> Result<String, GatewayError> {
        match self.streams.exists(&result_stream(&id)).await {
            Ok(true) => Ok(id),
            Ok(false) | Err(_) => Err(GatewayError::outcome_unknown(&id, error)),
        }
    }
}
