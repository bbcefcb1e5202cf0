//! Effects that the loop requests from a host, and the result of a tool call.
//!
//! # Design
//! **Effect ids** become activity ids: `<run>-<turn>-model` and `<run>-<turn>-tool-<n>`, where `n`
//! counts the tool calls of the response from 0. They are readable in the UI and identify the same
//! call in every attempt. `<run>` is eight characters drawn from the named random stream
//! `temporal-agents/run`: several runs in one workflow have different ids, and the random draws of
//! the author's own code do not change.

use std::fmt;

use serde_json::{Map, Value};

use crate::{
    agent::AgentInfo,
    tool::{CallInfo, McpServer, ToolDef},
    wire::{
        Item, McpQuestion, PassedGate, SideData, ToolOutput, TraceSettings, Usage,
        kept_decision::NewDecision,
        mcp_call::{McpSession, McpTarget},
        remote_call::RemoteTarget,
        tool_call_meta::ToolCallMeta,
    },
};

/// The id of an effect, unique in its run: short ASCII that never contains text from a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId {
    id: String,
    /// Length of the prefix that all effects of the same nested run share.
    path: usize,
}

impl EffectId {
    pub(in crate::drive) fn new(path: &str, name: impl fmt::Display) -> Self {
        Self { id: format!("{path}{name}"), path: path.len() }
    }

    /// Returns the id.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// Returns the id of a repetition of the same effect; `time` counts the repetitions from 1.
    pub(in crate::drive) fn again(&self, time: u32) -> Self {
        Self { id: format!("{}-again-{time}", self.id), path: self.path }
    }

    /// Returns the prefix of the ids of all effects of the same nested run; empty for the outermost
    /// run.
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
pub struct SessionEffect {
    /// Name of the store.
    pub store: String,
    /// Id of the session in the store.
    pub session_id: String,
    /// The action: a read or a write.
    pub action: SessionAction,
    /// The agent whose turn it is, or will be, and the turn.
    pub agent: AgentInfo,
}

/// An action on a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionAction {
    /// Returns the items of the session, oldest first; with a limit, only the latest ones.
    Read {
        /// Maximum number of items; `None` means all.
        limit: Option<u32>,
    },
    /// Adds items at the end of the session.
    Add {
        /// The items, oldest first.
        items: Vec<Item>,
    },
}

/// A tool call for the host to make.
#[derive(Debug)]
pub struct ToolEffect<'a> {
    /// The tool; its binding determines where it runs. Never a tool that runs in the loop itself,
    /// as inline tools and agents do.
    pub tool: &'a ToolDef,
    /// Names, ids and turn of the call.
    pub info: CallInfo,
    /// Id of the effect in the run.
    pub id: EffectId,
    /// The arguments, already checked against the tool's schema.
    pub arguments: Map<String, Value>,
    /// The keys of the run context that the tool declares, with their values.
    pub context: Map<String, Value>,
    /// The MCP server's tool to call; `None` for any other tool.
    pub mcp: Option<McpTarget>,
    /// The session of the call, if that server is stateful.
    pub mcp_session: Option<McpSession>,
    /// The provider's tool to call; `None` for any other tool.
    pub remote: Option<RemoteTarget>,
    /// Session, turn and ids of the call, without the id of the run, which the host knows.
    pub meta: ToolCallMeta,
    /// `true` if any failure of the call ends the run.
    pub fails_run: bool,
    /// `true` if the run has untrusted content, and so has the run of an agent in a child workflow.
    pub untrusted: bool,
    /// The gates that the run of an agent in a child workflow obeys; none for other tools.
    pub gates: Vec<PassedGate>,
    /// The user of the run, also of the run of an agent in a child workflow.
    pub user: Option<String>,
    /// Settings of the trace of the run, if it has some; also for the run of an agent in a child
    /// workflow.
    pub trace: Option<Box<TraceSettings>>,
}

/// A request to an MCP server: for its tools, or for a new session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpEffect<'a> {
    /// The MCP server.
    pub server: &'a McpServer,
    /// Id of the effect in the run.
    pub id: EffectId,
    /// Name of the agent that the server belongs to.
    pub agent: &'a str,
    /// The turn, counted from 1.
    pub turn: u32,
    /// The session of the request, if the server is stateful.
    pub session: Option<&'a McpSession>,
}

/// A search for the toolsets and devices that are selected for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolsetsEffect<'a> {
    /// Id of the effect in the run.
    pub id: EffectId,
    /// Their names, each once.
    pub names: Vec<String>,
    /// The user who must own a device; `None` = nobody in particular.
    pub user: Option<String>,
    /// Name of the agent with which the run begins.
    pub agent: &'a str,
}

/// A request for the decisions that are kept for a user, or to keep one more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDecisionsEffect<'a> {
    /// Id of the effect in the run.
    pub id: EffectId,
    /// The user.
    pub user: String,
    /// The decision to keep; `None` = the request reads.
    pub keep: Option<NewDecision>,
    /// Name of the agent whose turn it is.
    pub agent: &'a str,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// The output for the model.
    pub output: ToolOutput,
    /// Changes to the run context, as a JSON merge patch.
    pub context_patch: Option<Value>,
    /// Data that the model does not receive.
    pub side_data: Option<Box<SideData>>,
    /// Usage of a run that the call executed.
    pub usage: Usage,
    /// The value that an MCP server requests from people. If it is set, the output is ignored.
    pub question: Option<McpQuestion>,
}

impl ToolAnswer {
    /// Creates a result with an output only.
    pub fn new(output: ToolOutput) -> Self {
        Self { output, context_patch: None, side_data: None, usage: Usage::default(), question: None }
    }
}
