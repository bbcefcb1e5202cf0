//! A position in the events of a workflow and its children, as a short string.
//!
//! `1.<execution>.<event>.<index>`, and for each child that runs
//! `~<origins>.<execution>.<event>.<index>`: an execution is Temporal's run id; origins are the
//! events that initiated the child and the children that contain it, outermost first, joined by
//! `_`: `<end of the execution's run id>-<event>`. The index counts the facts of one history event
//! from 0.

use std::collections::BTreeMap;

/// The version of the form.
const VERSION: &str = "1";
/// Maximum length in bytes of a cursor of a client, which may be untrusted.
const MAX_LEN: usize = 64 * 1024;

/// The events that initiated a child and the children that contain it, outermost first; empty for
/// the workflow itself.
pub(super) type ChainKey = Vec<Origin>;

/// The event that initiated a child.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    /// The last 8 digits of the run id of the execution.
    execution: String,
    /// Id of the event.
    event: i64,
}

impl Origin {
    pub(super) fn new(run_id: &str, event: i64) -> Self {
        Self { execution: short(run_id), event }
    }
}

/// Returns the last 8 digits of a run id: its first ones are a time.
pub(super) fn short(run_id: &str) -> String {
    let start = run_id.ceil_char_boundary(run_id.len().saturating_sub(8));
    run_id[start..].to_owned()
}

/// The place of the latest fact that was returned of one workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Temporal's run id.
    pub(super) execution: String,
    /// Id of the history event; 0 before the first.
    pub(super) event: i64,
    /// Index of the fact among those of the event.
    pub(super) index: usize,
}

/// The places of the workflow and of its children that run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor(pub(super) BTreeMap<ChainKey, Position>);

impl Cursor {
    /// Returns the place before the first event of an execution.
    #[cfg(feature = "http")]
    pub(super) fn of_execution(execution: &str) -> Self {
        let position = Position { execution: execution.to_owned(), event: 0, index: 0 };
        Self(BTreeMap::from([(ChainKey::new(), position)]))
    }

    /// Reads a cursor of a client.
    ///
    /// # Errors
    /// The reason why the string is not a cursor.
    pub(super) fn of_client(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_LEN { Err("it is longer than 64 KiB") } else { Self::parse(text) }
    }

    /// Reads a cursor.
    ///
    /// # Errors
    /// The reason why the string is not a cursor.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let (version, rest) = text.split_once('.').ok_or("it has no version")?;
        if version != VERSION {
            return Err("it has a version that this release does not read");
        }
        let mut positions = BTreeMap::new();
        for (place, part) in rest.split('~').enumerate() {
            let (key, part) = if place == 0 {
                (ChainKey::new(), part)
            } else {
                let (key, part) = part.split_once('.').ok_or("a child has no position")?;
                let origin = |text: &str| {
                    let (execution, event) = text.split_once('-')?;
                    let is_short = execution.len() <= 8 && execution.bytes().all(|byte| byte.is_ascii_alphanumeric());
                    let event = event.parse().ok().filter(|_| is_short)?;
                    Some(Origin { execution: execution.to_owned(), event })
                };
                let key: Option<ChainKey> = key.split('_').map(origin).collect();
                (key.ok_or("the origin of a child is not an execution and an event")?, part)
            };
            let mut parts = part.split('.');
            let (Some(execution), Some(event), Some(index), None) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                return Err("a position has not three parts");
            };
            let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            if execution.is_empty() || !execution.bytes().all(is_id) {
                return Err("an execution is not a run id");
            }
            let event = event.parse().map_err(|_| "an event is not a number")?;
            let index = index.parse().map_err(|_| "an index is not a number")?;
            positions.insert(key, Position { execution: execution.to_owned(), event, index });
        }
        Ok(Self(positions))
    }
}

impl Cursor {
    /// Returns the cursor before the first event of an execution.
    pub(super) fn before(execution: &str) -> Self {
        let start = Position { execution: execution.to_owned(), event: 0, index: 0 };
        Self(BTreeMap::from([(ChainKey::new(), start)]))
    }

    /// Returns the execution of the workflow itself (Temporal's run id).
    pub(super) fn execution(&self) -> Option<&str> {
        self.0.get(&ChainKey::new()).map(|position| &*position.execution)
    }

    /// Returns `true` if this cursor is at the other one or before it: in the same execution, with
    /// no position behind that of the other.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        if self.execution() != other.execution() {
            return false;
        }
        self.0.iter().all(|(key, position)| {
            let Some(reached) = other.0.get(key) else { return true };
            position.execution == reached.execution
                && (position.event, position.index) <= (reached.event, reached.index)
        })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{VERSION}.")?;
        // The key of the workflow itself is empty and comes first.
        for (key, Position { execution, event, index }) in &self.0 {
            if !key.is_empty() {
                let origin = |Origin { execution, event }: &Origin| format!("{execution}-{event}");
                write!(f, "~{}.", key.iter().map(origin).collect::<Vec<_>>().join("_"))?;
            }
            write!(f, "{execution}.{event}.{index}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
