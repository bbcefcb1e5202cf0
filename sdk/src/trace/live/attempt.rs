//! An attempt at an activity, as a span.

use std::{sync::Arc, time::SystemTime};

use opentelemetry::Context;
use serde::Deserialize;
use serde_json::{Map, Value};
use temporal_agents_core::wire::{
    Item, Json, MODEL_ACTIVITY, RecordedFailure, TraceSettings, mcp_call, remote_call, tool_call::TOOL_PREFIX,
    trace_settings::TRACE_HEADER,
};
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::{
    execution_of,
    queue::{Job, Queue},
    sent::SentContext,
};
use crate::{
    activity::message::{Reply, Request},
    trace::{
        attributes::{self, content, may_have_content},
        ids::SpanId,
        span::Span,
    },
};

/// An attempt at a call.
pub(super) struct Attempt {
    queue: Arc<Queue>,
    sent: SentContext,
    /// Settings of the trace of the run.
    settings: Option<TraceSettings>,
    id: SpanId,
    workflow_id: String,
    run_id: String,
    activity_id: String,
    number: u32,
    start: SystemTime,
    names: Names,
    kind: AttemptKind,
}

/// The kind of the call.
#[derive(Clone, Debug)]
pub(super) enum AttemptKind {
    Model,
    Tool,
    McpList { server: String },
}

impl AttemptKind {
    /// Returns the kind of the calls of activities of this type; `None` for others.
    pub(super) fn of(activity_type: &str) -> Option<Self> {
        let calls =
            |prefix: &str, operation: &str| activity_type.starts_with(prefix) && activity_type.ends_with(operation);
        if activity_type == MODEL_ACTIVITY {
            return Some(Self::Model);
        }
        let is_tool = activity_type.starts_with(TOOL_PREFIX)
            || calls(mcp_call::MCP_ACTIVITY, mcp_call::MCP_CALL_TOOL)
            || calls(remote_call::REMOTE_ACTIVITY, remote_call::REMOTE_CALL_TOOL);
        if is_tool {
            return Some(Self::Tool);
        }
        mcp_call::listed_server(activity_type).map(|server| Self::McpList { server: server.to_owned() })
    }
}

/// The members of a request that a span needs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Names {
    model: String,
    tool: String,
    call_id: String,
    arguments: Map<String, Value>,
    mcp: Option<Target>,
}

/// The server of a tool.
#[derive(Deserialize)]
struct Target {
    server: String,
}

impl Attempt {
    /// Begins an attempt; `None` if it belongs to no trace.
    pub(super) fn begin(
        queue: &Arc<Queue>,
        ctx: &ActivityContext,
        request: &Request,
        kind: AttemptKind,
    ) -> Option<Self> {
        let sent = SentContext::of(ctx.headers())?;
        let settings = ctx.headers().get(TRACE_HEADER).and_then(|settings| serde_json::from_slice(&settings.data).ok());
        let info = ctx.info();
        let (workflow_id, run_id) = (info.workflow_id.clone()?, info.workflow_run_id.clone()?);
        let names = match &request.0 {
            Json::Text(text) => serde_json::from_slice(text).ok()?,
            Json::Value(value) => Names::deserialize(value).ok()?,
        };
        Some(Self {
            queue: Arc::clone(queue),
            sent,
            settings,
            id: execution_of(&workflow_id, &run_id).attempt(&info.activity_id, info.attempt),
            workflow_id,
            run_id,
            activity_id: info.activity_id.clone(),
            number: info.attempt,
            start: SystemTime::now(),
            names,
            kind,
        })
    }

    /// Returns the context in which the attempt runs: spans of its code are its children.
    pub(super) fn context(&self) -> Context {
        self.sent.of_run(self.id, None).to_context()
    }

    pub(super) fn end(self, outcome: &Result<Reply, ActivityError>) {
        let Self { queue, sent, settings, id, workflow_id, run_id, activity_id, number, start, names, kind } = self;
        let (caller, settings) = (sent.caller, settings.as_ref());
        let is_captured = queue.is_captured && may_have_content(settings);
        if !caller.is_sampled || matches!(outcome, Err(ActivityError::WillCompleteAsync)) {
            return;
        }
        let execution = execution_of(&workflow_id, &run_id);
        let described = match kind {
            AttemptKind::Model => {
                let described = attributes::chat(&execution, &activity_id, number, &names.model);
                match outcome {
                    Ok(Reply::Model(reply)) => {
                        let response = &reply.response;
                        let ends = (response.response_id.as_deref(), response.incomplete.as_deref());
                        attributes::answered(described, &response.output, ends, &response.usage)
                    }
                    _ => described,
                }
            }
            AttemptKind::Tool => {
                let mcp_server = names.mcp.as_ref().map(|target| &*target.server);
                attributes::tool_attempt(&execution, &activity_id, number, &names.tool, &names.call_id, mcp_server)
            }
            AttemptKind::McpList { server } => attributes::mcp_list_attempt(&execution, &activity_id, number, &server),
        };
        let failure = match outcome {
            Err(ActivityError::Application(failure)) => {
                let name = failure.type_name().unwrap_or("Application");
                Some(RecordedFailure::new(name, failure.source_error().to_string()))
            }
            _ => None,
        };
        let mut span = Span::new(caller.trace, id, Some(caller.span), (start, SystemTime::now()), described)
            .failed(failure.as_ref(), is_captured)
            .labelled(settings);
        if is_captured {
            match outcome {
                Ok(Reply::Model(reply)) => {
                    let output = reply.response.output.iter().map(Item::to_value).collect::<Value>();
                    content(&mut span, true, "gen_ai.output.messages", Some(&output));
                }
                Ok(Reply::Tool(reply)) => {
                    content(&mut span, true, "gen_ai.tool.call.arguments", Some(&Value::Object(names.arguments)));
                    content(&mut span, true, "gen_ai.tool.call.result", Some(&reply.output.clone().into_value()));
                }
                _ => {}
            }
        }
        queue.add(Job::Span(Box::new(span)));
    }
}
