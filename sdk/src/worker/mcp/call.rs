//! Calls of tools.

use std::sync::Arc;

use futures::FutureExt;
use rmcp::model::{CallToolRequestParams, CallToolResponse, MetaObject, RequestMetaObject};
use serde_json::{Map, Value};

use super::{
    connections::{Connections, On, Repeat},
    content,
    failure::McpFailure,
};
use crate::{
    tool::{ActivityBody, OUTCOME_UNKNOWN, ToolError},
    wire::{McpTarget, ToolOutput},
};

/// The body of a tool's activity.
pub(in crate::worker) fn body(connections: &Arc<Connections>, target: McpTarget) -> ActivityBody {
    let connections = Arc::clone(connections);
    Arc::new(move |_ctx, arguments| {
        let (connections, target) = (Arc::clone(&connections), target.clone());
        async move { call(&connections, &target, arguments).await }.boxed()
    })
}

/// Calls a tool. What the server or the tool says is wrong is for the model; a server that is not there is tried again.
async fn call(
    connections: &Connections,
    target: &McpTarget,
    arguments: Map<String, Value>,
) -> Result<ToolOutput, ToolError> {
    let mut params = CallToolRequestParams::new(target.tool.clone()).with_arguments(arguments);
    if !target.meta.is_empty() {
        params.meta = Some(RequestMetaObject(MetaObject(target.meta.clone())));
    }
    let repeat = if target.once { Repeat::Never } else { Repeat::Harmless };
    let on = On::of(target.argument.as_ref(), target.session.as_deref());
    let answer = connections
        .ask(on, repeat, |peer| {
            let params = params.clone();
            async move { peer.call_tool_once(params).await }
        })
        .await;
    let failed = |reason: &dyn std::fmt::Display| {
        ToolError::tell_model(format!(
            "Error invoking MCP tool {} on server '{}': {reason}",
            target.tool, target.server
        ))
    };
    let (result, given) = match answer {
        Ok((CallToolResponse::Complete(result), given)) => (result, given),
        Ok((CallToolResponse::InputRequired(_), _)) => {
            return Err(failed(&"it asks a person for input, who cannot be asked here"));
        }
        Ok(_) => return Err(failed(&"it answers later, which is not supported")),
        Err(McpFailure::Lost { .. }) if target.once => return Err(ToolError::tell_model(OUTCOME_UNKNOWN)),
        Err(error) if error.is_passing() => return Err(ToolError::transient(error.to_string())),
        Err(error) => return Err(failed(&error)),
    };
    let is_error = result.is_error == Some(true);
    let structured = result.structured_content.filter(|_| target.structured_content && !is_error);
    let blocks = result.content.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
    let output = content::output(blocks.map_err(|error| failed(&error))?, structured);
    let output = if given.is_empty() { output } else { given.redaction().output(output) };
    if is_error { Err(ToolError::tell_model(output.to_text())) } else { Ok(output) }
}
