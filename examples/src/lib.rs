//! What the runnable examples are made of; the tests use it, too.

pub mod quickstart;
pub mod stage;
