//! Lists, prompts and resources.

use std::collections::BTreeSet;

use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    connections::{Connections, On, Repeat},
    failure::McpFailure,
};
use crate::wire::{McpOperation, McpTool};

/// Does what is asked; the answer is as [`McpOperation`] says.
pub(super) async fn answer(
    connections: &Connections,
    on: On<'_>,
    operation: McpOperation,
) -> Result<Value, McpFailure> {
    let unknown = || McpFailure::Unsupported {
        server: connections.server().to_owned(),
        what: format!("cannot be asked to {}", operation.name()),
    };
    let (answer, given) = connections
        .ask(on, Repeat::Harmless, |peer, _client| {
            let operation = operation.clone();
            async move { ask(&peer, operation).await }
        })
        .await?;
    match answer {
        Answer::Of(value) if given.is_empty() => Ok(value),
        Answer::Of(value) => Ok(given.value(value)),
        Answer::EndlessList => Err(McpFailure::Unsupported {
            server: connections.server().to_owned(),
            what: "lists in circles: it gave a cursor twice".to_owned(),
        }),
        Answer::Unreadable(reason) => Err(McpFailure::Unsupported {
            server: connections.server().to_owned(),
            what: format!("answered what cannot be read: {reason}"),
        }),
        Answer::NotKnown => Err(unknown()),
    }
}

/// The tools of a server.
pub(in crate::worker) async fn list_tools(connections: &Connections, on: On<'_>) -> Result<Vec<McpTool>, McpFailure> {
    let listed = answer(connections, on, McpOperation::ListTools).await?;
    serde_json::from_value(listed["tools"].clone()).map_err(|error| McpFailure::Unsupported {
        server: connections.server().to_owned(),
        what: format!("lists tools that cannot be read: {error}"),
    })
}

enum Answer {
    Of(Value),
    EndlessList,
    Unreadable(String),
    NotKnown,
}

/// All pages of a list.
macro_rules! pages {
    ($peer:ident.$list:ident, $member:ident) => {{
        let (mut all, mut cursor, mut seen) = (Vec::new(), None, BTreeSet::new());
        loop {
            let page = $peer.$list(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
            all.extend(page.$member);
            cursor = page.next_cursor;
            match &cursor {
                None => break Some(all),
                Some(again) if !seen.insert(again.clone()) => break None,
                Some(_) => {}
            }
        }
    }};
}

async fn ask(peer: &Peer<RoleClient>, operation: McpOperation) -> Result<Answer, ServiceError> {
    Ok(match operation {
        McpOperation::ListTools => listed("tools", pages!(peer.list_tools, tools), tool),
        McpOperation::ListPrompts => listed("prompts", pages!(peer.list_prompts, prompts), Ok),
        McpOperation::ListResources => listed("resources", pages!(peer.list_resources, resources), Ok),
        McpOperation::ListResourceTemplates => {
            listed("resourceTemplates", pages!(peer.list_resource_templates, resource_templates), Ok)
        }
        McpOperation::GetPrompt { name, arguments } => {
            let params = GetPromptRequestParams::new(name).with_arguments(arguments);
            written(&peer.get_prompt(params).await?)
        }
        McpOperation::ReadResource { uri } => written(&peer.read_resource(ReadResourceRequestParams::new(uri)).await?),
        // Of sessions another one takes care.
        McpOperation::OpenSession { .. } | McpOperation::CloseSession => Answer::NotKnown,
    })
}

fn listed<T: Serialize>(name: &str, all: Option<Vec<T>>, of: impl Fn(Value) -> Result<Value, String>) -> Answer {
    let Some(all) = all else { return Answer::EndlessList };
    let items = all.iter().map(|item| serde_json::to_value(item).map_err(|error| error.to_string()).and_then(&of));
    match items.collect::<Result<Vec<_>, _>>() {
        Ok(items) => Answer::Of(json!({ name: items })),
        Err(reason) => Answer::Unreadable(reason),
    }
}

/// A tool without what nobody here reads: icons, output schemas.
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

/// What the protocol's newer versions say of every answer.
fn strip(members: &mut Map<String, Value>) {
    for name in ["resultType", "ttlMs", "cacheScope"] {
        members.remove(name);
    }
}
