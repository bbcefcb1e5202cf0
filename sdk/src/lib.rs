//! Durable AI agents: the loop runs in a Temporal workflow, every model call and every tool that touches the world is
//! an activity.
//!
//! The way through this crate, from what an author writes to what happens:
//!
//! | module | what it holds |
//! |---|---|
//! | [`agent`] | agents, instructions, handoffs, output types, the graph they form |
//! | [`tool`] | tools: description, schema, body |
//! | [`wire`] | the contract between workflow and worker |

pub mod agent;
pub mod drive;
pub mod engine;
pub mod tool;
pub mod wire;
pub mod workflow;
#[cfg(feature = "worker")]
pub mod worker;

#[cfg(feature = "macros")]
pub use temporal_agents_macros::tool;

pub use agent::{Agent, Handoff, Instructions};
pub use workflow::{ActivityBackedModel, ModelActivityOptions, Runner};
pub use tool::{RunContext, State, Tool, ToolContext, ToolDef, ToolError};
#[cfg(feature = "worker")]
pub use worker::{Model, ModelProvider};

/// What the macros' expansions name; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use std::{boxed::Box, format, string::String, time::Duration, vec::Vec};

    pub use futures::future::BoxFuture;
    pub use schemars;
    pub use serde;

    pub use crate::tool::{
        FromToolContext, ResultKind, Tool, ToolActivityOptions, ToolContext, ToolDef, ToolError, ValueKind,
    };
}
