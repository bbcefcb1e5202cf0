//! The tools that an agent has from MCP servers: asked for when it first has a turn, and known from then on.
//!
//! The lists are the run's, also of the runs inside it; they are no part of its state. A run that goes on in another execution asks
//! again there, and what is then missing is a tool that is not found.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use futures::FutureExt;

use super::{
    env::Env,
    host::{Host, McpEffect, McpEffectError},
    join::join_in_order,
    mcp_session::{self, Asking},
};
use crate::{
    agent::AgentDef,
    engine::RunError,
    tool::{McpRefresh, McpServer, ToolDef},
    wire::McpTool,
};

/// What the servers of a run have listed, by server and by what its connection is made from.
#[derive(Default)]
pub(super) struct McpLists(RefCell<BTreeMap<String, Rc<[McpTool]>>>);

/// When an agent's tools are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// At the beginning of a turn.
    Turn,
    /// When a turn that waited for decisions goes on.
    Resume,
}

/// The tools that the agent has from its MCP servers, server by server.
///
/// # Errors
/// [`RunError::Mcp`] of a server that could not be asked, [`RunError::User`] when two tools have one name.
pub(super) async fn tools_of<H: Host>(
    env: &Env<'_, H>,
    agent: &AgentDef,
    turn: u32,
    when: When,
) -> Result<Rc<[ToolDef]>, RunError> {
    if agent.mcp_servers.is_empty() {
        return Ok(Rc::default());
    }
    let is_known = |server: &McpServer| {
        let is_new_each_turn = when == When::Turn && server.refresh_rule() == McpRefresh::EachTurn;
        !is_new_each_turn && env.mcp.0.borrow().contains_key(&key(server))
    };
    let unknown: Vec<_> = agent.mcp_servers.iter().enumerate().filter(|(_, server)| !is_known(server)).collect();
    let known = env.mcp_tools.borrow().get(&agent.name).cloned();
    if let (true, Some(tools)) = (unknown.is_empty(), known) {
        return Ok(tools);
    }
    let asked = unknown.iter().map(|(at, server)| list(env, agent, turn, when, *at, server).boxed_local()).collect();
    // What the others are asked is awaited, also when one fails: the first in order tells why the run ends.
    for (listed, (_, server)) in join_in_order(asked).await.into_iter().zip(&unknown) {
        env.mcp.0.borrow_mut().insert(key(server), listed?.into());
    }
    let lists = env.mcp.0.borrow();
    let of_server =
        |server: &Arc<McpServer>| lists.get(&key(server)).map(|listed| server.tools(listed)).unwrap_or_default();
    let tools: Rc<[ToolDef]> = agent.mcp_servers.iter().flat_map(of_server).collect();
    check_names(agent, &tools)?;
    env.mcp_tools.borrow_mut().insert(agent.name.clone(), Rc::clone(&tools));
    Ok(tools)
}

/// What was last asked for.
pub(super) fn known_tools<H: Host>(env: &Env<'_, H>, agent: &AgentDef) -> Rc<[ToolDef]> {
    env.mcp_tools.borrow().get(&agent.name).cloned().unwrap_or_default()
}

/// Of the agent's own tools and those of its servers, one by name and by its place among those of this name.
pub(super) fn named<'t>(agent: &'t AgentDef, listed: &'t [ToolDef], name: &str, variant: usize) -> Option<&'t ToolDef> {
    agent.tools.iter().chain(listed).filter(|tool| tool.name() == name).nth(variant)
}

async fn list<H: Host>(
    env: &Env<'_, H>,
    agent: &AgentDef,
    turn: u32,
    when: When,
    at: usize,
    server: &McpServer,
) -> Result<Vec<McpTool>, RunError> {
    let failed = |error| match error {
        McpEffectError::Cancelled => RunError::Cancelled { agent: agent.name.clone(), turn },
        McpEffectError::Failed(source) | McpEffectError::SessionLost(source) => {
            RunError::Mcp { server: server.name().to_owned(), agent: agent.name.clone(), turn, source }
        }
    };
    let mut time = 0;
    loop {
        let when = match when {
            When::Turn => "mcp",
            When::Resume => "resume-mcp",
        };
        let id = match time {
            0 => env.effect(format_args!("{turn}-{when}-{at}")),
            time => env.effect(format_args!("{turn}-{when}-{at}-again-{time}")),
        };
        let asking = Asking { agent: &agent.name, turn };
        let session = mcp_session::session(env, server, asking, &env.scope).await.map_err(failed)?;
        let call = McpEffect { server, id, agent: &agent.name, turn, session: session.as_ref() };
        match env.host.list_mcp_tools(call, &env.scope).await {
            Err(McpEffectError::SessionLost(source)) => {
                time += 1;
                mcp_session::lost(env, server, session.as_ref(), time, source)
                    .map_err(|lost| failed(McpEffectError::Failed(Box::new(lost))))?;
            }
            listed => return listed.map_err(failed),
        }
    }
}

fn key(server: &McpServer) -> String {
    match server.factory_argument() {
        None => server.name().to_owned(),
        Some(argument) => format!("{} {argument}", server.name()),
    }
}

/// A model could not tell two tools of one name apart.
fn check_names(agent: &AgentDef, tools: &[ToolDef]) -> Result<(), RunError> {
    let mut names = BTreeSet::new();
    match tools.iter().find(|tool| !names.insert(tool.name())) {
        None => Ok(()),
        Some(twice) => Err(RunError::User {
            agent: agent.name.clone(),
            message: format!(
                "Duplicate tool names found across MCP servers: '{}'. Give one of the servers a McpServer::prefix, or leave the \
                 tool out with McpServer::without.",
                twice.name()
            ),
            has_run_data: true,
        }),
    }
}
