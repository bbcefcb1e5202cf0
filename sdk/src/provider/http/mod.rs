//! What the providers that speak HTTP share: what a call adds to a request, and what an answer stands for.
//!
//! | file | what it holds |
//! |---|---|
//! | `outgoing` | what settings add to a request, and the refusal of what an API does not have |
//! | `answer` | a whole answer: its object, or the failure it stands for |
//! | `body` | the bytes of an answer, up to a limit |
//! | `classify`, `advice`, `redact`, `address` | from a failed exchange to a `ModelError` without secrets |

pub(crate) mod address;
pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod classify;
pub(crate) mod outgoing;
pub(crate) mod redact;
