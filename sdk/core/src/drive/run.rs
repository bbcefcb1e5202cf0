//! A whole run on any host: checks the agents, drives the loop, waits for decisions, and converts
//! the output to its type.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Ended, compaction,
    config::{NameCollisions, RunConfig, RunInput},
    drive,
    env::Env,
    host::{Host, Stays},
    kept, notes,
    pause::{self, Waited},
    result::{PausedRun, RunFailure, RunOutcome, RunResult, read},
    session, toolsets,
};
use crate::{
    agent::{AgentDef, Graph, GraphError, GraphIssue},
    engine::{Beginning, Engine, RunError, check_fit},
    wire::RunState,
};

const SESSION_WITH_SERVER: &str = "Session persistence cannot be combined with conversation_id, previous_response_id, \
                                   or auto_previous_response_id.";

const COMPACTION_WITH_SERVER: &str = "A compaction cannot be combined with conversation_id, previous_response_id, or \
                                      auto_previous_response_id: the provider keeps the conversation, and the run \
                                      cannot shorten it.";

const RESUMED_WITHOUT_SESSION: &str = "The run was started with a session and is resumed without one, so the \
                                       remaining items would not be written to the session: resume the run with \
                                       .session(..).";
const RESUMED_WITH_SESSION: &str = "The run was started without a session and cannot be resumed with one: resume the \
                                    run without .session(..).";

/// The start of a run: an input, or the state of an earlier run.
#[derive(Clone, Debug)]
pub enum Run {
    /// A new run.
    Start(RunInput),
    /// A run that is resumed, with the decisions in its state.
    Resume(Box<RunState>),
    /// A run that continues from another execution, without a resumption: as if it had never been
    /// interrupted.
    Continue(Box<RunState>),
}

impl From<RunInput> for Run {
    fn from(input: RunInput) -> Self {
        Self::Start(input)
    }
}

/// The output types that the agents of a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outputs {
    /// The agents that can end the run have the output type of the start agent.
    OfOneType,
    /// Each agent has an output type of its own.
    OfAnyType,
}

/// Runs an agent, and the agents that it hands off to, until it ends or pauses.
///
/// # Errors
/// [`RunFailure`]. A graph that is invalid, or whose agents have output types that `outputs` does
/// not allow, fails before any model call.
pub async fn run_agents<H: Host, O: DeserializeOwned>(
    host: &H,
    agent: &AgentDef,
    config: &RunConfig,
    run: Run,
    outputs: Outputs,
) -> Result<RunOutcome<O>, RunFailure> {
    run_graph(host, &Graph::new(agent).judged_by(config.judges()), config, run, outputs).await
}

/// Runs the agents of a graph, which has the judges of the configuration.
///
/// # Errors
/// Those of [`run_agents`].
pub async fn run_graph<H: Host, O: DeserializeOwned>(
    host: &H,
    graph: &Graph,
    config: &RunConfig,
    run: Run,
    outputs: Outputs,
) -> Result<RunOutcome<O>, RunFailure> {
    let config = &*config.traced_as(&run);
    let checked_outputs = match outputs {
        Outputs::OfOneType => graph.check_outputs(),
        Outputs::OfAnyType => Ok(()),
    };
    check_agents(host, graph, config, [graph.check(), checked_outputs])?;
    match execute(host, graph, config, run).await? {
        Outcome::Paused(paused) => Ok(RunOutcome::Paused(*paused)),
        Outcome::Finished(output, state) => match read(&output, &state.agent) {
            Ok(output) => Ok(RunOutcome::Finished(RunResult::new(output, *state, config.reasoning_item_ids))),
            Err(error) => Err(RunFailure { error, state: Some(state) }),
        },
    }
}

