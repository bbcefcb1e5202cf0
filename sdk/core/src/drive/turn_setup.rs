//! Sets up an agent for one turn: calls its functions, and lists its tools and handoffs.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    config::{NameCollisions, RunConfig},
    env::Env,
    guard,
    host::{Host, LoopEvent},
    mcp::{self, When},
};
use crate::{
    agent::{AgentDef, AgentInfo, GraphError, GraphIssue, Handoff, Instructions},
    engine::{Engine, Resolution, RunError},
    tool::{Enabled, RunContext, ToolDef},
    wire::{Definitions, HandoffSpec, ToolSpec, run_state::TurnSetup},
};

const GUARDRAILS_WITH_SERVER: &str = "Output guardrails cannot be combined with conversation_id, \
     previous_response_id, or auto_previous_response_id because rejected output cannot be removed from server-managed \
     conversation history.";

/// Prepares a turn: calls the hooks for the start of the agent, if `starts`, and sets up the turn.
///
/// # Errors
/// [`RunError`] of a hook or of a function of the agent.
pub(super) async fn prepare<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &str,
    turn: u32,
    starts: bool,
) -> Result<Resolution, RunError> {
    env.host.observe(&LoopEvent::TurnStarted { agent, turn });
    let definition = env.agent(agent)?;
    let guards_output = !definition.output_guardrails.is_empty() || !env.config.output_guardrails.is_empty();
    if guards_output && engine.state().server.is_some() {
        return Err(RunError::User {
            agent: agent.to_owned(),
            message: GUARDRAILS_WITH_SERVER.to_owned(),
            has_run_data: true,
        });
    }
    if starts {
        env.tell(engine, agent, "on_agent_start", |hooks, ctx| hooks.on_agent_start(ctx, agent))?;
    }
    let listed = mcp::tools_of(env, definition, turn, When::Turn).await?;
    let run = RunContext::new(engine.state().context.clone());
    let offer = offer(env, definition, &listed, turn, &run)?;
    let instructions = match &definition.instructions {
        Instructions::None => None,
        Instructions::Text(text) => Some(text.clone()),
        Instructions::Computed(compute) => {
            let info = AgentInfo::new(&*definition.name, turn);
            Some(guard::call(|| "the instructions".to_owned(), agent, || compute(&run, &info))?)
        }
    };
    // The graph was checked before the run, guardrail agents and agents used as tools included. An
    // error is used here because a panic would fail the workflow task again and again.
    let model = env
        .config
        .model
        .clone()
        .or_else(|| definition.model.clone())
        .ok_or_else(|| GraphError { issues: vec![GraphIssue::NoModel { agent: agent.to_owned() }] })?;
    let (tools, handoffs) = offer.specs(env, definition);
    Ok(Resolution::Prepared(Box::new(TurnSetup {
        model,
        definitions: Definitions {
            instructions,
            prompt: definition.prompt.clone(),
            tools,
            handoffs,
            output: definition.output.as_ref().map(|output| output.spec().clone()),
            settings: definition.settings.overlaid_by(&env.config.settings),
        },
        reset_tool_choice: definition.reset_tool_choice,
        tool_use: definition.tool_use.in_state(),
        variants: offer.variants(definition, &listed),
        answers_approvals: definition.answers_approvals.keys().cloned().collect(),
        guards_output,
        handles_empty_output: env.config.error_handlers.invalid_final_output.is_some(),
        native_tools: offer.natives(),
    })))
}

/// Returns the function tools that the agent has now.
///
/// # Errors
/// [`RunError::Panicked`] of a predicate.
pub(super) async fn offered<H: Host>(env: &Env<'_, H>, engine: &Engine, agent: &str) -> Result<Resolution, RunError> {
    let (state, agent) = (engine.state(), env.agent(agent)?);
    let listed = mcp::tools_of(env, agent, state.turn, When::Resume).await?;
    let run = RunContext::new(state.context.clone());
    let offer = offer(env, agent, &listed, state.turn, &run)?;
    let names = offer.tools.iter().map(|tool| tool.name().to_owned());
    let variants = offer.variants(agent, &listed);
    let offered = names.map(|name| (variants.get(&name).copied().unwrap_or_default(), name));
    Ok(Resolution::Offered(offered.map(|(variant, name)| (name, variant)).collect()))
}

/// The tools and handoffs that an agent offers its model at a turn.
struct Offer<'a> {
    tools: Vec<&'a ToolDef>,
    handoffs: Vec<&'a Handoff>,
}

