//! Tests of agents without a key: scripted models, a real dev server, replay of every run.
//!
//! | module | content |
//! |---|---|
//! | [`fake_model`] | a model that answers from a script and records its calls |
//! | [`environment`] | server, client and worker for one test; replays every run |
//! | `session_environment` | agentic sessions without a server: their attempts and checkpoints |
//! | [`dev_server`] | a real Temporal dev server as a child process, found or fetched |
//! | [`PostgresServer`] | a real PostgreSQL server as a child process |
//! | [`ServerAddress`] | the address of a server in a flag or a variable: `HOST:PORT` or a URL |
//! | [`conformance`] | plays the conformance suite on every host |
//! | [`RecordedTools`] | tools that record their calls |
//! | [`MemoryAgentStore`] | a store of agents as data, in memory |
//! | [`ReplayCheck`], [`replay()`] | replay of recorded and open workflows against this build |
//! | [`history`] | workflow histories as JSON, as the CLI and UI export them |
//!
//! `session_environment` needs the feature `activity-environment`.

mod agent_store;
mod child_server;
pub mod conformance;
pub mod dev_server;
pub mod environment;
pub mod fake_model;
pub mod history;
mod postgres;
mod recorded_tools;
mod redis;
mod replay;
mod server_address;
#[cfg(feature = "activity-environment")]
pub mod session_environment;
mod skipped;

pub use agent_store::MemoryAgentStore;
pub use dev_server::{DevServer, DevServerError, DevServerOptions};
pub use environment::{AgentEnvironment, FinishedRun};
pub use fake_model::FakeModel;
pub use postgres::{PostgresError, PostgresServer};
pub use recorded_tools::{RecordedCall, RecordedTools};
pub use redis::{RedisServer, RedisServerError};
pub use replay::{
    CheckFailure, CheckedHistory, ReplayChange, ReplayCheck, ReplayError, ReplayReport, ReplaySourceError, replay,
    replay_without_cache,
};
pub use server_address::{ServerAddress, ServerAddressError};
#[cfg(feature = "activity-environment")]
pub use session_environment::SessionEnvironment;
#[doc(hidden)]
pub use skipped::{skip, skip_entry_point};

/// The README. Its programs are compiled, and its tests are run, as documentation tests. They are
/// here because this crate depends on everything that they use.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

/// The chapters of the guide, tested here for the same reason.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../sdk/src/guide/first_agent.md")]
    struct FirstAgent;
    #[doc = include_str!("../../sdk/src/guide/hosts.md")]
    struct Hosts;
    #[doc = include_str!("../../sdk/src/guide/agents_as_data.md")]
    struct AgentsAsData;
    #[doc = include_str!("../../sdk/src/guide/tools.md")]
    struct Tools;
    #[doc = include_str!("../../sdk/src/guide/failures.md")]
    struct Failures;
    #[doc = include_str!("../../sdk/src/guide/handoffs.md")]
    struct Handoffs;
    #[doc = include_str!("../../sdk/src/guide/guardrails.md")]
    struct Guardrails;
    #[doc = include_str!("../../sdk/src/guide/approvals.md")]
    struct Approvals;
    #[doc = include_str!("../../sdk/src/guide/memory.md")]
    struct Memory;
    #[doc = include_str!("../../sdk/src/guide/long_runs.md")]
    struct LongRuns;
    #[doc = include_str!("../../sdk/src/guide/mcp.md")]
    struct Mcp;
    #[doc = include_str!("../../sdk/src/guide/remote_tools.md")]
    struct RemoteTools;
    #[doc = include_str!("../../sdk/src/guide/agentic_sessions.md")]
    struct AgenticSessions;
    #[doc = include_str!("../../sdk/src/guide/providers.md")]
    struct Providers;
    #[doc = include_str!("../../sdk/src/guide/secrets.md")]
    struct Secrets;
    #[doc = include_str!("../../sdk/src/guide/deploying.md")]
    struct Deploying;
    #[doc = include_str!("../../sdk/src/guide/testing.md")]
    struct Testing;
    #[doc = include_str!("../../sdk/src/guide/service.md")]
    struct Service;
    #[doc = include_str!("../../sdk/src/guide/watching.md")]
    struct Watching;
    #[doc = include_str!("../../sdk/src/guide/streams.md")]
    struct Streams;
    #[doc = include_str!("../../sdk/src/guide/transcripts.md")]
    struct Transcripts;
}