/// Checks all properties of the agents that are known before the run begins, and reports all issues
/// at once.
///
/// # Errors
/// [`RunError::Graph`].
fn check_agents<H: Host>(
    host: &H,
    graph: &Graph,
    config: &RunConfig,
    of_this_run: [Result<(), GraphError>; 2],
) -> Result<(), RunError> {
    let mut issues = issues_of(of_this_run.into_iter().chain([graph.check_models(config.model.as_deref())]));
    issues.extend(host.lacks(graph));
    if issues.is_empty() {
        return Ok(());
    }
    // Without other issues, names are checked later, after the session is read: recorded histories
    // have this order.
    if config.name_collisions == NameCollisions::Error {
        issues.extend(issues_of([graph.check_names()]));
    }
    Err(GraphError { issues }.into())
}

fn issues_of(checks: impl IntoIterator<Item = Result<(), GraphError>>) -> Vec<GraphIssue> {
    checks.into_iter().filter_map(Result::err).flat_map(|error| error.issues).collect()
}

/// The end of a run, before its output is converted to a type: if the conversion fails, the state
/// must not be lost.
enum Outcome {
    Finished(Value, Box<RunState>),
    Paused(Box<PausedRun>),
}

/// Returns the result of a run that must not end paused.
///
/// # Errors
/// [`RunError::NeedsApproval`].
pub fn finished<O>(outcome: RunOutcome<O>) -> Result<RunResult<O>, RunFailure> {
    match outcome {
        RunOutcome::Finished(result) => Ok(result),
        RunOutcome::Paused(PausedRun { state, .. }) => {
            let tools = state.interruptions().into_iter().map(|interruption| interruption.tool).collect();
            let error = RunError::NeedsApproval { agent: state.agent.clone(), tools };
            Err(RunFailure { error, state: Some(Box::new(state)) })
        }
    }
}

/// Runs the loop, and notes the end of the run.
async fn execute<H: Host>(host: &H, graph: &Graph, config: &RunConfig, run: Run) -> Result<Outcome, RunFailure> {
    config.check(graph.start())?;
    let scope = host.scope();
    let env = Env::new(host, graph, config, &scope, String::new());
    let ended = execute_in(&env, &scope, run).await;
    match &ended {
        Ok(Outcome::Finished(output, state)) => notes::finished(&env, state, output),
        Ok(Outcome::Paused(_)) => {}
        Err(RunFailure { error, state }) => notes::failed(&env, state.as_deref(), error),
    }
    ended
}

/// Drives the loop to its end. What only the beginning needs, or a wait, is in a box of its own, so
/// that a run holds little while it waits.
async fn execute_in<H: Host>(env: &Env<'_, H>, scope: &H::Scope, run: Run) -> Result<Outcome, RunFailure> {
    let &Env { graph, config, .. } = env;
    let mut engine = Box::pin(engine_of(env, run)).await?;
    engine.set_trace(config.trace_settings());
    if config.name_collisions == NameCollisions::Error
        && let Err(error) = graph.check_names()
    {
        return Err(RunFailure { error: error.into(), state: Some(Box::new(engine.into_state())) });
    }
    loop {
        let state = match drive(env, &mut engine).await {
            Ok(Ended::Finished(output)) => {
                return Ok(Outcome::Finished(output, Box::new(engine.into_state())));
            }
            Ok(Ended::Moves) => {
                let error = Box::pin(leave(env, &mut engine, scope)).await;
                if Stays::is_source_of(&error) {
                    continue;
                }
                return Err(RunFailure { error, state: Some(Box::new(engine.into_state())) });
            }
            Ok(Ended::Interrupted) => Box::new(engine.into_state()),
            Err(error) => return Err(RunFailure { error, state: Some(Box::new(engine.into_state())) }),
        };
        engine = match Box::pin(pause::wait(env, state, scope)).await? {
            Waited::Decided(state) => Box::new(Engine::resume(*state, config.rules())),
            Waited::Undecided(state) => {
                return Ok(Outcome::Paused(Box::new(PausedRun::new(*state, config.reasoning_item_ids))));
            }
        };
    }
}

