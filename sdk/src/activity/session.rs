//! The activity that reads and writes the sessions of one store.
//!
//! # Design
//! **A stored session is read in portions** if it is over 2 MB, as the recorded replies show. A
//! position consists of a count and a digest of the items that the first read found, so that items
//! which others add in between do not shift it.

use std::sync::Arc;

use serde_json::Value;
use temporal_agents_core::{
    tool::BoxError,
    wire::{
        Item, SessionPosition, WIRE_VERSION, WireDecodeError, WireVersion, decode,
        digest::Digest,
        failure::MALFORMED_REQUEST,
        session_call::{SessionOperation, SessionReply, SessionRequest},
        size::{Bytes, MOST_BYTES},
    },
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use crate::{activity::model_failure::version_mismatch, store::Session};

/// The first version of workflows that request the rest of a session; earlier ones assume that the
/// first reply is complete.
const FIRST_VERSION_WITH_PORTIONS: WireVersion = WireVersion { major: 1, minor: 2 };
/// The maximum number of items that others may add between the first portion and the last, if the
/// read has a limit.
const MAX_ADDED_ITEMS: u32 = 1000;

/// The reason that a session could not be read or written.
#[derive(Debug, thiserror::Error)]
enum SessionFailure {
    /// A failure of the store; retried.
    #[error(transparent)]
    Store(#[from] BoxError),
    #[error(
        "item {place} of session {session_id:?} is {} of JSON, over the limit of {} for one message; shorten it in \
         the store, or read only later items with a limit",
        Bytes(*bytes),
        Bytes(MOST_BYTES)
    )]
    ItemTooLarge { session_id: String, place: usize, bytes: usize },
    #[error(
        "session {session_id:?} was changed while it was read in portions: the items of the first read are no longer \
         at their positions; a store may only add items at the end"
    )]
    Changed { session_id: String },
}

/// Reads or writes a session.
pub(crate) async fn run(
    store: Arc<dyn Session>,
    ctx: Arc<ActivityContext>,
    request: Value,
) -> Result<SessionReply, ActivityError> {
    let request = match decode::<SessionRequest>("session request", request) {
        Ok(request) => request,
        Err(WireDecodeError::Version(mismatch)) => {
            return Err(ActivityError::Application(Box::new(version_mismatch(ctx.info(), mismatch))));
        }
        Err(error) => {
            let failure =
                ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build();
            return Err(ActivityError::Application(Box::new(failure)));
        }
    };
    let SessionRequest { version, session_id, operation } = request;
    let whole = |items| SessionReply { version: WIRE_VERSION, items, more: None };
    let done = match operation {
        SessionOperation::Read { limit } => match store.items(&session_id, limit).await {
            Ok(items) if version < FIRST_VERSION_WITH_PORTIONS => Ok(whole(items)),
            Ok(items) => portion(&session_id, &items, 0),
            Err(error) => Err(error.into()),
        },
        SessionOperation::ReadOn { limit, after } => match read_again(&*store, &session_id, limit, &after).await {
            Ok(items) => portion(&session_id, &items, usize::try_from(after.given).unwrap_or(usize::MAX)),
            Err(error) => Err(error),
        },
        SessionOperation::Add { items, key } => {
            // A workflow that is reset repeats its writes, possibly with other items, under the
            // keys of its first run. The run id keeps these apart.
            let run = ctx.info().workflow_run_id.clone().unwrap_or_default();
            let added = store.add(&session_id, items, &format!("{run}/{key}")).await;
            added.map(|()| whole(Vec::new())).map_err(SessionFailure::from)
        }
    };
    done.map_err(|error| {
        let type_name = match &error {
            SessionFailure::Store(_) => "SessionError",
            SessionFailure::ItemTooLarge { .. } => "SessionItemTooLarge",
            SessionFailure::Changed { .. } => "SessionChanged",
        };
        let is_passing = matches!(error, SessionFailure::Store(_));
        let failure = ApplicationFailure::builder(error.to_string()).type_name(type_name.to_owned());
        ActivityError::Application(Box::new(failure.non_retryable(!is_passing).build()))
    })
}

/// Returns the items from this position on that fit into one reply.
fn portion(session_id: &str, items: &[Item], given: usize) -> Result<SessionReply, SessionFailure> {
    let mut bytes = 0;
    let rest = items.get(given..).unwrap_or_default();
    let fitting = rest.iter().take_while(|item| {
        // One more byte for the comma.
        bytes += item.json_len() + 1;
        bytes <= MOST_BYTES
    });
    let portion: Vec<Item> = fitting.cloned().collect();
    let end = given + portion.len();
    let more = match rest.get(portion.len()) {
        None => None,
        Some(item) if portion.is_empty() => {
            let (session_id, bytes) = (session_id.to_owned(), item.json_len());
            return Err(SessionFailure::ItemTooLarge { session_id, place: given, bytes });
        }
        Some(_) => Some(place(items, end)),
    };
    Ok(SessionReply { version: WIRE_VERSION, items: portion, more })
}

/// Returns the position after the first `given` items.
fn place(items: &[Item], given: usize) -> SessionPosition {
    let count = |count| u64::try_from(count).unwrap_or(u64::MAX);
    SessionPosition { given: count(given), of: count(items.len()), digest: Digest::of_conversation(items) }
}

/// Returns the items that the first read found, without those that others have added since.
async fn read_again(
    store: &dyn Session,
    session_id: &str,
    limit: Option<u32>,
    place: &SessionPosition,
) -> Result<Vec<Item>, SessionFailure> {
    let of = usize::try_from(place.of).unwrap_or(usize::MAX);
    let is_same = |items: &[Item]| Digest::of_conversation(items) == place.digest;
    let mut items = store.items(session_id, limit).await?;
    if items.get(..of).is_some_and(is_same) {
        items.truncate(of);
        return Ok(items);
    }
    // With a limit, the latest items are now others: reads further back, and searches for the
    // sequence of items that the first read found.
    let changed = || SessionFailure::Changed { session_id: session_id.to_owned() };
    let limit = limit.ok_or_else(changed)?;
    let items = store.items(session_id, Some(limit.saturating_add(MAX_ADDED_ITEMS))).await?;
    let starts = (0..=items.len().checked_sub(of).ok_or_else(changed)?).rev();
    let found = starts.map(|start| &items[start..start + of]).find(|items| is_same(items));
    found.map(<[Item]>::to_vec).ok_or_else(changed)
}
