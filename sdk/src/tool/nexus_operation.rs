//! A Nexus operation as a tool: what another team, namespace or language offers behind an endpoint.

use std::time::Duration;

/// An operation of a Nexus service, and how it is called. [`ToolDef::nexus_operation`](super::ToolDef::nexus_operation) offers it to a
/// model.
///
/// Nobody but the handler knows whether the operation is done at once or by a workflow that takes days; the tool is the same. The server
/// repeats a request that the handler does not answer, or answers with an error that may pass, until one of the times is over: so a handler
/// may see one call several times. The call's [idempotency key](super::CallInfo::idempotency_key) is in the Nexus header `idempotency-key`.
///
/// ```
/// use std::time::Duration;
/// use temporal_agents::tool::NexusOperation;
///
/// let quote = NexusOperation::named("freight-endpoint", "Freight", "quote").schedule_to_close(Duration::from_secs(30));
/// assert_eq!(quote.schedule_to_start, Duration::from_secs(300));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NexusOperation {
    /// The endpoint, as the server's registry has it.
    pub endpoint: String,
    /// The service behind it.
    pub service: String,
    /// The service's operation.
    pub operation: String,
    /// Longest time from the call to its end, all requests and the pauses between them included. Default: no limit, as an operation may be a
    /// workflow that takes days.
    pub schedule_to_close: Option<Duration>,
    /// Longest time until the handler has taken the call; one that is done at once has ended by then. Default 5 min: without a handler the call
    /// ends then, instead of never.
    pub schedule_to_start: Duration,
    /// What a cancelled call waits for.
    pub cancellation: NexusCancellation,
    /// Whether running it twice is harmless. Default true. With false the model is told of a call that ran out of time that it may have taken
    /// effect; it is the handler that keeps effects from being repeated, by the idempotency key.
    pub idempotent: bool,
}

/// What a cancelled call of a Nexus operation waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NexusCancellation {
    /// Until the operation has ended, in whatever way.
    #[default]
    Completed,
    /// Until its handler has taken the request to cancel.
    Requested,
    /// Nothing: the request is sent, and the run goes on.
    Sent,
    /// Nothing: the operation is left alone.
    Abandoned,
}

impl NexusOperation {
    /// This operation of this service at this endpoint, with the defaults.
    pub fn named(endpoint: impl Into<String>, service: impl Into<String>, operation: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            service: service.into(),
            operation: operation.into(),
            schedule_to_close: None,
            schedule_to_start: Duration::from_mins(5),
            cancellation: NexusCancellation::default(),
            idempotent: true,
        }
    }

    /// Sets the longest time from the call to its end.
    #[must_use]
    pub fn schedule_to_close(mut self, longest: Duration) -> Self {
        self.schedule_to_close = Some(longest);
        self
    }

    /// Sets the longest time until the handler has taken the call.
    #[must_use]
    pub fn schedule_to_start(mut self, longest: Duration) -> Self {
        self.schedule_to_start = longest;
        self
    }

    /// Says what a cancelled call waits for.
    #[must_use]
    pub fn cancellation(mut self, cancellation: NexusCancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Says whether running it twice is harmless.
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }
}