impl Offer<'_> {
    /// Returns, for each name that several of the agent's tools or handoffs share, the index of the
    /// offered one, unless it is the first.
    fn variants(&self, agent: &AgentDef, listed: &[ToolDef]) -> BTreeMap<String, usize> {
        let mut variants = BTreeMap::new();
        for tool in &self.tools {
            let mut named = agent.tools.iter().chain(listed).filter(|candidate| candidate.name() == tool.name());
            if let Some(variant @ 1..) = named.position(|candidate| std::ptr::eq(candidate, *tool)) {
                variants.insert(tool.name().to_owned(), variant);
            }
        }
        for handoff in &self.handoffs {
            let name = handoff.name();
            let mut named = agent.handoffs.iter().filter(|candidate| candidate.name() == name);
            if let Some(variant @ 1..) = named.position(|candidate| std::ptr::eq(candidate, *handoff)) {
                variants.insert(name, variant);
            }
        }
        variants
    }

    /// Returns the names of the tools that the provider defines and the run executes.
    fn natives(&self) -> Vec<String> {
        let natives = self.tools.iter().filter(|tool| tool.native_kind().is_some());
        natives.map(|tool| tool.name().to_owned()).collect()
    }

    fn specs<H: Host>(&self, env: &Env<'_, H>, agent: &AgentDef) -> (Vec<ToolSpec>, Vec<HandoffSpec>) {
        let tools = self.tools.iter().map(|tool| tool.spec()).chain(agent.hosted_tools.iter().cloned()).collect();
        let target = |handoff: &&Handoff| env.graph.agent(handoff.target().name()).map(|target| handoff.spec(target));
        (tools, self.handoffs.iter().filter_map(target).collect())
    }
}

fn offer<'a, H: Host>(
    env: &Env<'_, H>,
    agent: &'a AgentDef,
    listed: &'a [ToolDef],
    turn: u32,
    run: &RunContext,
) -> Result<Offer<'a>, RunError> {
    let holds = |what: &str, name: &str, enabled: &Enabled| {
        if enabled.is_always() {
            return Ok(true);
        }
        let function = || format!("the enabled rule of {what} {name:?}");
        guard::call(function, &agent.name, || enabled.holds(run, &agent.name, turn))
    };
    let mut tools = Vec::with_capacity(listed.len() + agent.tools.len());
    for tool in listed.iter().chain(&agent.tools) {
        if holds("tool", tool.name(), tool.enabled_rule())? {
            tools.push(tool);
        }
    }
    let mut handoffs = Vec::with_capacity(agent.handoffs.len());
    for handoff in &agent.handoffs {
        if holds("handoff", &handoff.name(), handoff.enabled())? {
            handoffs.push(handoff);
        }
    }
    let mut offer = Offer { tools, handoffs };
    remove_duplicate_names(env.config, agent, &mut offer)?;
    Ok(offer)
}

/// Removes functions whose name is used more than once: keeps the last handoff, otherwise the last
/// tool.
///
/// # Errors
/// [`RunError::User`] if the configuration requires distinct names. Names that are always offered
/// are checked before the run.
fn remove_duplicate_names(config: &RunConfig, agent: &AgentDef, offer: &mut Offer<'_>) -> Result<(), RunError> {
    let mut taken = BTreeSet::<Cow<'_, str>>::new();
    let before = offer.handoffs.len() + offer.tools.len();
    // The last function of a name has priority, so both lists are filtered from the end.
    offer.handoffs.reverse();
    offer.handoffs.retain(|handoff| taken.insert(Cow::Owned(handoff.name())));
    offer.handoffs.reverse();
    offer.tools.reverse();
    let mut twice = None;
    offer.tools.retain(|tool| {
        let is_new = taken.insert(Cow::Borrowed(tool.name()));
        if !is_new {
            twice = Some(tool.name().to_owned());
        }
        is_new
    });
    offer.tools.reverse();
    let has_losers = offer.handoffs.len() + offer.tools.len() < before;
    if !has_losers || config.name_collisions == NameCollisions::LastWins {
        return Ok(());
    }
    let name = twice.unwrap_or_else(|| "a handoff".to_owned());
    Err(RunError::User {
        agent: agent.name.clone(),
        message: format!(
            "Ambiguous function tool configuration: the tool name `{name}` is used more than once at this turn"
        ),
        has_run_data: true,
    })
}
