//! A Nexus operation as a tool: a service of another team, namespace or language behind an
//! endpoint.

use std::time::Duration;

/// An operation of a Nexus service, and the options of its calls.
/// [`ToolDef::nexus_operation`](super::ToolDef::nexus_operation) offers it to a model.
///
/// Only the handler knows if the operation is done at once or by a workflow that takes days; the
/// tool is the same. The server retries a request that the handler does not answer, or answers with
/// a retryable error, until one of the timeouts has passed. A handler may therefore receive one
/// call several times. The call's [idempotency key](super::CallInfo::idempotency_key) is in the
/// Nexus header `idempotency-key`.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use std::time::Duration;
/// use temporal_agents::tool::NexusOperation;
///
/// let quote = NexusOperation::named("freight-endpoint", "Freight", "quote")
///     .schedule_to_close(Duration::from_secs(30));
/// assert_eq!(quote.schedule_to_start, Duration::from_secs(300));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NexusOperation {
    /// Name of the endpoint in the server's registry.
    pub endpoint: String,
    /// Name of the service behind the endpoint.
    pub service: String,
    /// Name of the service's operation.
    pub operation: String,
    /// Longest time from the call to its end, all requests and the pauses between them included.
    /// Default: no limit, as an operation may be a workflow that takes days.
    pub schedule_to_close: Option<Duration>,
    /// Longest time until the handler has accepted the call; an operation that is done at once has
    /// ended by then. Default 5 min: without a handler the call ends then, instead of never.
    pub schedule_to_start: Duration,
    /// The event that a cancelled call waits for.
    pub cancellation: NexusCancellation,
    /// `true` if the operation may run twice without harm. Default `true`. With `false`, the
    /// message for the model after a timeout says that the call may have taken effect; the handler
    /// must prevent repeated effects, by the idempotency key.
    pub idempotent: bool,
}

/// The event that a cancelled call of a Nexus operation waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NexusCancellation {
    /// The end of the operation, with any result.
    #[default]
    Completed,
    /// The handler's acceptance of the cancel request.
    Requested,
    /// None: the cancel request is sent, and the run continues.
    Sent,
    /// None: no cancel request is sent, and the operation continues.
    Abandoned,
}

impl NexusOperation {
    /// Creates the options for this operation of this service at this endpoint, with the defaults.
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

    /// Sets the longest time until the handler has accepted the call.
    #[must_use]
    pub fn schedule_to_start(mut self, longest: Duration) -> Self {
        self.schedule_to_start = longest;
        self
    }

    /// Sets the event that a cancelled call waits for.
    #[must_use]
    pub fn cancellation(mut self, cancellation: NexusCancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Sets the `idempotent` flag: `true` if the operation may run twice without harm.
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }
}
