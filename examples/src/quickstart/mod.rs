//! The first program to run: a travel desk on a real Temporal server.
//!
//! [`trip`] holds the agents, the tools and the workflow, which is all that an author writes. The rest is what makes the
//! program a demonstration: a scripted model, and a proof that nothing is lost in a crash.

pub mod crash;
pub mod model;
pub mod trip;
pub mod worker;
