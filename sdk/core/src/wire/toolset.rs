//! The tools that a run may use beyond those of its agents, frozen when they become known.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    absent::{self, is_default},
    mcp_call::McpTool,
    remote_call::RemoteTool,
};

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
    /// The toolsets and devices that were selected for the run, as they were found when it began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selected: Vec<SelectedToolset>,
    /// The user for whom they were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl ToolsetSnapshot {
    /// Returns `true` if the snapshot has no tools.
    pub fn is_empty(&self) -> bool {
        self.mcp.is_empty() && self.selected.is_empty()
    }
}

/// A toolset or a device that was selected for a run by its name, with the tools that it had then.
///
/// JSON: `{"name": "laptop", "transport": "devices", "kind": "device", "tools": [..]}`. Members
/// that this release does not know are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectedToolset {
    /// The name by which it was selected, and by which its transport knows it.
    pub name: String,
    /// Name of the transport that the worker has for it, as in `agents.remote.<transport>`.
    pub transport: String,
    /// The kind of place where its tools run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: ToolsetKind,
    /// Prefix of the names of its tools for a model.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// Its tools.
    #[serde(default, deserialize_with = "absent::list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RemoteTool>,
    /// Who decides about calls of its tools, where that is stricter than the gate of the run. If it
    /// is absent, the gate decides; in a run without a gate, a person decides about each call of a
    /// device, and calls of a provider are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<GateMode>,
    /// Longest time to wait for the result of a call, in seconds; absent = 10 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
}

impl SelectedToolset {
    /// Creates a toolset that a provider offers over this transport.
    pub fn of_provider(
        name: impl Into<String>,
        transport: impl Into<String>,
        tools: impl IntoIterator<Item = RemoteTool>,
    ) -> Self {
        Self {
            name: name.into(),
            transport: transport.into(),
            kind: ToolsetKind::Provider,
            prefix: String::new(),
            tools: tools.into_iter().collect(),
            mode: None,
            timeout_seconds: None,
        }
    }

    /// Creates the tools of a device. For a model, their names begin with `dev_<name>_`.
    pub fn of_device(
        name: impl Into<String>,
        transport: impl Into<String>,
        tools: impl IntoIterator<Item = RemoteTool>,
    ) -> Self {
        let provider = Self::of_provider(name, transport, tools);
        Self { kind: ToolsetKind::Device, prefix: format!("dev_{}_", provider.name), ..provider }
    }

    /// Sets the prefix of the names of its tools.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets who decides about calls of its tools, where that is stricter than the run's gate.
    #[must_use]
    pub fn mode(mut self, mode: GateMode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Sets the longest time to wait for the result of a call, in whole seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
        self.timeout_seconds = Some(timeout.as_secs().max(1));
        self
    }
}

/// The kind of place where the tools of a toolset run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolsetKind {
    /// A provider that serves many runs.
    #[default]
    Provider,
    /// A person's machine. A run with untrusted content never gets it.
    Device,
}

impl<'de> Deserialize<'de> for ToolsetKind {
    /// Reads a kind; one of a later release counts as a device, which has the stricter rules.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match &*String::deserialize(deserializer)? {
            "provider" => Self::Provider,
            _ => Self::Device,
        })
    }
}

/// The one who decides about a call that no rule denies.
///
/// Order: later modes are stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GateMode {
    /// Nobody: the call is made.
    Autonomous,
    /// The [judge](crate::gate::Gate::judge), about each call that no rule speaks of; a person,
    /// about those that need an approval.
    Judge,
    /// A person, about each call that no rule allows.
    ApproveUnknown,
    /// A person, about each call, also one that a rule allows.
    #[default]
    ApproveEach,
}

impl<'de> Deserialize<'de> for GateMode {
    /// Reads a mode; one that this release does not know counts as the strictest.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match &*String::deserialize(deserializer)? {
            "autonomous" => Self::Autonomous,
            "judge" => Self::Judge,
            "approve_unknown" => Self::ApproveUnknown,
            _ => Self::ApproveEach,
        })
    }
}
