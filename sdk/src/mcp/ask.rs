//! Lists, prompts and resources.

use std::ops::ControlFlow;

use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams},
};
use serde::Serialize;
use serde_json::{Map, Value};
use temporal_agents_core::wire::{
    McpTool,
    mcp_call::McpOperation,
    size::{Bytes, MOST_BYTES, encoded_len},
};

use super::{
    connections::{Connections, On, Repeat},
    failure::McpFailure,
    left_out,
    listed::{Listed, MAX_ITEMS, MAX_TOOLS},
};

/// Performs an operation, and returns the response in the shape that [`McpOperation`] describes.
pub(super) async fn answer(
    connections: &Connections,
    on: On<'_>,
    operation: McpOperation,
) -> Result<Value, McpFailure> {
    let name = operation.name();
    let unknown = || McpFailure::Unsupported {
        server: connections.server().to_owned(),
        what: format!("does not support {name}"),
    };
    let lists_tools = matches!(operation, McpOperation::ListTools);
    let (answer, given) = connections
        .ask(on, Repeat::Harmless, |peer, _client| {
            let operation = operation.clone();
            async move { ask(&peer, operation).await }
        })
        .await?;
    let server = || connections.server().to_owned();
    let answer = match answer {
        Answer::Of(list) if lists_tools => Answer::Of(left_out::within_bounds(connections.server(), list)),
        answer => answer,
    };
    match answer {
        Answer::Of(value) if !fits(&value) => {
            let what =
                format!("responds to {name} with more than {}, the limit of a recorded response", Bytes(MOST_BYTES));
            Err(McpFailure::TooLarge { server: server(), what })
        }
        Answer::Of(value) if given.is_empty() => Ok(value),
        Answer::Of(list) if lists_tools => Ok(given.value(left_out::without_credentials(&server(), list, &given))),
        Answer::Of(value) => Ok(given.value(value)),
        Answer::TooLong(excess) => Err(McpFailure::TooLarge { server: server(), what: excess }),
        Answer::EndlessList => Err(McpFailure::Unsupported {
            server: server(),
            what: "lists endlessly: it returned the same cursor twice".to_owned(),
        }),
        Answer::Unreadable(reason) => Err(McpFailure::Unsupported {
            server: server(),
            what: format!("sent a response that cannot be read: {reason}"),
        }),
        Answer::NotKnown => Err(unknown()),
    }
}

/// Returns the tools of a server.
pub(crate) async fn list_tools(connections: &Connections, on: On<'_>) -> Result<Vec<McpTool>, McpFailure> {
    let listed = answer(connections, on, McpOperation::ListTools).await?;
    serde_json::from_value(listed["tools"].clone()).map_err(|error| McpFailure::Unsupported {
        server: connections.server().to_owned(),
        what: format!("lists tools that cannot be read: {error}"),
    })
}

pub(super) enum Answer {
    Of(Value),
    /// A list that exceeds a limit; the string describes it.
    TooLong(String),
    EndlessList,
    Unreadable(String),
    NotKnown,
}

/// Requests all pages of a list, one after another, as long as the list is within its limits.
macro_rules! pages {
    ($peer:ident.$list:ident, $member:ident, $listed:expr) => {{
        let (mut listed, mut cursor): (Listed, _) = ($listed, None);
        loop {
            let page = $peer.$list(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
            cursor = page.next_cursor;
            if let ControlFlow::Break(answer) = listed.page(&page.$member, cursor.as_deref()) {
                break answer;
            }
        }
    }};
}

async fn ask(peer: &Peer<RoleClient>, operation: McpOperation) -> Result<Answer, ServiceError> {
    Ok(match operation {
        McpOperation::ListTools => pages!(peer.list_tools, tools, Listed::new("tools", MAX_TOOLS, tool)),
        McpOperation::ListPrompts => pages!(peer.list_prompts, prompts, Listed::new("prompts", MAX_ITEMS, Ok)),
        McpOperation::ListResources => pages!(peer.list_resources, resources, Listed::new("resources", MAX_ITEMS, Ok)),
        McpOperation::ListResourceTemplates => {
            let listed = Listed::new("resourceTemplates", MAX_ITEMS, Ok);
            pages!(peer.list_resource_templates, resource_templates, listed)
        }
        McpOperation::GetPrompt { name, arguments } => {
            let params = GetPromptRequestParams::new(name).with_arguments(arguments);
            written(&peer.get_prompt(params).await?)
        }
        McpOperation::ReadResource { uri } => written(&peer.read_resource(ReadResourceRequestParams::new(uri)).await?),
        // `activities.rs` handles these two.
        McpOperation::OpenSession { .. } | McpOperation::CloseSession => Answer::NotKnown,
    })
}

/// `true` if the value is small enough to be recorded.
fn fits(value: &Value) -> bool {
    encoded_len(value).is_ok_and(|bytes| bytes <= MOST_BYTES)
}

/// Converts a tool, without the members that are not used here: icons, output schemas.
fn tool(item: Value) -> Result<Value, String> {
    let tool: McpTool = serde_json::from_value(item).map_err(|error| error.to_string())?;
    serde_json::to_value(tool).map_err(|error| error.to_string())
}

fn written(answer: &impl Serialize) -> Answer {
    match serde_json::to_value(answer) {
        Ok(Value::Object(mut members)) => {
            strip(&mut members);
            Answer::Of(Value::Object(members))
        }
        Ok(other) => Answer::Of(other),
        Err(error) => Answer::Unreadable(error.to_string()),
    }
}

/// Removes the members that newer versions of the protocol add to every response.
fn strip(members: &mut Map<String, Value>) {
    for name in ["resultType", "ttlMs", "cacheScope"] {
        members.remove(name);
    }
}
