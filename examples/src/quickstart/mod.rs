//! The first program to run: a travel desk on a real Temporal server.
//!
//! [`trip`] holds the agents, the tools and the workflow, which is all that an author writes. The
//! other modules are for the demonstration: a scripted model, and a proof that a crash loses
//! nothing.

pub mod crash;
pub mod model;
pub mod traces;
pub mod trip;
pub mod worker;