/// Returns the engine of a run that begins or continues.
async fn engine_of<H: Host>(env: &Env<'_, H>, run: Run) -> Result<Box<Engine>, RunFailure> {
    let &Env { graph, config, .. } = env;
    let goes_on = matches!(run, Run::Continue(_));
    Ok(Box::new(match run {
        Run::Start(input) => begin(env, input).await?,
        Run::Resume(state) | Run::Continue(state) => {
            if let Err(error) = check_resumed(&state, graph, config) {
                return Err(RunFailure { error, state: Some(state) });
            }
            env.kept.take_over(&state);
            if goes_on {
                env.shown.borrow_mut().clone_from(&state.shown);
                Engine::go_on(*state, config.rules())
            } else {
                notes::resumed(env, &state);
                Engine::resume(*state, config.rules())
            }
        }
    }))
}

/// Shortens the conversation, and moves the run to another execution. Returns the error with which
/// this execution ends.
async fn leave<H: Host>(env: &Env<'_, H>, engine: &mut Engine, scope: &H::Scope) -> RunError {
    match compaction::compact(env, engine).await {
        Ok(shortened) => {
            if let Some(shortened) = shortened {
                notes::compacted(env, engine.state(), shortened);
            }
            env.host.continue_elsewhere(engine.state(), scope).await
        }
        Err(error) => error,
    }
}

/// Shortens a conversation as the configuration requires and moves it to another execution, while
/// no run is active.
pub async fn continue_idle<H: Host>(host: &H, agent: &AgentDef, config: &RunConfig, state: RunState) -> RunFailure {
    let (graph, scope) = (Graph::new(agent), host.scope());
    let env = Env::new(host, &graph, config, &scope, String::new());
    let mut engine = Engine::go_on(state, config.rules());
    // Without a run, there is nothing to note about one.
    let error = match compaction::compact(&env, &mut engine).await {
        Ok(_) => host.continue_elsewhere(engine.state(), &scope).await,
        Err(error) => error,
    };
    RunFailure { error, state: Some(Box::new(engine.into_state())) }
}

/// Checks that a run is resumed with matching agents and session.
///
/// # Errors
/// [`RunError::State`] of the agents; [`RunError::User`] if only one of the state and the
/// configuration has a session: the rest of the conversation would not be written.
pub fn check_resumed(state: &RunState, graph: &Graph, config: &RunConfig) -> Result<(), RunError> {
    check_fit(state, graph)?;
    let message = match (&state.session, &config.session) {
        (Some(_), None) => RESUMED_WITHOUT_SESSION,
        (None, Some(_)) => RESUMED_WITH_SESSION,
        _ => return Ok(()),
    };
    Err(RunError::User { agent: state.agent.clone(), message: message.to_owned(), has_run_data: false })
}

async fn begin<H: Host>(env: &Env<'_, H>, mut input: RunInput) -> Result<Engine, RunError> {
    let config = env.config;
    let agent = env.graph.start().to_owned();
    let server = config.server();
    if server.is_some() && config.compaction.is_some() {
        let message = COMPACTION_WITH_SERVER.to_owned();
        return Err(RunError::User { agent, message, has_run_data: false });
    }
    if server.is_some() && config.session.is_some() {
        let message = SESSION_WITH_SERVER.to_owned();
        return Err(RunError::User { agent, message, has_run_data: false });
    }
    let toolset = toolsets::find(env).await?;
    kept::find(env).await?;
    let (input, session_input) = if config.session.is_some() {
        let stored = match input.take_stored() {
            Some(stored) => stored,
            None => session::load(env).await?,
        };
        let (input, new) = session::prepare(config, &agent, stored, input.into_items())?;
        (input, Some(new))
    } else {
        (input.into_items(), None)
    };
    let beginning =
        Beginning { agent, input, max_turns: config.max_turns, context: config.context.clone(), session_input, server };
    let mut engine = Engine::start(beginning, config.rules());
    *engine.toolset_mut() = toolset;
    Ok(engine)
}
