//! Durable AI agents: the loop runs in a Temporal workflow, every model call and every tool that touches the world is
//! an activity. A run survives crashes, deploys and weeks of waiting.
//!
//! ```
//! use temporal_agents::{Agent, Runner, tool};
//! use temporalio_macros::{workflow, workflow_methods};
//! use temporalio_sdk::{WorkflowContext, WorkflowResult};
//!
//! /// Current weather for one city.
//! #[tool(start_to_close = "20s")]
//! async fn get_weather(city: String) -> String {
//!     format!("{city}: 12 degrees, clear") // an activity: ask your weather service here
//! }
//!
//! fn travel_desk() -> Agent {
//!     Agent::new("travel desk").model("gpt-5-mini").instructions("You help travellers.").tool(get_weather)
//! }
//!
//! #[workflow]
//! #[derive(Default)]
//! pub struct Support;
//!
//! #[workflow_methods]
//! impl Support {
//!     #[run(name = "support")]
//!     pub async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
//!         Ok(Runner::new(ctx).run(&travel_desk(), question).await?.final_output)
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! The worker around it is in the README, which is a program that compiles, too; `cargo run --bin quickstart` runs a larger one.
//!
//! From what an author writes to what happens:
//!
//! | module | what it holds |
//! |---|---|
//! | [`agent`] | agents, instructions, handoffs, output types, the graph they form |
//! | [`mod@tool`] | tools: description, schema, body |
//! | [`workflow`] | the durable host: [`Runner`], options of the model activity |
//! | [`worker`] | what runs in activities: providers, the model activity, registration (feature `worker`) |
//! | [`wire`] | the contract between the two |
//! | [`engine`] | the decisions of the loop, pure and serialisable |
//! | [`drive`] | the one loop, and the `Host` trait it asks for effects |
//!
//! # Features
//! * `macros` (default): [`macro@tool`], [`tools`], [`guardrail`], [`agent_handlers`].
//! * `worker` (default): the worker half. Without it the crate builds without any I/O crate.
//! * `openai` (default): the OpenAI provider, `worker::OpenAi`.
//! * `compression`: `worker::codec::ZstdCodec`, which compresses payloads.
//! * `nexus`: Nexus operations as tools, `tool::NexusOperation` (experimental upstream).
//! * `plugin`: `AgentsPlugin` as a Temporal worker plugin (experimental upstream).

pub mod agent;
pub mod drive;
pub mod engine;
pub mod guide;
pub mod tool;
pub mod wire;
#[cfg(feature = "worker")]
pub mod worker;
pub mod workflow;

#[cfg(feature = "macros")]
pub use temporal_agents_macros::{agent_handlers, guardrail, tool, tools};

pub use agent::{Agent, Handoff, Instructions};
pub use drive::{RunConfig, RunFailure, RunResult};
pub use engine::RunError;
pub use tool::{RunContext, State, Tool, ToolContext, ToolDef, ToolError, WorkflowToolContext};
#[cfg(feature = "worker")]
pub use worker::{AgentsPlugin, Model, ModelProvider};
pub use workflow::{ActivityBackedModel, ModelActivityOptions, Runner};

/// A reference to an environment variable of the worker, in place of a secret: `worker_env!("CRM_TOKEN")`; see [`wire::worker_env`].
///
/// ```
/// use serde_json::json;
/// use temporal_agents::{Agent, worker_env};
///
/// let crm = json!({"type": "mcp", "server_label": "crm", "server_url": "https://crm.test", "authorization": worker_env!("CRM_TOKEN")});
/// let desk = Agent::new("desk").model("gpt-5").hosted_tool("crm", crm);
/// # let _ = desk;
/// ```
///
/// The worker says where its value may go:
/// `AgentsPlugin::new().allow_env_for(Destination::hosted_tool_host("crm.test"), ["CRM_TOKEN"])`.
#[macro_export]
macro_rules! worker_env {
    ($name:literal) => {
        $crate::wire::worker_env($name)
    };
}

/// What the macros' expansions name; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use std::{boxed::Box, format, string::String, sync::OnceLock, time::Duration, vec::Vec};

    pub use futures::future::{BoxFuture, LocalBoxFuture};
    pub use schemars;
    pub use serde;
    pub use temporalio_workflow::{SyncWorkflowContext, WorkflowContextView};

    use crate::wire::ToolOutput;
    pub use crate::{
        agent::{
            Check, GuardrailInput, InputGuardrail, OutputGuardrail,
            guardrail_fn::{
                ActivityReturn, GuardrailReturn, guardrail_context, input_activity, output_activity, output_text,
                parse_output, pure_input, pure_output,
            },
        },
        tool::{
            FromToolContext, ResultKind, State, Tool, ToolActivityOptions, ToolArgument, ToolContext, ToolDef,
            ToolError, ValueKind, WorkflowToolContext,
        },
        wire::{AgentDecision, AgentState, DecisionReply, SuppliedOutput},
        workflow::{AgentInbox, HasAgentInbox},
    };

    /// The body of an activity tool.
    pub type ActivityFn<A> = for<'a> fn(&'a mut ToolContext, A) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// The body of a workflow tool.
    pub type WorkflowFn<A> =
        for<'a> fn(&'a mut WorkflowToolContext, A) -> LocalBoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// The body of an inline tool.
    pub type InlineFn<A> = fn(&mut ToolContext, A) -> Result<ToolOutput, ToolError>;
}
