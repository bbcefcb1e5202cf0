//! The check that the worker reaches the MCP servers of its agents.

use std::sync::Arc;

use super::{AgentsPlugin, InstallIssue};
use crate::agent::AgentDef;

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
