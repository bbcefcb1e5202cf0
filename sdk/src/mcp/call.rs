//! Tool calls.

use std::sync::Arc;

use futures::FutureExt;
use rmcp::model::{CallToolRequestParams, CallToolResponse, MetaObject, RequestMetaObject};
use serde_json::{Map, Value};
use temporal_agents_core::{
    tool::{ActivityBody, OUTCOME_UNKNOWN, ToolError},
    wire::{McpQuestion, SideData, ToolOutput, mcp_call::McpTarget},
};

use super::{
    connections::{Connections, On, Repeat},
    content::ResultContent,
    failure::McpFailure,
};
use crate::activity::asked_people::QuestionSlot;

/// Returns the body of a tool's activity, and the place where the body leaves a question of the
/// server to a person. If there is a question, the output is ignored.
pub(crate) fn body(connections: &Arc<Connections>, target: McpTarget) -> (ActivityBody, QuestionSlot) {
    let connections = Arc::clone(connections);
    let asked = QuestionSlot::default();
    let of_body = asked.clone();
    let body: ActivityBody = Arc::new(move |ctx, arguments| {
        let (connections, target, asked) = (Arc::clone(&connections), target.clone(), of_body.clone());
        async move {
            match call(&connections, &target, arguments).await? {
                Called::Output(output, beside) => {
                    let SideData { server_data, bounds, .. } = beside;
                    for data in server_data {
                        ctx.add_server_data(data);
                    }
                    if let Some(bounds) = bounds {
                        ctx.set_bounds(bounds);
                    }
                    Ok(output)
                }
                Called::Question(question) => {
                    asked.put(question);
                    Ok(String::new().into())
                }
            }
        }
        .boxed()
    });
    (body, asked)
}

/// The outcome of a call.
enum Called {
    /// The output, and data beside it.
    Output(ToolOutput, SideData),
    /// The server asks a person this question.
    Question(McpQuestion),
}

/// Calls a tool. An error that the server or the tool reports goes to the model; a call to an
/// unavailable server is retried.
async fn call(
    connections: &Connections,
    target: &McpTarget,
    arguments: Map<String, Value>,
) -> Result<Called, ToolError> {
    let mut params = CallToolRequestParams::new(target.tool.clone()).with_arguments(arguments);
    if !target.meta.is_empty() {
        params.meta = Some(RequestMetaObject(MetaObject(target.meta.clone())));
    }
    let repeat = if target.once { Repeat::Never } else { Repeat::Harmless };
    let on = match (target.session.as_deref(), &target.answers) {
        (Some(session), _) => On::Session(session),
        (None, Some(_)) => On::AsksPeople(target.argument.as_ref()),
        (None, None) => On::Shared(target.argument.as_ref()),
    };
    let answer = connections
        .ask(on, repeat, |peer, client| {
            let (params, answers) = (params.clone(), target.answers.clone());
            async move {
                let Some(answers) = answers else { return Ok((peer.call_tool_once(params).await?, None)) };
                let (response, question) = client.with(answers, peer.call_tool_once(params)).await;
                Ok((response?, question))
            }
        })
        .await;
    let failed = |reason: &dyn std::fmt::Display| {
        ToolError::tell_model(format!(
            "Error invoking MCP tool {} on server '{}': {reason}",
            target.tool, target.server
        ))
    };
    let (result, given) = match answer {
        Ok(((_, Some(McpQuestion { message, schema })), given)) => {
            let question = McpQuestion { message: given.text(&message), schema: given.value(schema) };
            return Ok(Called::Question(question));
        }
        Ok(((CallToolResponse::Complete(result), None), given)) => (result, given),
        Ok(((CallToolResponse::InputRequired(_), None), _)) => {
            return Err(failed(&"it asks a person for input, who cannot be asked here"));
        }
        Ok(_) => return Err(failed(&"it answers later, which is not supported")),
        Err(McpFailure::Lost { .. }) if target.once => return Err(ToolError::tell_model(OUTCOME_UNKNOWN)),
        Err(error) if error.is_passing() => return Err(ToolError::transient(error.to_string())),
        Err(error) => return Err(failed(&error)),
    };
    let is_error = result.is_error == Some(true);
    let content = ResultContent::new(&result.content, result.structured_content).map_err(|error| failed(&error))?;
    let output = if is_error { content.error() } else { content.output(target.structured_content) };
    let beside = result.meta.map(|meta| beside(target, meta.0)).unwrap_or_default();
    let (output, beside) = if given.is_empty() {
        (output, beside)
    } else {
        let redaction = given.redaction();
        (redaction.output(output), redaction.side_data(beside))
    };
    if is_error { Err(ToolError::tell_model(output.to_text())) } else { Ok(Called::Output(output, beside)) }
}

/// Returns the data that a server sends beside an output. Data that cannot be read is logged.
fn beside(target: &McpTarget, mut meta: Map<String, Value>) -> SideData {
    let data = SideData::take_from(&mut meta).unwrap_or_else(|error| {
        let McpTarget { server, tool, .. } = target;
        tracing::warn!(%error, server, tool, "the data beside the output, in the result's _meta, cannot be read");
        None
    });
    data.unwrap_or_default()
}
