//! What a host is asked to do, and what a tool call gives.
//!
//! # Design
//! **Effect ids** become activity ids: `<run>-<turn>-model` and `<run>-<turn>-tool-<n>`, `n`
//! counted from 0 over the tool calls of the response. They read well in the UI and name the same
//! call in every attempt. `<run>` is eight characters drawn from the named random stream
//! `temporal-agents/run`: several runs in one workflow have different ids, and the author's own
//! random draws do not shift.

use std::fmt;

use serde_json::{Map, Value};

use crate::{
    agent::AgentInfo,
    tool::{CallInfo, McpServer, ToolDef},
    wire::{Item, McpQuestion, McpSession, McpTarget, ToolOutput, Usage},
};

/// The id of an effect, unique in its run: short ASCII, never text from a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId {
    id: String,
    /// The length of the part that all effects of the same run inside the run have.
    path: usize,
}

impl EffectId {
    pub(in crate::drive) fn new(path: &str, name: impl fmt::Display) -> Self {
        Self { id: format!("{path}{name}"), path: path.len() }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// The id of the same effect, tried once more after so many times.
    pub(in crate::drive) fn again(&self, time: u32) -> Self {
        Self { id: format!("{}-again-{time}", self.id), path: self.path }
    }

    /// What the ids of all effects of the same nested run begin with; empty for the run itself.
    pub fn path(&self) -> &str {
        &self.id[..self.path]
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// A read or a write of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionEffect {
    /// The store.
    pub store: String,
    /// The session.
    pub session_id: String,
    /// What to do.
    pub action: SessionAction,
    /// Whose turn it is, or will be.
    pub agent: AgentInfo,
}

/// What to do with a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionAction {
    /// Give its items, the latest ones if there is a limit; oldest first.
    Read {
        /// Most items.
        limit: Option<u32>,
    },
    /// Add these items at the end.
    Add {
        /// The items.
        items: Vec<Item>,
    },
}

/// A tool call for the host to make.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolEffect<'a> {
    /// The tool; its binding says where it runs. Never one that runs in the loop itself, as inline tools and agents do.
    pub tool: &'a ToolDef,
    /// The call.
    pub info: CallInfo,
    /// Its id in the run.
    pub id: EffectId,
    /// The arguments, checked.
    pub arguments: Map<String, Value>,
    /// The keys of the run context the tool asked for.
    pub context: Map<String, Value>,
    /// Which tool of an MCP server this is; none for any other tool.
    pub mcp: Option<McpTarget>,
    /// The session of the call, where that server is stateful.
    pub mcp_session: Option<McpSession>,
}

/// An MCP server to be asked for its tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpEffect<'a> {
    /// The server.
    pub server: &'a McpServer,
    /// The id of the effect.
    pub id: EffectId,
    /// The agent whose server it is.
    pub agent: &'a str,
    /// The turn.
    pub turn: u32,
    /// The session to ask in, where the server is stateful.
    pub session: Option<&'a McpSession>,
}

/// What a tool call gave.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// What the model gets.
    pub output: ToolOutput,
    /// Changes to the run context.
    pub context_patch: Option<Value>,
    /// What a run behind the call has used.
    pub usage: Usage,
    /// What an MCP server has asked people; the output counts for nothing then.
    pub question: Option<McpQuestion>,
}

impl ToolAnswer {
    /// This output and nothing else.
    pub fn new(output: ToolOutput) -> Self {
        Self { output, context_patch: None, usage: Usage::default(), question: None }
    }
}
