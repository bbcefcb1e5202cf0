//! The messages between callers and providers of tools, as JSON on streams.
//!
//! A caller publishes a [`ToolCallMessage`] to the request stream of a toolset; a provider reads
//! it there, and publishes [`ToolOutputDeltaMessage`]s and one [`ToolResultMessage`] to the result
//! stream of the call.
//!
//! # Design
//! **The JSON is that of the protocol, member by member**, so that providers and callers in other
//! languages need not know of this library. Its files are in `tests/golden/toolregistry`. Members
//! that a reader does not know are ignored; a member whose value is `null` counts as absent, as it
//! does for the protocol's own implementation, except in `payload` and `result_json`, where `null`
//! is a value.
//!
//! # Source
//! Package `toolregistry` of goa-ai, as documented before its version 8, which is another protocol.

mod call;
mod delta;
mod field_issue;
mod lenient;
mod result;
mod result_bounds;
mod stream_name;

pub use call::{CallMessage, ToolCallMessage};
pub use delta::ToolOutputDeltaMessage;
pub use field_issue::FieldIssue;
pub use result::{RemoteError, ToolResultMessage};
pub use stream_name::{INIT_EVENT, OUTPUT_DELTA_EVENT, RESULT_EVENT, result_stream, toolset_stream};
pub use temporal_agents_core::{tool::trace_context::TraceContext, wire::tool_call_meta::ToolCallMeta};

#[cfg(test)]
mod tests;
