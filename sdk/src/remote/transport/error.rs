//! Errors of streams.

/// The error of a request to a stream.
///
/// # Retries
/// [`Unavailable`](Self::Unavailable) may pass. After [`Ambiguous`](Self::Ambiguous) the entries
/// may have been appended, so look before you append them again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The server is unavailable, or it has refused the request. Nothing was appended.
    #[error("stream {stream:?} is unavailable: {reason}")]
    Unavailable {
        /// Name of the stream.
        stream: String,
        /// The reason.
        reason: String,
    },
    /// The connection was lost after the request was sent: the request may have taken effect.
    #[error("the answer about stream {stream:?} is lost, and the request may have taken effect: {reason}")]
    Ambiguous {
        /// Name of the stream.
        stream: String,
        /// The reason.
        reason: String,
    },
    /// The group does not exist: it was never created, or the server has lost everything.
    #[error("stream {stream:?} has no group {group:?}; create it again")]
    NoGroup {
        /// Name of the stream.
        stream: String,
        /// Name of the group.
        group: String,
    },
    /// The name cannot be that of a stream.
    #[error("{stream:?} is not the name of a stream: 1 to 512 characters, without spaces, NUL and `*?[]`")]
    Name {
        /// The beginning of the name.
        stream: String,
    },
}

impl StreamError {
    /// Returns `true` if the request may have taken effect.
    pub fn is_ambiguous(&self) -> bool {
        matches!(self, Self::Ambiguous { .. })
    }

    /// Returns the error of a request that changes nothing, and so has no effect whatever its
    /// answer is.
    pub(in crate::remote) fn without_effect(self) -> Self {
        match self {
            Self::Ambiguous { stream, reason } => Self::Unavailable { stream, reason },
            error => error,
        }
    }
}
