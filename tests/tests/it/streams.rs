//! Streams of workflows: hosted here and in Python, with clients of both.

mod crowds;
mod hosted;
mod python;
mod ready_made;
mod strangers;
mod support;
mod waiting;
