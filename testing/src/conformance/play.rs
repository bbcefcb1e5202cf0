//! Plays a scenario: its runs in sequence, with a stop at each pause for which decisions remain.
//!
//! All hosts share this code. They differ only in the implementation of [`Runs`], which runs
//! agents.

use futures::future::{LocalBoxFuture, ready};
use serde_json::{Value, json};
use temporal_agents::{
    RunConfig, RunFailure,
    run::{MemorySession, PausedRun, RunOutcome},
    wire::{Decision, DecisionRefused, Item, RunState},
};

use super::{
    build::{AnyAgent, BuildError, Cast, Seen, Witness, run_config},
    format::{self, Chain, DecisionKind, FollowUp, RunOptions, Scenario},
    progress::{Previous, Progress},
    report,
};

/// Runs agents on a host.
pub(crate) trait Runs {
    /// Runs an agent until it ends or pauses.
    fn run<'a>(&'a self, config: RunConfig, agent: &'a AnyAgent, input: Vec<Item>) -> Running<'a>;

    /// Continues a paused run.
    fn resume<'a>(&'a self, config: RunConfig, agent: &'a AnyAgent, state: RunState) -> Running<'a>;

    /// Notifies the host before each run.
    fn run_is_due(&self) -> LocalBoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// Returns the witness to which author functions report, with the calls recorded before.
    fn witness(&self, seen: Seen) -> Witness {
        Witness::new(seen)
    }
}

/// Implements the methods of [`Runs`] that run agents, by the methods that the runners of all hosts
/// share: `$runner` creates a runner of the host with a configuration.
macro_rules! runs_with {
    ($runner:expr) => {
        fn run<'a>(&'a self, config: RunConfig, agent: &'a AnyAgent, input: Vec<Item>) -> Running<'a> {
            let runner = $runner(self, config);
            Box::pin(async move {
                match agent {
                    AnyAgent::Text(agent) => {
                        runner.run(agent, input).until_paused().untyped().await.map_err(Into::into)
                    }
                    AnyAgent::Json(agent) => {
                        runner.run(agent, input).until_paused().untyped().await.map_err(Into::into)
                    }
                }
            })
        }

        fn resume<'a>(&'a self, config: RunConfig, agent: &'a AnyAgent, state: RunState) -> Running<'a> {
            let runner = $runner(self, config);
            Box::pin(async move {
                match agent {
                    AnyAgent::Text(agent) => {
                        runner.run(agent, state).until_paused().untyped().await.map_err(Into::into)
                    }
                    AnyAgent::Json(agent) => {
                        runner.run(agent, state).until_paused().untyped().await.map_err(Into::into)
                    }
                }
            })
        }
    };
}

pub(crate) use runs_with;

/// The future of a run.
pub(crate) type Running<'a> = LocalBoxFuture<'a, Result<RunOutcome<Value>, RunFailure>>;

/// The outcome of [`play`].
pub(crate) enum Played {
    /// The scenario has paused; the decisions are already in the state. `play` continues from this
    /// progress.
    Paused(Box<Progress>),
    /// The scenario has ended, with the observations other than the effects.
    Ended(Value),
}

/// A reason for which a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlayError {
    /// The agents cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A follow-up continues with an agent that the scenario does not contain.
    #[error("the scenario does not contain the last agent {name:?}")]
    UnknownLastAgent {
        /// Name of the agent.
        name: String,
    },
    /// A paused state refuses a decision.
    #[error(transparent)]
    Decision(#[from] DecisionRefused),
    /// A paused state cannot be serialized or parsed again.
    #[error("the paused state failed a JSON round trip: {0}")]
    State(#[from] serde_json::Error),
}

/// Plays until the next pause for which decisions remain, or until the end.
pub(crate) async fn play(scenario: &Scenario, progress: Progress, host: &dyn Runs) -> Result<Played, PlayError> {
    let mut progress = progress;
    let witness = host.witness(progress.seen.clone());
    let cast = Cast::new(scenario, witness.clone());
    loop {
        let due = NextRun::of(scenario, &cast, &progress)?;
        let agent = cast.agent(due.agent)?;
        let mut config = run_config(scenario, progress.context.clone(), &witness);
        config.session = progress.session.as_ref().map(Into::into);
        let RunOptions { previous_response_id, auto_previous_response_id, conversation_id } = due.options;
        config.previous_response_id = previous_response_id;
        config.auto_previous_response_id = auto_previous_response_id.unwrap_or(false);
        config.conversation_id = conversation_id;
        host.run_is_due().await;
        let outcome = match progress.paused.take() {
            Some(state) => host.resume(config, &agent, state).await,
            None => host.run(config, &agent, due.input).await,
        };
        progress.seen = witness.seen();
        match outcome {
            Err(failure) => return Ok(Played::Ended(ended(scenario, &progress, report::failed(&failure)))),
            Ok(RunOutcome::Paused(paused)) => {
                if let Some(round) = scenario.approvals.iter().flatten().nth(progress.rounds) {
                    progress.pauses.push(report::pause(&paused));
                    progress.paused = Some(decided(paused, round)?);
                    progress.rounds += 1;
                    return Ok(Played::Paused(Box::new(progress)));
                }
                progress.context.clone_from(&paused.state.context);
                progress.previous = Some(Previous {
                    last_agent: paused.state.agent.clone(),
                    input_list: paused.to_input_list(),
                    last_response_id: paused.state.last_response_id.clone(),
                    outcome: report::interrupted(&paused, due.has_server_state),
                });
            }
            Ok(RunOutcome::Finished(result)) => {
                progress.context.clone_from(&result.context);
                progress.previous = Some(Previous {
                    last_agent: result.last_agent.clone(),
                    input_list: result.to_input_list(),
                    last_response_id: result.last_response_id.clone(),
                    outcome: report::finished(&result, due.has_server_state),
                });
            }
        }
        let outcome = progress.previous.as_ref().map_or(Value::Null, |previous| previous.outcome.clone());
        if scenario.follow_ups.iter().flatten().nth(progress.run).is_none() {
            return Ok(Played::Ended(ended(scenario, &progress, outcome)));
        }
        progress.earlier.push(outcome);
        progress.run += 1;
    }
}

/// The next run.
struct NextRun<'s> {
    agent: &'s str,
    input: Vec<Item>,
    options: RunOptions,
    has_server_state: bool,
}

