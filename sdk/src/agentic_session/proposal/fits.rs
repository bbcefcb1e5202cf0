//! The runs that a checkpoint of the proposal can keep.
//!
//! It is one conversation, without a record of the calls that have begun. A run that another
//! attempt could not continue from it without harm is refused before its first model call.

use temporal_agents_core::{
    agent::{AgentDef, Graph},
    drive::RunConfig,
    engine::RunError,
};

/// The remedy that ends each message.
pub(in crate::agentic_session) const REMEDY: &str =
    "or set .checkpoint_format(CheckpointFormat::Native), whose checkpoints only this crate reads";

/// Checks that the session's run with this ordinal can continue from a checkpoint of the proposal.
///
/// # Errors
/// [`RunError::User`] with all obstacles.
pub(in crate::agentic_session) fn check_run(
    agent: &AgentDef,
    config: &RunConfig,
    ordinal: usize,
) -> Result<(), RunError> {
    let mut obstacles = Vec::new();
    if ordinal > 0 {
        obstacles.push("the session has had a run, and the checkpoint keeps one conversation".to_owned());
    }
    if config.session.is_some() {
        obstacles.push("the run has a session, to which another attempt would add the same items again".to_owned());
    }
    if config.conversation_id.is_some() || config.previous_response_id.is_some() {
        obstacles.push("the provider keeps a part of the conversation, which the checkpoint cannot keep".to_owned());
    }
    let graph = Graph::new(agent).judged_by(config.judges());
    obstacles.extend(called_again(&graph));
    if obstacles.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the session cannot write checkpoints of the ToolRegistry/AgenticSession proposal: {}; change this, {REMEDY}",
        obstacles.join("; ")
    );
    Err(RunError::User { agent: agent.name.clone(), message, has_run_data: false })
}

/// Returns a message for each tool and MCP server whose calls another attempt would repeat, and
/// must not.
fn called_again(graph: &Graph) -> Vec<String> {
    let nested = graph.nested();
    let mut found = Vec::new();
    for agent in std::iter::once(graph).chain(&nested).flat_map(Graph::agents) {
        let tools = agent.tools.iter().chain(agent.guardrail_activities()).filter(|tool| !tool.is_idempotent());
        let names = tools.map(|tool| format!("tool {:?}", tool.name()));
        let servers = agent.mcp_servers.iter().filter(|server| !server.is_idempotent());
        let names = names.chain(servers.map(|server| format!("MCP server {:?}", server.name())));
        found.extend(names.map(|name| {
            format!("{name} of agent {:?} is not idempotent, and another attempt would call it again", agent.name)
        }));
    }
    found.sort();
    found.dedup();
    found
}
