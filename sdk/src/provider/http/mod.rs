//! Code that the HTTP providers share: the exchange, the parts that a call adds to a request, and
//! the interpretation of a response.
//!
//! | file | contents |
//! |---|---|
//! | `server` | the configuration of a server: address, headers, client |
//! | `transport` | one exchange: a request, and its response |
//! | `streaming` | a call whose answer arrives in parts |
//! | `outgoing` | the parts that settings add to a request; refuses what an API does not have |
//! | `answer` | a whole response: its object, or the failure that it represents |
//! | `body` | the bytes of a response, up to a limit |
//! | `sse` | the events of a streamed response |
//! | `silence` | the time for which a stream may be silent |
//! | `refusals` | the forms of a streamed request that servers accept, remembered by model |
//! | `refused_place` | the part of a request that a provider refuses |
//! | `classify`, `advice`, `redact`, `address` | a failed exchange to a `ModelError` |

pub(crate) mod address;
pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod classify;
pub(crate) mod outgoing;
pub(crate) mod redact;
pub(crate) mod refusals;
#[cfg(any(feature = "openai", feature = "anthropic"))]
pub(crate) mod refused_place;
pub(crate) mod server;
pub(crate) mod silence;
pub(crate) mod sse;
pub(crate) mod streaming;
pub(crate) mod transport;
