//! The limits of a model request: the items that are recorded beforehand, and the size of the rest.
//!
//! # Determinism
//! The sizes decide which activities are scheduled: a change of them needs a patch.

use temporal_agents_core::{
    tool::BoxError,
    wire::{Folded, Item, ItemView, ModelCall, definitions::DefinitionsPart},
};

use super::size::encoded_len;
use crate::workflow::effect::model_activity_options::ModelActivityOptions;

/// The assumed size of a reference, in bytes, for the limit on requests.
const REFERENCE_BYTES: usize = 100;
/// Total size of items, in bytes, above which activities of their own record them, or the room in
/// the request if that is smaller.
const RECORD_THRESHOLD_BYTES: usize = 1_572_864;
/// The part of a request that is kept free for definitions: one fifth. Definitions up to this size do
/// not decide which items are recorded, so a deploy may change them.
const DEFINITIONS_SHARE: usize = 5;
/// Maximum total size of items in one recording, in bytes. A single item may be larger.
const MAX_RECORDING_BYTES: usize = 1_048_576;

/// The JSON of a call, or of one of its items, is larger than the limit.
#[derive(Debug, thiserror::Error)]
#[error(
    "{what} {bytes} bytes, the limit is {limit}; shorten {shorten}, or raise ModelActivityOptions::max_request_bytes \
     if a codec compresses payloads"
)]
struct RequestTooLarge {
    what: String,
    shorten: &'static str,
    bytes: usize,
    limit: usize,
}

/// Splits items into the portions in which they are recorded. Returns no portions if the items fit
/// into the request of their call, which has `room` bytes for them.
///
/// The sizes are a rule: they decide which activities are scheduled, so a change of them needs a
/// patch (see CONTRIBUTING.md).
pub(in crate::workflow) fn chunks<'i>(
    items: impl Iterator<Item = &'i Item>,
    limit: usize,
    room: usize,
) -> Result<Vec<Vec<Item>>, BoxError> {
    let sized: Vec<(usize, &Item)> = items.map(|item| (item.json_len(), item)).collect();
    if sized.iter().map(|(bytes, _)| bytes).sum::<usize>() <= RECORD_THRESHOLD_BYTES.min(room) {
        return Ok(Vec::new());
    }
    let (mut chunks, mut in_last) = (Vec::<Vec<Item>>::new(), 0);
    for (bytes, item) in sized {
        if bytes > limit {
            let what = format!("{} in the conversation is", described(item));
            return Err(RequestTooLarge { what, shorten: "it", bytes, limit }.into());
        }
        match chunks.last_mut() {
            Some(last) if in_last + bytes <= MAX_RECORDING_BYTES.min(limit) => {
                in_last += bytes;
                last.push(item.clone());
            }
            _ => {
                in_last = bytes;
                chunks.push(vec![item.clone()]);
            }
        }
    }
    Ok(chunks)
}

/// Describes an item in a few words, for an error message.
fn described(item: &Item) -> String {
    match item.view() {
        ItemView::Message { role, .. } => format!("a message (role {role})"),
        ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => {
            format!("call {} of tool {}", call.call_id, call.name)
        }
        ItemView::FunctionCallOutput { call_id, .. } | ItemView::NativeCallOutput { call_id, .. } => {
            format!("the output of call {call_id}")
        }
        _ => format!("an item of type {:?}", item.kind()),
    }
}

/// The size of a request in bytes, in two parts, because a deploy may change the second one.
pub(in crate::workflow) struct RequestSize {
    /// Items that are sent for the first time, and a fixed number of bytes for each reference.
    pub(in crate::workflow) conversation: usize,
    /// Instructions, tools and schemas; 0 if the request refers to them.
    pub(in crate::workflow) definitions: usize,
}

/// Returns the size of a call's request, or an error if it is larger than the limit.
/// The encoding of the message around the parts does not count, so
/// that a release that encodes it differently makes the same decision on replay.
pub(in crate::workflow) fn checked(
    call: &ModelCall,
    folded: &Folded,
    options: &ModelActivityOptions,
) -> Result<RequestSize, BoxError> {
    let new: usize = folded.inline_items().map(Item::json_len).sum();
    let definitions = definitions_bytes(call, folded)?;
    let references = references_bytes(folded);
    let beside = definitions + references;
    let bytes = beside + new;
    let limit = options.max_request_bytes;
    if bytes > limit {
        let what = format!("the request (definitions and references {beside}, new items {new}) is");
        let shorten = "instructions, tools or conversation";
        return Err(RequestTooLarge { what, shorten, bytes, limit }.into());
    }
    Ok(RequestSize { conversation: references + new, definitions })
}

/// Returns the bytes of a request that are left for items.
pub(in crate::workflow) fn room_for_items(
    call: &ModelCall,
    folded: &Folded,
    limit: usize,
) -> Result<usize, serde_json::Error> {
    // The share is kept also for a reference: the next build may send its definitions inline.
    let definitions = definitions_bytes(call, folded)?.max(definitions_share(limit));
    Ok(limit.saturating_sub(references_bytes(folded)).saturating_sub(definitions))
}

/// Returns the bytes of a request that are kept free for definitions.
pub(in crate::workflow) fn definitions_share(limit: usize) -> usize {
    limit / DEFINITIONS_SHARE
}

fn definitions_bytes(call: &ModelCall, folded: &Folded) -> Result<usize, serde_json::Error> {
    match folded.definitions {
        DefinitionsPart::Inline { .. } => encoded_len(&call.definitions),
        _ => Ok(0),
    }
}

/// Counts one segment as that of the new items, and all others as references.
fn references_bytes(folded: &Folded) -> usize {
    folded.conversation.segments.len().saturating_sub(1) * REFERENCE_BYTES
}
