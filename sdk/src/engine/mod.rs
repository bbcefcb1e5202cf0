//! The decisions of the agent loop: state and resolution in, next step out.
//!
//! Pure, synchronous and serialisable: no clock, no randomness, no I/O, no function of an author. [`Engine::next`]
//! says what is to be done, the driver does it, [`Engine::resolve`] takes what came of it. The state between two steps is
//! one [`RunState`], which can be stored and taken up elsewhere.
//!
//! # Design
//! The rules are those of the OpenAI Agents SDK, down to the messages that models see;
//! `RunError::reference` returns an error in its words. Not implemented in 0.1: implicit settings
//! for gpt-5 models, raw responses on results (history has them), input that is staged on a state
//! (`add_input`), parameters and input builders of agents used as tools, and failed attempts in
//! `usage.requests` (Temporal counts the attempts).

mod abandon;
mod blocked;
mod calls;
mod compact;
mod conclude;
mod dedupe;
mod error;
mod fits;
mod handoff;
mod lost_conversation;
mod orphans;
mod request;
mod response;
mod resume;
mod round;
mod rules;
mod save;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

pub use compact::{bytes_of, check_whole, newest_within};
pub use dedupe::{Once, once};
pub(crate) use error::TriedFor;
pub use error::{EffectError, ReferenceError, RunError};
pub(crate) use fits::unknown_agent;
pub use fits::{StateIssue, StateMismatch, check_fit};
pub use lost_conversation::ConversationLost;
pub use orphans::without_orphan_calls;
pub(crate) use response::CALLS_LIMITED;
pub use rules::{MAX_CALLS_PER_RESPONSE, ReasoningItemIds, Rules, UnknownTools};
pub use save::input_items;
pub use step::{CallResult, DueCall, HandlerOutput, Resolution, Step, ToolOutcome};

use crate::wire::{
    Item, McpSession, ModelResponse, RunState, Usage, WIRE_VERSION,
    run_state::{
        Admission, Approvals, GuardrailResults, Phase, Recoverable, ServerConversation, SessionProgress, TurnMark,
    },
};

/// What a run begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Beginning {
    /// The first agent.
    pub agent: String,
    /// What the model is given first.
    pub input: Vec<Item>,
    /// Most model calls; `None` = no limit.
    pub max_turns: Option<u32>,
    /// The run context.
    pub context: Map<String, Value>,
    /// What of the input the session does not have yet; `None` without a session.
    pub session_input: Option<Vec<Item>>,
    /// The conversation the provider keeps, where it keeps one.
    pub server: Option<ServerConversation>,
}

/// The agent loop of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    state: RunState,
    rules: Rules,
}

impl Engine {
    /// A run that begins like this.
    pub fn start(beginning: Beginning, rules: Rules) -> Self {
        let Beginning { agent, input, max_turns, context, session_input, server } = beginning;
        let state = RunState {
            version: WIRE_VERSION,
            agent,
            input,
            items: Vec::new(),
            rewritten: None,
            turn: 0,
            max_turns,
            usage: Usage::default(),
            context,
            tools_used: BTreeMap::new(),
            last_response_id: None,
            start_due: true,
            admission: Admission::BlockingDue,
            guardrails: GuardrailResults::default(),
            approvals: Approvals::default(),
            server,
            session: session_input.map(|input| SessionProgress { input, saved: 0 }),
            mcp_sessions: Vec::new(),
            turn_began: TurnMark::default(),
            holds_back_turn: false,
            completed: Vec::new(),
            patches: BTreeMap::new(),
            key_scope: None,
            phase: Phase::TurnDue,
        };
        Self { state, rules }
    }

    /// Takes up a run where its state stands. Decisions on pending calls take effect; without any the run stays interrupted.
    pub fn resume(state: RunState, rules: Rules) -> Self {
        // Written from here on as this build writes it, whatever build it comes from.
        let mut engine = Self { state: RunState { version: WIRE_VERSION, ..state }, rules };
        resume::take_up(&mut engine.state);
        engine
    }

    /// Goes on with a run exactly where its state stands: what was not decided is not asked for anew.
    pub fn go_on(state: RunState, rules: Rules) -> Self {
        Self { state: RunState { version: WIRE_VERSION, ..state }, rules }
    }

    /// The state between two steps.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The state, the run being over.
    pub fn into_state(self) -> RunState {
        self.state
    }

