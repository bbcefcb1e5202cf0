//! A scenario file as types: the members that `tests/conformance/README.md` lists, without their
//! meaning.
//!
//! An absent member and null are equivalent here, so nearly every member is an `Option`; its
//! default is defined where the member is used. A member that the format does not have is an error
//! and is not ignored.

mod agent;
mod guardrail;
mod handoff;
mod run;
mod scenario;
mod script;
mod tool;

pub(crate) use agent::{Agent, AgentTool, ApprovalAnswer, HostedTool, Instructions, OutputSchema, ToolUse};
pub(crate) use guardrail::{InputGuardrail, OutputGuardrail, ToolGuardrail, ToolGuardrailBehavior};
pub(crate) use handoff::{Handoff, HandoffFilter, HandoffOptions};
pub(crate) use run::{
    CallInputFilter, Collisions, ErrorHandler, ErrorHandlers, ErrorTemplate, NotFound, ReasoningIds, RunConfig,
    RunOptions,
};
pub(crate) use scenario::{Chain, Decision, DecisionKind, FollowUp, MaxTurns, Scenario};
pub(crate) use script::{Response, Responses};
pub(crate) use tool::{Behavior, Condition, Enabled, FailureFunction, FunctionTool, NeedsApproval, is_same};