impl<'s> NextRun<'s> {
    fn of(scenario: &'s Scenario, cast: &Cast<'s>, progress: &Progress) -> Result<Self, PlayError> {
        let options = scenario.run.clone().unwrap_or_default();
        let RunOptions { previous_response_id, auto_previous_response_id, conversation_id } = &options;
        let has_server_state =
            previous_response_id.is_some() || auto_previous_response_id.is_some() || conversation_id.is_some();
        let first = Self { agent: &scenario.start_agent, input: scenario.input.to_items(), options, has_server_state };
        let follow_up = progress.run.checked_sub(1).and_then(|place| scenario.follow_ups.as_ref()?.get(place));
        match (follow_up, &progress.previous) {
            (Some(follow_up), Some(previous)) => first.following(follow_up, previous, cast, progress.session.is_some()),
            _ => Ok(first),
        }
    }

    fn following(
        mut self,
        follow_up: &'s FollowUp,
        previous: &Previous,
        cast: &Cast<'s>,
        has_session: bool,
    ) -> Result<Self, PlayError> {
        self.agent = match follow_up.agent.as_deref() {
            None => self.agent,
            Some("last") => cast
                .key_of(&previous.last_agent)
                .ok_or_else(|| PlayError::UnknownLastAgent { name: previous.last_agent.clone() })?,
            Some(key) => key,
        };
        let new = follow_up.input.to_items();
        let default = if has_session { Chain::Session } else { Chain::ToInputList };
        match follow_up.chain.unwrap_or(default) {
            Chain::Session => self.input = new,
            Chain::ToInputList => self.input = previous.input_list.iter().cloned().chain(new).collect(),
            Chain::PreviousResponseId => {
                self.input = new;
                self.options.previous_response_id.clone_from(&previous.last_response_id);
                self.has_server_state = true;
            }
        }
        Ok(self)
    }
}

/// Plays to the end. At each pause, it serializes the progress to JSON and continues from the
/// parsed copy.
pub(crate) async fn play_through(
    scenario: &Scenario,
    mut progress: Progress,
    host: &dyn Runs,
) -> Result<Value, PlayError> {
    loop {
        match play(scenario, progress, host).await? {
            Played::Paused(paused) => progress = serde_json::from_str(&serde_json::to_string(&*paused)?)?,
            Played::Ended(observed) => return Ok(observed),
        }
    }
}

/// Returns the state with the decisions of a round: the k-th decision applies to the k-th pending
/// call. The state is first serialized and parsed, as if it had been stored while people decided.
fn decided(paused: PausedRun, round: &[format::Decision]) -> Result<RunState, PlayError> {
    let mut state: RunState = serde_json::from_str(&serde_json::to_string(&paused.state)?)?;
    for (pending, decision) in state.interruptions().iter().zip(round) {
        let format::Decision { decision, always, message } = decision;
        let decision = match decision {
            DecisionKind::Approve => Decision::approve(),
            DecisionKind::Reject => message.clone().map_or_else(Decision::reject, Decision::reject_with),
            DecisionKind::Skip => continue,
        };
        if *always == Some(true) {
            state.decide_always(&pending.id, decision)?;
        } else {
            state.decide(&pending.id, decision)?;
        }
    }
    Ok(state)
}

/// Returns the observations other than the effects, which the recorder holds.
fn ended(scenario: &Scenario, progress: &Progress, outcome: Value) -> Value {
    let Seen { hooks, handoff_inputs } = &progress.seen;
    json!({
        "handoff_inputs": handoff_inputs,
        "pauses": progress.pauses,
        "earlier": progress.earlier,
        "hooks": scenario.record_hooks.unwrap_or(false).then_some(hooks),
        "outcome": outcome,
        "session_items": progress.session.as_ref().map(MemorySession::items),
    })
}
