//! The agent loop of every host: takes a step from the engine, calls the author's functions,
//! requests effects from the host.
//!
//! [`Engine::next`] returns a [`Step`], the loop executes it, and [`Engine::resolve`] takes the
//! result: see "One turn, as the engine sees it" in ARCHITECTURE.md. A model call begins here and
//! continues in `drive/model.rs`; "Flow: a model call" in ARCHITECTURE.md lists all its files.
//!
//! The functions that the users of this crate (authors) supply for an agent or a run are called in
//! this module and nowhere else, in the order that the engine determines: once, and again on
//! replay. Bodies of tools that are not inline, and functions in options of a host, are called by
//! the host. Hosts implement [`Host`] and do not decide what comes next, so that their behavior
//! cannot diverge.

mod compaction;
mod config;
mod env;
mod expiry;
mod finish;
pub mod guard;
mod guardrails;
mod handoff;
mod host;
mod input_guardrails;
pub mod installed;
pub mod join;
mod kept;
mod keywords;
mod mcp;
mod mcp_session;
mod model;
pub mod model_limits;
mod nested;
mod notes;
mod pause;
pub mod refusal;
mod request;
mod result;
mod run;
mod session;
mod tool_failure;
mod tools;
mod toolsets;
mod turn_setup;
pub mod watch;

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;

pub use compaction::Compaction;
pub use config::{
    CallModelInputFilter, ErrorHandler, ErrorHandlers, Handled, HandledError, HistoryMapper, ModelInput,
    NameCollisions, RunConfig, RunInput, SessionInputCallback, ToolErrorFormatter, ToolErrorMessage,
    ToolErrorMessageKind,
};
pub use host::{
    EffectId, Host, KeptDecisionsEffect, LoopEvent, McpEffect, McpEffectError, ModelEffectError, SessionAction,
    SessionEffect, SessionEffectError, SourceEffectError, ToolAnswer, ToolEffect, ToolEffectError, ToolsetsEffect,
    WaitOutcome,
};
pub use host::{Stays, warn_of_attempt};
pub use mcp_session::McpSessionLost;
pub use request::{AgentRunner, IntoRun, RunEnd, RunRequest, RunsTo};
pub use result::{PausedRun, RunFailure, RunOutcome, RunResult, write_structure};
pub use run::{Outputs, Run, run_agents};
pub use run::{check_resumed, continue_idle, finished, run_graph};
pub use session::{MemorySession, SessionRef};
pub use tools::{SingleAnswer, SingleCall, SingleError, call_single};

use self::{env::Env, input_guardrails::ParallelInputGuardrails};
use crate::engine::{Engine, Resolution, RunError, StateIssue, StateMismatch, Step};

/// The end of a loop.
enum Ended {
    /// The loop ended with a final output.
    Finished(Value),
    /// The loop ended with calls that wait for decisions.
    Interrupted,
    /// The loop ended between two turns, because the workflow continues as new; only in the
    /// outermost run, not in that of an agent that is used as a tool.
    Moves,
}

/// Runs the loop to its end. The engine then holds the final state, also after an error.
///
/// # Errors
/// [`RunError`] that ended the run.
fn drive<'d, H: Host>(env: &'d Env<'_, H>, engine: &'d mut Engine) -> LocalBoxFuture<'d, Result<Ended, RunError>> {
    // Boxed, because a loop runs loops: agents are tools and guardrails of others. The connections
    // to stateful MCP servers outlive a loop that pauses or continues as new.
    async move {
        env.mcp.take_over(&engine.state().toolset);
        env.take_selected(&engine.state().toolset);
        env.mcp_sessions.take_over(std::mem::take(engine.mcp_sessions_mut()));
        let ended = run_steps_and_abandon(env, engine).await;
        let sessions = env.mcp_sessions.take();
        match ended {
            Ok(Ended::Interrupted | Ended::Moves) => *engine.mcp_sessions_mut() = sessions,
            Ok(Ended::Finished(_)) | Err(_) => mcp_session::close(env, sessions).await,
        }
        ended
    }
    .boxed_local()
}

async fn run_steps_and_abandon<H: Host>(env: &Env<'_, H>, engine: &mut Engine) -> Result<Ended, RunError> {
    let mut guards = ParallelInputGuardrails::default();
    let ended = steps(env, engine, &mut guards).await;
    let Err(error) = ended else { return ended };
    guards.give_up().await;
    let left = engine.abandon(&error);
    if !left.is_empty() {
        // The error that ended the run has priority over a failure to write its session.
        let _ = session::save(env, engine, left).await;
    }
    Err(error)
}

async fn steps<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut ParallelInputGuardrails<'g>,
) -> Result<Ended, RunError> {
    loop {
        engine.set_shown(&env.shown.borrow());
        mcp::keep_lists(env, engine);
        env.kept.write_to(engine, env.is_outermost());
        env.host.checkpoint(&env.path, engine.state());
        let resolution = match engine.next() {
            Step::Save { items } => {
                let saved = session::save(env, engine, items).await;
                if let Err(RunError::Cancelled { .. }) = saved {
                    // The write may have been made, so it is not made again.
                    engine.resolve(Resolution::Saved)?;
                }
                saved?;
                Resolution::Saved
            }
            Step::CheckInput { agent } => guardrails::blocking_input(env, engine, &agent).await?,
            // The run can continue as new here: all items that were due have been written, all
            // guardrails have a result, and none of the run's effects is in flight.
            Step::PrepareTurn { turn, .. }
                if turn > 1 && env.is_outermost() && env.host.is_continuation_due(engine.state()) =>
            {
                return Ok(Ended::Moves);
            }
            Step::PrepareTurn { agent, turn, starts } => turn_setup::prepare(env, engine, &agent, turn, starts).await?,
            Step::CallModel(call) => {
                // Pure guardrails have a result already, which decides the step: if one has
                // tripped, `resolve` fails; otherwise the engine returns the call again.
                if let Some(checked) = guards.begin(env, engine)? {
                    engine.resolve(checked)?;
                    continue;
                }
                model::call(env, engine, guards, *call).await?;
                continue;
            }
            Step::PrepareResume { agent } => {
                kept::keep_on_requests(env, engine, &agent).await?;
                turn_setup::offered(env, engine, &agent).await?
            }
            Step::CallTools { agent, turn, calls } => tools::run(env, engine, guards, &agent, turn, calls).await?,
            Step::AdmitInput => guards.answer(env, engine).await?,
            Step::AnswerMcp { agent, questions } => finish::answer_mcp(env, engine, &agent, &questions)?,
            Step::DecideToolUse { agent, results } => finish::decide_tool_use(env, engine, &agent, &results)?,
            Step::TakeHandoff { agent, handoff } => handoff::take(env, engine, &agent, &handoff)?,
            Step::Rewrite { source, handoff, data } => handoff::rewrite(env, engine, &source, &handoff, *data)?,
            Step::ParseOutput { agent, text } => finish::parse_output(env, &agent, &text)?,
            Step::HandleError { agent, error } => finish::handle_error(env, engine, &agent, &error)?,
            Step::Conclude { agent, output } => guardrails::conclude(env, engine, &agent, &output).await?,
            Step::Interrupted => return Ok(Ended::Interrupted),
            Step::Failed { reason } => {
                return Err(StateMismatch { issues: vec![StateIssue::Failed { reason }] }.into());
            }
            Step::Done { output } => return Ok(Ended::Finished(output)),
        };
        engine.resolve(resolution)?;
    }
}
