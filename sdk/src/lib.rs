//! Durable AI agents: the loop runs in a Temporal workflow; every model call, and every tool that
//! does I/O, is an activity. A run survives crashes, deploys and weeks of waiting.
//!
//! # The smallest program
//!
//! ```no_run
//! use temporal_agents::{Agent, AgentsPlugin, Runner, provider::OpenAi, tool};
//! use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};
//! use temporalio_macros::{workflow, workflow_methods};
//! use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkflowContext, WorkflowResult};
//!
//! /// Current weather for one city.
//! #[tool(start_to_close = "20s")]
//! async fn get_weather(city: String) -> String {
//!     format!("{city}: 12 degrees, clear") // runs in an activity: call your weather service here
//! }
//!
//! fn travel_desk() -> Agent {
//!     Agent::new("travel desk")
//!         .model("gpt-5-mini")
//!         .instructions("You help travellers.")
//!         .tool(get_weather)
//! }
//!
//! #[workflow]
//! #[derive(Default)]
//! pub struct Support;
//!
//! #[workflow_methods]
//! impl Support {
//!     #[run(name = "support")]
//!     pub async fn run(ctx: &mut WorkflowContext<Self>, ask: String) -> WorkflowResult<String> {
//!         Ok(Runner::new(ctx).run(&travel_desk(), ask).await?.final_output)
//!     }
//! }
//!
//! async fn worker(url: Url) -> Result<(), Box<dyn std::error::Error>> {
//!     let models = OpenAi::from_env()?; // OPENAI_API_KEY
//!     let plugin = AgentsPlugin::new(models).agent(travel_desk);
//!     let mut options = WorkerOptions::new("support").register_workflow::<Support>()?.build();
//!     plugin.install(&mut options)?; // checks the agents, registers what they need
//!
//!     let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
//!     let client = Client::new(connection, ClientOptions::new("default").build())?;
//!     let runtime = Runtime::from_current_tokio(Default::default())?;
//!     Worker::new(&runtime, client, options)?.run().await?;
//!     Ok(())
//! }
//! # fn main() {}
//! ```
//!
//! ```sh
//! temporal server start-dev
//! OPENAI_API_KEY=... cargo run
//! temporal workflow execute --type support --task-queue support --input '"Is it warm in Oslo?"'
//! ```
//!
//! Without Temporal, `inline::InlineRunner` runs the same agents on plain tokio, and
//! `in_process::InProcessRuns` as tasks whose state is in a database; inside one activity,
//! `agentic_session::AgenticSession` runs them. [`guide::hosts`] compares them.
//!
//! # The guide
//!
//! [`guide`] has a chapter for each subject:
//!
//! - **Begin**: [a first agent](guide::first_agent), [hosts](guide::hosts),
//!   [testing](guide::testing)
//! - **Agents**: [tools](guide::tools), [failures](guide::failures), [handoffs](guide::handoffs),
//!   [guardrails](guide::guardrails), [approvals](guide::approvals), [MCP](guide::mcp),
//!   [agents as data](guide::agents_as_data)
//! - **Conversations**: [memory](guide::memory), [long runs and chats](guide::long_runs)
//! - **In production**: [providers](guide::providers), [secrets](guide::secrets),
//!   [deploying](guide::deploying), [a service](guide::service), [watching](guide::watching),
//!   [streams](guide::streams),
//!   [transcripts](guide::transcripts), [traces](guide::tracing),
//!   [metrics and cost](guide::metrics)
//! - **In other workflows**: [agentic sessions](guide::agentic_sessions)
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`agent`] | agents, instructions, handoffs, guardrails, hooks, output types |
//! | [`mod@tool`] | tools: description, schema, body, options, errors; the run context |
//! | [`run`] | one run: input, configuration, result, [`RunError`], sessions |
//! | [`workflow`] | the durable host: [`Runner`], `AgentInbox`, the ready-made workflows, options |
//! | [`wire`] | the contract between workflow and worker: the messages that history records |
//! | `worker` | a worker: [`AgentsPlugin`], `ToolRegistry`, codecs (from here: feature `worker`) |
//! | `provider` | [`Model`], [`ModelProvider`], the providers for OpenAI, Anthropic and the crate genai |
//! | `inline`, `agentic_session` | the two other hosts: plain tokio, and one activity |
//! | `client` | starts runs; handles for programs outside of a workflow, streams, transcripts |
//! | `http` | a service of runs over HTTP (feature `http`) |
//! | `in_process` | runs as tasks of a process, in a database (features `postgres`, `sqlite`) |
//! | `mcp` | transports to MCP servers (feature `mcp`) |
//! | `metrics` | metrics of runs, in the exporter of the Temporal runtime |
//! | `projection` | runs and their events as rows (features `postgres`, `sqlite`) |
//! | `trace` | traces of runs (feature `otel`) |
//! | `store` | traits of stores: sessions, agents as data, spilled outputs; `SqlStore` |
//! | [`guide`] | the guide |
//!
//! The names that every program uses are at the root. [`Resources`] declares the models, states,
//! stores and MCP servers that a worker, an inline runner or a tool registry has.
//!
//! # Two halves
//!
//! The *workflow half* ([`agent`], [`mod@tool`], [`run`], [`workflow`], [`wire`]) is deterministic
//! and does no I/O; the *worker half* is all that does I/O: activities, the other hosts, clients.
//! [`wire`] is the interface between them. With
//! `default-features = false, features = ["macros"]` a crate of agents, tools and workflows builds
//! without an HTTP client, and without the Temporal SDK's worker.
//!
//! # What is in history
//!
//! Prompts, tool arguments and results are recorded in the workflow's history; API keys of
//! providers are not. [Encrypt payloads with a codec](guide::secrets) if the server's operators
//! must not read them.
//!
//! # Determinism
//!
//! Functions of an agent (computed instructions, hooks, filters, predicates, pure guardrails,
//! inline tools) run in the workflow, again on replay. They must read only their arguments: no
//! clock, no randomness, no I/O. Activity tools have no such limits.
//!
//! # Errors
//!
//! A run that fails returns a [`RunFailure`]: the [`RunError`], and the state of the run at its
//! end. In a workflow it is a [`RunFailed`] with the same fields, which `?` turns into a failed
//! workflow of type `AgentsWorkflowError`.
//! [`guide::failures`] describes which component retries which failure.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `macros` | yes | [`macro@tool`], [`tools`], [`guardrail`], [`agent_handlers`] |
//! | `worker` | yes | the worker half (see above); without it no I/O crate is built |
//! | `openai` | yes | the OpenAI provider, `provider::OpenAi` |
//! | `anthropic` | no | the Anthropic provider, `provider::Anthropic` |
//! | `genai` | no | `provider::Genai`: Anthropic, Gemini and others |
//! | `http` | no | `http::AgentsService`: runs over HTTP (OpenAPI), AG-UI, the AI SDK, a page |
//! | `postgres` | no | `store::SqlStore` in PostgreSQL, `projection`, `in_process` |
//! | `otel` | no | `trace`: traces of OpenTelemetry, live and from history |
//! | `redis` | no | `remote::transport::RedisTransport`: tools and tokens over Redis streams |
//! | `sqlite` | no | `store::SqlStore` in a file of SQLite, `projection`, `in_process` |
//! | `mcp` | no | tools of MCP servers, `mcp::McpTransport` |
//! | `nexus` | no | Nexus operations as tools, `tool::NexusOperation` (experimental) |
//! | `compression` | no | `worker::codec::ZstdCodec`, which compresses payloads |
//! | `plugin` | no | Temporal's plugin trait for `AgentsPlugin` (experimental) |

