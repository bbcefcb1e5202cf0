//! The observations, in the terms of the format.

mod failure;
mod items;
mod outcome;

pub(crate) use failure::failed;
pub(crate) use outcome::{finished, interrupted, pause};
