//! The streams of one call: its result stream, and the marks beside it, which keep a call that must
//! not be repeated from beginning twice, or too late.
//!
//! | stream | who appends to it, and when |
//! |---|---|
//! | `result:<id>` | the caller with the call (`init`), then the provider |
//! | `result:<id>:begun` | a provider, before the body of a tool that is not idempotent |
//! | `result:<id>:ended` | a provider, with the result |
//! | `result:<id>:given_up` | the caller, before its run is told that there is no result |
//!
//! # Design
//! **The broker decides who comes first.** A body begins with one transaction, which appends `begun`
//! only if the result stream exists and there is no mark. A caller appends `given_up` before it
//! tells its run that the outcome is unknown. Whichever transaction is first, no body begins after
//! the run was told, and none begins twice, whatever the clocks of the machines say.
//!
//! **A mark outlives the result stream.** A request can be delivered again at any time, days later.
//! It is only made while its result stream exists, and a mark exists for at least twice as long as
//! that stream. Only a result extends the life of the stream, in one transaction with its mark.

use std::time::Duration;

use super::{
    message::{INIT_EVENT, RESULT_EVENT, result_stream, toolset_stream},
    transport::{Append, StreamError, checked},
};

/// Approximate number of entries after which the oldest of a request stream are removed.
pub(super) const MAX_REQUESTS: usize = 10_000;

/// The streams of one call.
#[derive(Clone, Debug)]
pub(crate) struct CallStreams {
    results: String,
    begun: String,
    ended: String,
    given_up: String,
}

/// The reason for which a caller no longer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenUp {
    /// The result is lost, or did not come in time. A body that runs may end.
    Expired,
    /// The run was cancelled, or has ended: a body that runs is to be cancelled.
    Cancelled,
}

impl GivenUp {
    /// Returns the name of the event.
    pub(crate) fn event(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

impl CallStreams {
    /// Returns the streams of the call with this id.
    ///
    /// # Errors
    /// [`StreamError::Name`] if the id cannot be a part of their names.
    pub(crate) fn named(tool_use_id: &str) -> Result<Self, StreamError> {
        let results = result_stream(tool_use_id);
        let mark = |name: &str| format!("{results}:{name}");
        let (begun, ended, given_up) = (mark("begun"), mark("ended"), mark("given_up"));
        [&results, &begun, &ended, &given_up].into_iter().try_for_each(|stream| checked(stream))?;
        Ok(Self { results, begun, ended, given_up })
    }

    pub(crate) fn results(&self) -> &str {
        &self.results
    }

    pub(crate) fn begun(&self) -> &str {
        &self.begun
    }

    pub(crate) fn ended(&self) -> &str {
        &self.ended
    }

    pub(crate) fn given_up(&self) -> &str {
        &self.given_up
    }

    /// Publishes a call, whose message is this JSON, unless it is published or given up. The result
    /// stream exists for `retention`.
    pub(super) fn publish(&self, toolset: &str, message: Vec<u8>, retention: Duration) -> Append {
        let requests = toolset_stream(toolset);
        Append::new()
            .unless_exists(&*self.results)
            .unless_exists(&*self.given_up)
            .entry(&*self.results, INIT_EVENT, b"{}".to_vec())
            .expire(&*self.results, retention)
            .entry(&*requests, "call", message)
            .max_len(&*requests, MAX_REQUESTS)
    }

    /// Marks that the caller no longer waits. From then on no provider begins the call.
    pub(super) fn give_up(&self, reason: GivenUp, retention: Duration) -> Append {
        self.lasting(&self.given_up, retention).entry(&*self.given_up, reason.event(), b"{}".to_vec())
    }

    /// Appends nothing; fails if the call has ended, or its caller no longer waits.
    pub(crate) fn is_open(&self) -> Append {
        Append::new().unless_exists(&*self.ended).unless_exists(&*self.given_up)
    }

    /// Marks that the body of a call begins which must not be made twice.
    pub(crate) fn begin(&self, retention: Duration) -> Append {
        self.unbegun(self.lasting(&self.begun, retention)).entry(&*self.begun, "begun", b"{}".to_vec())
    }

    /// Extends the life of the mark of a call in progress.
    pub(crate) fn keep_begun(&self, retention: Duration) -> Append {
        self.lasting(&self.begun, retention)
    }

    /// Ends a call that was not begun, with this result.
    pub(crate) fn refuse(&self, result: Vec<u8>, retention: Duration) -> Append {
        self.unbegun(self.result(result, retention))
    }

    /// Ends a call with this result, unless it has ended.
    pub(crate) fn end(&self, result: Vec<u8>, retention: Duration) -> Append {
        self.result(result, retention).unless_exists(&*self.ended)
    }

    fn result(&self, result: Vec<u8>, retention: Duration) -> Append {
        self.lasting(&self.ended, retention)
            .entry(&*self.ended, "ended", b"{}".to_vec())
            .entry(&*self.results, RESULT_EVENT, result)
            .expire_at_least(&*self.results, retention)
    }

    /// Adds the conditions under which a call may begin.
    fn unbegun(&self, append: Append) -> Append {
        append
            .only_if_exists(&*self.results)
            .unless_exists(&*self.begun)
            .unless_exists(&*self.ended)
            .unless_exists(&*self.given_up)
    }

    /// Lets a mark outlive the result stream, which exists for up to `retention` from now on.
    fn lasting(&self, mark: &str, retention: Duration) -> Append {
        Append::new().outlive(mark, &*self.results, retention.saturating_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use super::CallStreams;

    #[test]
    fn an_id_must_leave_room_for_the_names_of_marks() {
        let longest = 512 - "result:".len() - ":given_up".len();
        assert!(CallStreams::named(&"n".repeat(longest)).is_ok());
        for id in ["a b", "a\0", "a*", "a?", "a[0]", &"n".repeat(longest + 1)] {
            assert!(CallStreams::named(id).is_err(), "{id:?}");
        }
    }
}
