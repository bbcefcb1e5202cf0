//! The tools that a run may use beyond those of its agents, frozen when they become known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mcp_call::McpTool;

/// The tools that a run may use beyond those of its agents. It is a part of the run's state, moves
/// with it, and is never read again from where it came from.
///
/// JSON: members that are empty are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolsetSnapshot {
    /// The tools of MCP servers as last listed: by the name of the server, followed by a space and
    /// the JSON of its connection's argument if it has one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp: BTreeMap<String, Vec<McpTool>>,
}

impl ToolsetSnapshot {
    /// Returns `true` if the snapshot has no tools.
    pub fn is_empty(&self) -> bool {
        self.mcp.is_empty()
    }
}
