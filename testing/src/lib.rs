//! Tests of agents without a key: scripted models, a real dev server, replay of every run.
//!
//! | module | what it holds |
//! |---|---|
//! | [`fake_model`] | a model that answers from a script and remembers what it was asked |
//! | [`environment`] | server, client and worker for one test; replays every run |
//! | [`dev_server`] | a real Temporal dev server as a child process, found or fetched |
//! | [`conformance`] | plays the conformance suite on every host |
//! | [`RecordedTools`] | tools that remember what they were called with |
//! | [`history`] | workflow histories as JSON, as the CLI and UI export them |

pub mod conformance;
pub mod dev_server;
pub mod environment;
pub mod fake_model;
pub mod history;
mod recorded_tools;
mod replay;

pub use dev_server::{DevServer, DevServerError, DevServerOptions};
pub use environment::{AgentEnvironment, FinishedRun};
pub use fake_model::FakeModel;
pub use recorded_tools::{RecordedCall, RecordedTools};
pub use replay::{ReplayError, replay, replay_without_cache};

/// The README, whose programs are compiled, and whose test is run, as documentation tests. Here, because this crate
/// sees all that they use.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
