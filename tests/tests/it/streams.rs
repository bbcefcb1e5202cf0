//! Streams of workflows: hosted here and in Python, with clients of both.

pub(crate) mod crowds;
mod hosted;
mod python;
mod ready_made;
mod strangers;
pub(crate) mod support;
mod used_up;
mod waiting;
