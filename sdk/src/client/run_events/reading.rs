//! One reader of a workflow's events, for a process that reads many workflows: without a follower,
//! which would hold the latest events for other subscribers.

use futures::{Stream, stream::unfold};
use temporal_agents_core::wire::RunEvent;
use temporalio_client::Client;

use super::{
    RunEventsError,
    chain::Chain,
    cursor::Cursor,
    merged::{Merged, MergedRead},
};
use crate::client::transcript::End;

/// The next item of a reader.
#[derive(Debug)]
pub(crate) enum ReadItem {
    /// An event; also deltas that the history holds.
    Event(Box<RunEvent>),
    /// The server has had no event for some 20 s, and the workflow has no open children. The
    /// execution that was read, and the id of its latest event.
    Nothing { execution: String, event: i64 },
    /// The workflow has ended. The last item.
    Ended {
        /// Temporal's run id of the last execution.
        execution: String,
        /// The end and its time (RFC 3339); `None` for a history that the server has cut.
        end: Option<(End, String)>,
    },
}

/// Returns the events of a workflow after this cursor.
///
/// # Errors
/// An error is the last item: [`RunEventsError::NotFound`] if the server has deleted the execution
/// of the cursor.
pub(crate) fn read_events(
    client: &Client,
    workflow_id: &str,
    from: &str,
) -> impl Stream<Item = Result<ReadItem, RunEventsError>> + Send + use<> {
    let reader = match Cursor::parse(from) {
        Ok(cursor) => Ok(Merged::new(client, workflow_id, Some(cursor))),
        Err(reason) => Err(RunEventsError::Cursor { cursor: from.to_owned(), reason }),
    };
    unfold(Some(reader), |reader| async move {
        let mut reader = match reader? {
            Ok(reader) => reader,
            Err(error) => return Some((Err(error), None)),
        };
        match next(&mut reader).await {
            Ok(last @ ReadItem::Ended { .. }) => Some((Ok(last), None)),
            Ok(item) => Some((Ok(item), Some(Ok(reader)))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

async fn next(reader: &mut Merged) -> Result<ReadItem, RunEventsError> {
    let read = reader.read().await?;
    let (execution, event) = reader.root().map(Chain::place_read).unwrap_or_default();
    Ok(match read {
        MergedRead::Event(event) => ReadItem::Event(event),
        MergedRead::Nothing => ReadItem::Nothing { execution: execution.to_owned(), event },
        MergedRead::Ended => {
            let end = reader.root().and_then(|root| root.closed().cloned());
            ReadItem::Ended { execution: execution.to_owned(), end }
        }
    })
}

/// Returns the cursor before the first event of an execution (Temporal's run id).
pub(crate) fn cursor_before(execution: &str) -> String {
    Cursor::of_execution(execution).to_string()
}

/// Returns the execution of a cursor; `None` for a string that is not a cursor.
pub(crate) fn execution_of(cursor: &str) -> Option<String> {
    Cursor::parse(cursor).ok()?.execution().map(str::to_owned)
}

/// Returns `true` if the event with this cursor is the one with the other cursor, or before it in
/// the same execution.
pub(crate) fn is_within(cursor: &str, other: &str) -> bool {
    matches!((Cursor::parse(cursor), Cursor::parse(other)), (Ok(one), Ok(other)) if one.is_within(&other))
}