    /// The run context, for the author's functions that may change it.
    pub fn context_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.state.context
    }

    /// What tells this run from all others, asked once.
    pub fn key_scope(&mut self, ask: impl FnOnce() -> String) -> &str {
        self.state.key_scope.get_or_insert_with(ask)
    }

    /// The run's sessions with stateful MCP servers, which the driver keeps while it is at work.
    pub fn mcp_sessions_mut(&mut self) -> &mut Vec<McpSession> {
        &mut self.state.mcp_sessions
    }

    /// The run's answer to `Host::patched`, asked once per slug.
    pub fn patched(&mut self, slug: &str, ask: impl FnOnce() -> bool) -> bool {
        *self.state.patches.entry(slug.to_owned()).or_insert_with(ask)
    }

    /// Returns whether a response has more calls than [`Rules::max_calls_per_response`].
    ///
    /// Runs from before there was a limit are exempt: their patch decides when the response is resolved.
    pub fn has_too_many_calls(&self, response: &ModelResponse) -> bool {
        response::calls_of(&response.output) > self.rules.max_calls_per_response
    }

    /// What is to be done next. Asking twice gives the same answer.
    pub fn next(&self) -> Step {
        let state = &self.state;
        if let Some(items) = save::due(state, &self.rules) {
            return Step::Save { items };
        }
        let agent = || state.agent.clone();
        if state.admission == Admission::BlockingDue && state.max_turns != Some(0) {
            return Step::CheckInput { agent: agent() };
        }
        if state.admission == Admission::ParallelDue && ends_the_first_turn(state) {
            return Step::AdmitInput;
        }
        match &state.phase {
            Phase::TurnDue => match state.max_turns {
                Some(max_turns) if state.turn >= max_turns => {
                    Step::HandleError { agent: agent(), error: Recoverable::MaxTurns { max_turns } }
                }
                _ => Step::PrepareTurn { agent: agent(), turn: state.turn.saturating_add(1), starts: state.start_due },
            },
            Phase::ModelDue { setup } => Step::CallModel(Box::new(request::model_call(state, setup, &self.rules))),
            Phase::ResumeDue { .. } => Step::PrepareResume { agent: agent() },
            Phase::ToolsDue { round } => {
                Step::CallTools { agent: agent(), turn: state.turn, calls: round::due_calls(state, round) }
            }
            Phase::Interrupted { .. } => Step::Interrupted,
            Phase::McpDue { round } => Step::AnswerMcp { agent: agent(), questions: round::questions(round) },
            Phase::ToolUseDue { round } => Step::DecideToolUse { agent: agent(), results: round::results(round) },
            Phase::HandoffDue { handoffs } => Step::TakeHandoff { agent: agent(), handoff: handoffs[0].clone() },
            Phase::RewriteDue { handoff, source } => {
                Step::Rewrite { source: source.clone(), handoff: handoff.clone(), data: Box::new(handoff::data(state)) }
            }
            Phase::OutputDue { text, .. } => Step::ParseOutput { agent: agent(), text: text.clone() },
            Phase::ErrorDue { error } => Step::HandleError { agent: agent(), error: error.clone() },
            Phase::FinalDue { output } => Step::Conclude { agent: agent(), output: output.clone() },
            Phase::Finished { output } => Step::Done { output: output.clone() },
            Phase::Failed { reason } => Step::Failed { reason: reason.clone() },
        }
    }

    /// Takes what came of the step that [`next`](Self::next) gave.
    ///
    /// # Errors
    /// [`RunError`] when what came of it ends the run. The state then stands after the step, its items and usage kept;
    /// [`abandon`](Self::abandon) settles what
    /// stays of the turn.
    ///
    /// # Panics
    /// When the resolution answers another step than the one that is due: a bug of the driver.
    pub fn resolve(&mut self, resolution: Resolution) -> Result<(), RunError> {
        let state = &mut self.state;
        match resolution {
            Resolution::Saved => {
                save::done(state);
                return Ok(());
            }
            Resolution::InputChecked { results, more } => return conclude::take_input_results(state, results, more),
            _ => {}
        }
        let phase = std::mem::replace(&mut state.phase, Phase::TurnDue);
        state.phase = match (phase, resolution) {
            (Phase::TurnDue, Resolution::Prepared(setup)) => {
                state.turn = state.turn.saturating_add(1);
                state.start_due = false;
                Phase::ModelDue { setup }
            }
            (Phase::TurnDue, Resolution::Handled(handled)) => {
                let max_turns = state.max_turns.unwrap_or_default();
                conclude::handled(state, &Recoverable::MaxTurns { max_turns }, handled)?
            }
            (Phase::ModelDue { setup }, Resolution::Answered(response)) => {
                response::accept(state, &setup, &self.rules, response)?
            }
            (Phase::ResumeDue { round }, Resolution::Offered(tools)) => {
                resume::decide(state, *round, &tools, &self.rules)?
            }
            (Phase::ToolsDue { round }, Resolution::ToolsRan(outcomes)) => round::take(state, *round, outcomes),
            (Phase::ToolsDue { round }, Resolution::ToolsFailed { outcomes, found }) => {
                round::take_what_was_complete(state, round, outcomes, found)
            }
            (Phase::McpDue { round }, Resolution::McpAnswered(answers)) => round::take_answers(state, *round, answers),
            (Phase::ToolUseDue { round }, Resolution::ToolUseDecided(decided)) => {
                round::take_tool_use(state, *round, decided)
            }
            (Phase::HandoffDue { handoffs }, Resolution::HandedOff) => handoff::switch_agent(state, &handoffs),
            (Phase::RewriteDue { .. }, Resolution::Rewritten(rewritten)) => handoff::rewrite(state, rewritten),
            (Phase::OutputDue { .. }, Resolution::Parsed(Ok(value))) => conclude::message(value),
            (Phase::OutputDue { incomplete, .. }, Resolution::Parsed(Err(reason))) => {
                let reason = match incomplete {
                    Some(cut) => format!("{reason}; the model stopped early ({cut})"),
                    None => reason,
                };
                Phase::ErrorDue { error: Recoverable::InvalidFinalOutput { reason } }
            }
            (Phase::ErrorDue { error }, Resolution::Handled(handled)) => conclude::handled(state, &error, handled)?,
            (Phase::FinalDue { output }, Resolution::OutputChecked(results)) => {
                conclude::take_output_results(state, output, results, &self.rules)?
            }
            (phase, resolution) => unreachable!("the driver resolved {phase:?} with {resolution:?}"),
        };
        if matches!(state.phase, Phase::TurnDue) {
            // The turn is complete: an error from here on leaves it whole.
            state.turn_began = TurnMark::here(state);
            state.completed.clear();
        }
        Ok(())
    }

    /// Leaves the turn that an error has ended, and says what of it belongs in the session. Of the turn's items those stay
    /// that stand for effects: calls that ran, with their outputs. A run that failed in the middle of a turn cannot go on.
    pub fn abandon(&mut self, error: &RunError) -> Vec<Item> {
        abandon::run(&mut self.state, &self.rules, error)
    }

    /// The conversation as the handler of an error sees it: the input, then what has happened in the run, or, for an error of
    /// a model's answer, what the model was given of it.
    pub fn history(&self, error: &Recoverable) -> Vec<Item> {
        let ids = self.rules.reasoning_item_ids;
        let happened = match error {
            Recoverable::MaxTurns { .. } => input_items(&self.state.items, ids),
            _ => input_items(self.state.model_items(), ids),
        };
        self.state.input.iter().cloned().chain(happened).collect()
    }

    /// Counts what model calls inside a tool have used.
    pub fn count(&mut self, usage: &Usage) {
        self.state.usage.add(usage);
    }

    /// The tools each agent has used.
    pub fn tools_used(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.state.tools_used
    }
}

/// Whether the run is about to leave its first turn.
fn ends_the_first_turn(state: &RunState) -> bool {
    state.turn > 0 && matches!(state.phase, Phase::TurnDue | Phase::FinalDue { .. } | Phase::Interrupted { .. })
}

/// Applies a JSON merge patch (RFC 7396) to an object; a patch that is no object changes nothing.
pub(crate) fn merge_patch(target: &mut Map<String, Value>, patch: Value) {
    let Value::Object(patch) = patch else { return };
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.shift_remove(&key);
            }
            Value::Object(_) => {
                let mut inner = match target.get_mut(&key) {
                    Some(Value::Object(inner)) => std::mem::take(inner),
                    _ => Map::new(),
                };
                merge_patch(&mut inner, value);
                target.insert(key, Value::Object(inner));
            }
            value => {
                target.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
