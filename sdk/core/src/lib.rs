//! The agent loop of `temporal-agents`: definitions of agents and tools, the engine that decides,
//! the driver that asks a host, and the messages between workflow and worker.
//!
//! Programs depend on `temporal-agents`, which re-exports what they use. This crate is for the
//! crates of that project, which pin its exact version: every module is public here, and none of
//! it is covered by semantic versioning. Types that programs see have a few methods for those
//! crates, which are hidden from the documentation.
//!
//! Nothing in this crate does I/O, reads a clock or an environment, or knows Temporal. The whole
//! crate is deterministic: what happens in a run is a function of its definitions, its state and the
//! answers of the host.

// `#[tool]` and its siblings name this crate's items by the facade's name.
extern crate self as temporal_agents;

pub mod agent;
pub mod drive;
pub mod engine;
pub mod gate;
pub mod run;
pub mod tool;
pub mod wire;

pub use agent::{Agent, Handoff, Instructions};
pub use drive::{RunConfig, RunFailure, RunResult};
pub use engine::RunError;
pub use tool::{RunContext, State, Tool, ToolContext, ToolDef, ToolError, WorkflowToolContext};

/// A reference to an environment variable of the worker, in place of a secret:
/// `worker_env!("CRM_TOKEN")`; see [`wire::worker_env`](fn@wire::worker_env).
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use serde_json::json;
/// use temporal_agents::{Agent, worker_env};
///
/// let crm = json!({
///     "type": "mcp",
///     "server_label": "crm",
///     "server_url": "https://crm.test",
///     "authorization": worker_env!("CRM_TOKEN"),
/// });
/// let desk = Agent::new("desk").model("gpt-5").hosted_tool("crm", crm);
/// # let _ = desk;
/// ```
///
/// The worker allows the variable for a destination:
/// `Resources::new().allow_env_for(Destination::hosted_tool_host("crm.test"), ["CRM_TOKEN"])`.
#[macro_export]
macro_rules! worker_env {
    ($name:literal) => {
        $crate::wire::worker_env($name)
    };
}

/// Items that the expansions of the macros refer to; not for direct use.
#[doc(hidden)]
pub mod __private {
    pub use std::{boxed::Box, format, string::String, sync::OnceLock, time::Duration, vec::Vec};

    pub use futures::future::{BoxFuture, LocalBoxFuture};
    pub use schemars;
    pub use serde;

    pub use crate::{
        agent::{
            GuardrailInput, InputGuardrail, OutputGuardrail,
            guardrail::Check,
            guardrail_fn::{
                ActivityReturn, GuardrailReturn, guardrail_context, input_activity, output_activity, output_text,
                parse_output, pure_input, pure_output,
            },
        },
        tool::{
            BoxError, FromToolContext, NeedsApproval, State, Tool, ToolActivityOptions, ToolArgument, ToolContext,
            ToolDef, ToolError, WorkflowToolContext,
            output::{ResultKind, ValueKind},
        },
        wire::{
            AgentDecision, AgentState, DecisionReply, SuppliedOutput,
            error_debug::{ErrorField, ErrorStructure, Field, OtherField, error_debug, structure_and_message},
        },
    };
    use crate::{tool::ApprovalRule, wire::ToolOutput};

    /// Returns the approval rule of a tool whose attribute has a condition: the condition reads the
    /// arguments that the body receives.
    pub fn asks_for<A: serde::de::DeserializeOwned + 'static>(asks: fn(A) -> bool) -> NeedsApproval {
        NeedsApproval::WhenArguments(ApprovalRule::new(move |_run, arguments| asks(arguments)))
    }

    /// The body of an activity tool.
    pub type ActivityFn<A> = for<'a> fn(&'a mut ToolContext, A) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// The body of a workflow tool.
    pub type WorkflowFn<A> =
        for<'a> fn(&'a mut WorkflowToolContext, A) -> LocalBoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// The body of an inline tool.
    pub type InlineFn<A> = fn(&mut ToolContext, A) -> Result<ToolOutput, ToolError>;
}
