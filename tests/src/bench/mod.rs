//! The workloads of the benchmarks: an agent, the same work without agents, and a model that
//! answers immediately.
//!
//! | module | content |
//! |---|---|
//! | [`spec`] | the work of one run |
//! | [`script`] | the responses of the model and the results of the tool |
//! | [`model`] | the scripted model as a provider |
//! | [`agents`] | the agents and their tool |
//! | [`agent_bench`] | the workflow that runs them |
//! | [`endless`] | a workflow that runs one of them for thousands of turns, and continues as new |
//! | [`burst`] | a workflow with many calls of the tool in one response |
//! | [`stream`] | a workflow whose model streams its answer |
//! | [`streaming_model`] | that model as a provider |
//! | [`transport`] | the transports of deltas |
//! | [`floor`] | workflows that do the same work without agents: their cost is that of Temporal |
//! | [`worker`] | a worker that serves all of them |
//!
//! The names of workflows, agents and ids are a contract: programs in other languages do the same
//! work under the same names, so that one client can measure all of them.

pub mod agent_bench;
pub mod agents;
pub mod burst;
pub mod endless;
pub mod floor;
pub mod model;
pub mod script;
pub mod spec;
pub mod stream;
pub mod streaming_model;
pub mod transport;
pub mod worker;

pub use agent_bench::AgentBench;
pub use burst::{Burst, BurstBench};
pub use endless::{Endless, EndlessBench};
pub use floor::{FloorBare, FloorConv, ParkedBare, ParkedConv};
pub use spec::{Kind, Spec};
pub use stream::{StreamBench, Streamed};
pub use transport::Transport;
