//! Code that the HTTP providers share: the parts that a call adds to a request, and the
//! interpretation of a response.
//!
//! | file | contents |
//! |---|---|
//! | `outgoing` | the parts that settings add to a request, and the refusal of what an API does not have |
//! | `answer` | a whole response: its object, or the failure that it represents |
//! | `body` | the bytes of a response, up to a limit |
//! | `classify`, `advice`, `redact`, `address` | from a failed exchange to a `ModelError` without secrets |

pub(in crate::worker) mod address;
pub(in crate::worker) mod advice;
pub(in crate::worker) mod answer;
pub(in crate::worker) mod body;
pub(in crate::worker) mod classify;
pub(in crate::worker) mod outgoing;
pub(in crate::worker) mod redact;
