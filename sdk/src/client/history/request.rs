//! Decodes the requests and the replies of activities, by their kind.

use temporal_agents_core::wire::{
    ModelReply, carried::LoadStateReply, conversation::RecordRequest, mcp_call::listed_server,
};
use temporalio_common::{data_converters::DataConverter, protos::temporal::api::common::v1::Payload};

use super::{
    messages::message,
    record::{Kind, Reply, Request, store_of},
};
use crate::client::transcript::TranscriptError;

/// Decodes a request.
///
/// # Errors
/// [`TranscriptError::Encoded`] and [`TranscriptError::Unreadable`].
pub(super) async fn request(
    converter: &DataConverter,
    kind: Kind,
    activity_type: &str,
    id: &str,
    payloads: Vec<Payload>,
) -> Result<Request, TranscriptError> {
    let what = || format!("the request of activity {id}");
    Ok(match kind {
        Kind::Model => Request::Model(message(converter, payloads, what).await?),
        Kind::Tool | Kind::ToolBatch => Request::Tool(message(converter, payloads, what).await?),
        Kind::Guardrail => Request::Guardrail(message(converter, payloads, what).await?),
        Kind::Session => Request::Session {
            store: store_of(activity_type).unwrap_or_default().to_owned(),
            request: message(converter, payloads, what).await?,
        },
        Kind::McpList => Request::McpList { server: listed_server(activity_type).unwrap_or_default().to_owned() },
        Kind::Items => {
            let RecordRequest { version: _, items } = message(converter, payloads, what).await?;
            Request::Items(items)
        }
        Kind::Chunk => Request::Chunk,
    })
}

/// Decodes a reply.
///
/// # Errors
/// [`TranscriptError::Encoded`] and [`TranscriptError::Unreadable`].
pub(super) async fn reply(
    converter: &DataConverter,
    kind: Kind,
    id: &str,
    payloads: Vec<Payload>,
) -> Result<Reply, TranscriptError> {
    let what = || format!("the result of activity {id}");
    Ok(match kind {
        Kind::Model => {
            let reply: ModelReply = message(converter, payloads, what).await?;
            Reply::Model(reply.response)
        }
        Kind::Tool | Kind::ToolBatch | Kind::Guardrail => Reply::Tool(message(converter, payloads, what).await?),
        Kind::Session => Reply::Session(message(converter, payloads, what).await?),
        Kind::McpList | Kind::Items => Reply::Nothing,
        Kind::Chunk => {
            let reply: LoadStateReply = message(converter, payloads, what).await?;
            Reply::Chunk(reply.chunk)
        }
    })
}
