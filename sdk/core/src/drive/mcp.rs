//! The tools that an agent has from MCP servers: listed at the agent's first turn, and frozen from
//! then on.
//!
//! The lists belong to the run and its nested runs. They are a part of the outermost run's state,
//! so that a run that continues in another execution has the same tools there.

use std::{
    cell::{Cell, RefCell},
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
    engine::{Engine, RunError},
    tool::{McpRefresh, McpServer, ToolDef},
    wire::{McpTool, ToolsetSnapshot},
};

/// Tool lists of the servers of a run, by server name and by the argument of the server's
/// connection factory.
#[derive(Default)]
pub(super) struct McpLists {
    lists: RefCell<BTreeMap<String, Rc<[McpTool]>>>,
    /// `true` if the state of the outermost run does not have all lists.
    has_news: Cell<bool>,
}

/// The patch of runs whose state has the lists. Runs of earlier builds list the tools again in each
/// execution.
const LISTS_IN_STATE: &str = "temporal-agents/mcp-lists-in-state";

impl McpLists {
    /// Takes over the lists of the state with which a run begins.
    pub(super) fn take_over(&self, toolset: &ToolsetSnapshot) {
        let mut lists = self.lists.borrow_mut();
        for (key, tools) in &toolset.mcp {
            lists.entry(key.clone()).or_insert_with(|| tools.clone().into());
        }
    }
}

/// Adds to the state of the outermost run the lists that it does not have.
pub(super) fn keep_lists<H: Host>(env: &Env<'_, H>, engine: &mut Engine) {
    if !env.is_outermost()
        || !env.mcp.has_news.take()
        || !engine.patched(LISTS_IN_STATE, || env.host.patched(LISTS_IN_STATE))
    {
        return;
    }
    let lists = env.mcp.lists.borrow();
    engine.toolset_mut().mcp = lists.iter().map(|(key, tools)| (key.clone(), tools.to_vec())).collect();
}

/// The point of a run at which an agent's tools are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// At the beginning of a turn.
    Turn,
    /// The continuation of a turn that waited for decisions.
    Resume,
}

/// Returns the tools that the agent has from its MCP servers, server by server, and those that were
/// selected for the run. Lists the tools of servers that are not known yet.
///
/// # Errors
/// [`RunError::Mcp`] of a server whose tools could not be listed, [`RunError::User`] when two tools
/// have one name.
pub(super) async fn tools_of<H: Host>(
    env: &Env<'_, H>,
    agent: &AgentDef,
    turn: u32,
    when: When,
) -> Result<Rc<[ToolDef]>, RunError> {
    if agent.mcp_servers.is_empty() {
        let selected = env.selected();
        check_names(agent, &selected)?;
        return Ok(selected);
    }
    let is_known = |server: &McpServer| {
        let is_new_each_turn = when == When::Turn && server.refresh_rule() == McpRefresh::EachTurn;
        !is_new_each_turn && env.mcp.lists.borrow().contains_key(&key(server))
    };
    let unknown: Vec<_> = agent.mcp_servers.iter().enumerate().filter(|(_, server)| !is_known(server)).collect();
    let known = env.mcp_tools.borrow().get(&agent.name).cloned();
    if let (true, Some(tools)) = (unknown.is_empty(), known) {
        return Ok(tools);
    }
    let asked = unknown.iter().map(|(at, server)| list(env, agent, turn, when, *at, server).boxed_local()).collect();
    // All requests are awaited, also when one fails: the error of the first failed server in order
    // ends the run.
    for (listed, (_, server)) in join_in_order(asked).await.into_iter().zip(&unknown) {
        env.mcp.lists.borrow_mut().insert(key(server), listed?.into());
        env.mcp.has_news.set(true);
    }
    let lists = env.mcp.lists.borrow();
    let of_server =
        |server: &Arc<McpServer>| lists.get(&key(server)).map(|listed| server.tools(listed)).unwrap_or_default();
    let of_servers = agent.mcp_servers.iter().flat_map(of_server);
    let tools: Rc<[ToolDef]> = of_servers.chain(env.selected().iter().cloned()).collect();
    check_names(agent, &tools)?;
    env.mcp_tools.borrow_mut().insert(agent.name.clone(), Rc::clone(&tools));
    Ok(tools)
}

/// Returns the agent's MCP tools as last listed, and the tools that were selected for the run.
pub(super) fn known_tools<H: Host>(env: &Env<'_, H>, agent: &AgentDef) -> Rc<[ToolDef]> {
    env.mcp_tools.borrow().get(&agent.name).cloned().unwrap_or_else(|| env.selected())
}

/// Returns the tool of this name among the agent's own tools and those of its servers; `variant` is
/// its index among the tools of this name.
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

/// Rejects two tools of one name, which a model could not distinguish.
fn check_names(agent: &AgentDef, tools: &[ToolDef]) -> Result<(), RunError> {
    let mut names = BTreeSet::new();
    match tools.iter().find(|tool| !names.insert(tool.name())) {
        None => Ok(()),
        Some(twice) => Err(RunError::User {
            agent: agent.name.clone(),
            message: format!(
                "Duplicate tool names found across MCP servers: '{}'. Set McpServer::prefix on one of the servers, or \
                 exclude the tool with McpServer::without.",
                twice.name()
            ),
            has_run_data: true,
        }),
    }
}
