//! The streams of one call: its result stream, and marks. They keep a call that must not be repeated
//! from beginning twice or too late.
//!
//! | stream | who appends to it, and when |
//! |---|---|
//! | `result:<id>` | the caller with the call (`init`), then the provider |
//! | `result:<id>:begun` | a provider, before the body of a tool that is not idempotent |
//! | `result:<id>:ended` | a provider, with the result |
//! | `result:<id>:given_up` | the caller, before its run is told that there is no result |
//! | `result:<id>:waiting` | the caller with the call, if it has a deadline; it expires then |
//!
//! # Design
//! **The broker decides which transaction is first.** The body of a tool that is not idempotent
//! begins with one transaction, which appends `begun` only if the result stream exists, the caller
//! waits and there is no mark. A caller appends `given_up` before it tells its run that the outcome
//! is unknown. So no body begins twice, or after the run was told, whatever the clocks of the
//! machines say.
//!
//! **A mark outlives the result stream.** A request can be delivered again at any time, even days
//! later. It is made only while its result stream exists, and a mark exists at least twice as long
//! as that stream. For a tool that is not idempotent only the result extends the life of the stream,
//! in one transaction with its mark.

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
    waiting: String,
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
    pub(crate) fn for_call(tool_use_id: &str) -> Result<Self, StreamError> {
        let results = result_stream(tool_use_id);
        let mark = |name: &str| format!("{results}:{name}");
        let begun = mark("begun");
        let ended = mark("ended");
        let given_up = mark("given_up");
        let waiting = mark("waiting");
        [&results, &begun, &ended, &given_up, &waiting].into_iter().try_for_each(|stream| checked(stream))?;
        Ok(Self { results, begun, ended, given_up, waiting })
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

    /// Returns the request that publishes a call, whose message is this JSON, unless it is published
    /// or given up. The result stream exists for `retention`. A caller whose message has a deadline
    /// waits for `wait`.
    pub(super) fn publish(
        &self,
        toolset: &str,
        message: Vec<u8>,
        retention: Duration,
        wait: Option<Duration>,
    ) -> Append {
        let requests = toolset_stream(toolset);
        let append = Append::new()
            .unless_exists(&*self.results)
            .unless_exists(&*self.given_up)
            .entry(&*self.results, INIT_EVENT, b"{}".to_vec())
            .expire(&*self.results, retention)
            .entry(&*requests, "call", message)
            .max_len(&*requests, MAX_REQUESTS);
        match wait {
            Some(wait) => append.entry(&*self.waiting, "waiting", b"{}".to_vec()).expire(&*self.waiting, wait),
            None => append,
        }
    }

    /// Returns the request that marks that the caller no longer waits. From then on no provider
    /// begins the call.
    pub(super) fn give_up(&self, reason: GivenUp, retention: Duration) -> Append {
        self.outliving_mark(&self.given_up, retention).entry(&*self.given_up, reason.event(), b"{}".to_vec())
    }

    /// Returns a request that appends nothing, and fails if the call has ended or its caller no
    /// longer waits.
    pub(crate) fn check_open(&self) -> Append {
        Append::new().unless_exists(&*self.ended).unless_exists(&*self.given_up)
    }

    /// Adds the condition that the deadline of the call has not passed at the broker.
    pub(crate) fn before_deadline(&self, append: Append) -> Append {
        append.only_if_exists(&*self.waiting)
    }

    /// Returns the request that marks the beginning of a body that must not run twice.
    pub(crate) fn begin(&self, retention: Duration) -> Append {
        self.with_begin_conditions(self.outliving_mark(&self.begun, retention)).entry(
            &*self.begun,
            "begun",
            b"{}".to_vec(),
        )
    }

    /// Returns the request that extends the life of the mark of a call in progress.
    pub(crate) fn extend_begun(&self, retention: Duration) -> Append {
        self.outliving_mark(&self.begun, retention)
    }

    /// Returns the request that ends a call that was not begun, with this result.
    pub(crate) fn refuse(&self, result: Vec<u8>, retention: Duration) -> Append {
        self.with_begin_conditions(self.append_result(result, retention))
    }

    /// Returns the request that ends a call with this result, unless it has ended.
    pub(crate) fn end(&self, result: Vec<u8>, retention: Duration) -> Append {
        self.append_result(result, retention).unless_exists(&*self.ended)
    }

    fn append_result(&self, result: Vec<u8>, retention: Duration) -> Append {
        self.outliving_mark(&self.ended, retention)
            .entry(&*self.ended, "ended", b"{}".to_vec())
            .entry(&*self.results, RESULT_EVENT, result)
            .expire_at_least(&*self.results, retention)
    }

    /// Adds the conditions under which a call may begin.
    fn with_begin_conditions(&self, append: Append) -> Append {
        append
            .only_if_exists(&*self.results)
            .unless_exists(&*self.begun)
            .unless_exists(&*self.ended)
            .unless_exists(&*self.given_up)
    }

    /// Lets a mark outlive the result stream, which exists for up to `retention` from now on.
    fn outliving_mark(&self, mark: &str, retention: Duration) -> Append {
        Append::new().outlive(mark, &*self.results, retention.saturating_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use super::CallStreams;

    #[test]
    fn call_ids_leave_room_for_marks() {
        let longest = 512 - "result:".len() - ":given_up".len();
        assert!(CallStreams::for_call(&"n".repeat(longest)).is_ok());
        for id in ["a b", "a\0", "a*", "a?", "a[0]", &"n".repeat(longest + 1)] {
            assert!(CallStreams::for_call(id).is_err(), "{id:?}");
        }
    }
}
