//! The MCP servers of a worker: the check that it reaches those of its agents, and their sessions.

use std::sync::Arc;

use temporal_agents_core::agent::AgentDef;
#[cfg(feature = "mcp")]
use temporalio_sdk::WorkerOptions;

use super::{AgentsPlugin, InstallIssue};
#[cfg(feature = "mcp")]
use crate::activity::{heartbeat::HeartbeatSender, registration::NamedActivities};

#[cfg(feature = "mcp")]
impl AgentsPlugin {
    /// Returns `true` if the worker reaches MCP servers.
    pub(in crate::worker) fn has_mcp_servers(&self) -> bool {
        has_any(self)
    }

    /// Returns a copy of the plugin, whose worker holds sessions with stateful MCP servers, and the
    /// options of the worker that serves these sessions on this task queue.
    pub(in crate::worker) fn with_sessions(&self, task_queue: String) -> (Self, WorkerOptions) {
        let mut plugin = self.clone();
        plugin.resources.mcp.serve(crate::mcp::McpSessions::on(task_queue.clone()));
        let mut options = WorkerOptions::new(task_queue).build();
        let conversations = plugin.effective_cache();
        options.register_activities(NamedActivities(crate::mcp::activities(
            &plugin.resources.mcp,
            &conversations,
            &HeartbeatSender::default(),
            plugin.metrics.as_ref(),
        )));
        (plugin, options)
    }
}

/// Returns `true` if the worker reaches any server.
pub(super) fn has_any(plugin: &AgentsPlugin) -> bool {
    #[cfg(feature = "mcp")]
    return !plugin.resources.mcp.is_empty();
    #[cfg(not(feature = "mcp"))]
    {
        let _ = plugin;
        false
    }
}

/// Adds to `issues` those of MCP servers. A server that is bound to another task queue belongs to
/// another worker, and is not checked.
pub(super) fn check(
    plugin: &AgentsPlugin,
    agents: &[&Arc<AgentDef>],
    task_queue: &str,
    issues: &mut Vec<InstallIssue>,
) {
    for agent in agents {
        for server in &agent.mcp_servers {
            let options = [server.listing(), server.calling()];
            let is_here = options.iter().any(|one| one.task_queue.as_deref().is_none_or(|queue| queue == task_queue));
            let (agent, name) = (agent.name.clone(), server.name().to_owned());
            if is_here && !reaches(plugin, server.name()) {
                issues.push(InstallIssue::MissingMcpServer { agent, server: name });
            } else if is_here && server.session_options().is_some() && !holds_sessions(plugin) {
                issues.push(InstallIssue::StatefulMcpServer { agent, server: name });
            }
        }
    }
    #[cfg(feature = "mcp")]
    for server in plugin.resources.mcp.iter().map(|server| server.server()).filter(|name| !is_name(name)) {
        issues.push(InstallIssue::McpServerName { server: server.to_owned() });
    }
}

fn reaches(plugin: &AgentsPlugin, server: &str) -> bool {
    #[cfg(feature = "mcp")]
    return plugin.resources.mcp.get(server).is_some();
    #[cfg(not(feature = "mcp"))]
    {
        let _ = (plugin, server);
        false
    }
}

/// Returns `true` if the name can be a part of an activity's type.
#[cfg(feature = "mcp")]
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn holds_sessions(plugin: &AgentsPlugin) -> bool {
    #[cfg(feature = "mcp")]
    return plugin.resources.mcp.sessions().are_served();
    #[cfg(not(feature = "mcp"))]
    {
        let _ = plugin;
        false
    }
}