pub mod agent;
pub mod gate;
pub mod guide;
pub mod run;
pub mod tool;
pub mod wire;
pub mod workflow;

#[cfg(feature = "worker")]
mod activity;
#[cfg(feature = "worker")]
pub mod agentic_session;
#[cfg(feature = "worker")]
pub mod client;
#[cfg(feature = "worker")]
mod conversations;
#[cfg(feature = "worker")]
mod deltas;
#[cfg(feature = "worker")]
mod events;
#[cfg(feature = "http")]
pub mod http;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub mod in_process;
#[cfg(feature = "worker")]
pub mod inline;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "worker")]
pub mod metrics;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub mod projection;
#[cfg(feature = "worker")]
pub mod provider;
#[cfg(feature = "worker")]
pub mod remote;
#[cfg(feature = "worker")]
mod replay;
#[cfg(feature = "worker")]
mod resources;
#[cfg(feature = "worker")]
mod secret;
#[cfg(feature = "worker")]
pub mod store;
#[cfg(feature = "otel")]
pub mod trace;
#[cfg(feature = "worker")]
pub mod worker;

#[cfg(feature = "macros")]
pub use temporal_agents_macros::{agent_handlers, guardrail, tool, tools};

pub use temporal_agents_core::{
    Agent, Handoff, Instructions, RunConfig, RunContext, RunError, RunFailure, RunResult, State, Tool, ToolContext,
    ToolDef, ToolError, WorkflowToolContext, worker_env,
};
pub use workflow::{ActivityBackedModel, ModelActivityOptions, RunFailed, Runner};
#[cfg(feature = "worker")]
pub use {
    provider::{Model, ModelProvider},
    resources::Resources,
    worker::AgentsPlugin,
};

/// Parts for the other crates of this repository. Not covered by semantic versioning.
#[cfg(feature = "worker")]
#[doc(hidden)]
pub mod __internal {
    pub mod transcript {
        pub use crate::client::transcript::request::*;
    }
    pub mod replay {
        pub use crate::replay::{Command, Entry, Journal, Record, ReplayChange, explain, read};
    }
}

/// Items that the expansions of the macros refer to; not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use temporal_agents_core::__private::*;
    pub use temporalio_workflow::{
        SyncWorkflowContext, WorkflowContext, WorkflowContextView, common::data_converters::RawValue,
    };

    pub use crate::workflow::{
        AgentInbox, HasAgentInbox,
        inbox::{agent_decide, agent_supply_output},
        replay_journal::{ReplayJournal, ReplayJournalKey, ReplayNote},
        stream::{PollResult, stream_admits_poll, stream_offset, stream_poll, stream_publish, stream_read},
    };
}
