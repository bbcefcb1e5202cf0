//! The decisions of the agent loop: state and resolution in, next step out.
//!
//! Pure, synchronous and serializable: no clock, no randomness, no I/O, no function of an author.
//! [`Engine::next`] returns the next step, the driver executes it, and [`Engine::resolve`] applies
//! the result. The state between two steps is one [`RunState`], which can be stored and resumed
//! elsewhere.
//!
//! # Design
//! The rules are those of the OpenAI Agents SDK, including the messages that models receive;
//! `RunError::reference` returns an error as that SDK reports it. Not implemented in 0.1: implicit
//! settings for gpt-5 models, raw responses on results (history has them), input that is staged on
//! a state (`add_input`), parameters and input builders of agents used as tools, and failed
//! attempts in `usage.requests` (Temporal counts the attempts).

mod abandon;
mod blocked;
mod calls;
mod compact;
mod conclude;
mod dedupe;
mod error;
mod fits;
mod handoff;
mod incomplete;
mod lost_conversation;
mod native;
mod orphans;
mod refused;
mod request;
mod response;
mod resume;
mod round;
mod rules;
mod save;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

pub use compact::{check_pairs, json_len_of, start_of_newest};
pub use dedupe::{Once, once};
pub use error::TriedFor;
pub use error::{ReferenceError, RunError};
pub use fits::unknown_agent;
pub use fits::{StateIssue, StateMismatch, check_fit};
pub use lost_conversation::ConversationLost;
pub use native::NATIVE_CALLS_MADE;
pub use orphans::without_orphan_calls;
pub use response::CALLS_LIMITED;
pub use rules::{IncompleteAnswers, MAX_CALLS_PER_RESPONSE, ReasoningItemIds, Rules, UnknownTools};
pub use save::input_items;
pub use step::{CallResult, DueCall, HandlerOutput, RefusedArguments, Resolution, Step, ToolOutcome};

use crate::wire::{
    Item, ModelResponse, RunState, ToolsetSnapshot, TraceSettings, Usage, WIRE_VERSION,
    kept_decision::KeptDecisions,
    mcp_call::McpSession,
    run_state::{
        Admission, Approvals, GuardrailResults, Phase, Recoverable, ServerConversation, SessionProgress, TurnMark,
    },
};

/// The initial values of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Beginning {
    /// Name of the first agent.
    pub agent: String,
    /// The input of the first model call.
    pub input: Vec<Item>,
    /// Maximum number of model calls; `None` means no limit.
    pub max_turns: Option<u32>,
    /// The run context.
    pub context: Map<String, Value>,
    /// The part of the input that the session does not have yet; `None` without a session.
    pub session_input: Option<Vec<Item>>,
    /// The conversation at the provider, if the provider keeps one.
    pub server: Option<ServerConversation>,
}

/// The agent loop of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    state: RunState,
    rules: Rules,
    /// Ids of the approval requests in the next response on which a decision is kept.
    kept_requests: BTreeSet<String>,
}

impl Engine {
    /// Starts a run with these initial values.
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
            incomplete: None,
            unanswered: 0,
            start_due: true,
            admission: Admission::BlockingDue,
            guardrails: GuardrailResults::default(),
            approvals: Approvals::default(),
            server,
            session: session_input.map(|input| SessionProgress { input, saved: 0 }),
            mcp_sessions: Vec::new(),
            toolset: ToolsetSnapshot::default(),
            kept: None,
            expiries: BTreeMap::new(),
            turn_began: TurnMark::default(),
            holds_back_turn: false,
            completed: Vec::new(),
            refused: BTreeMap::new(),
            shown: BTreeSet::new(),
            patches: BTreeMap::new(),
            key_scope: None,
            trace: None,
            phase: Phase::TurnDue,
        };
        Self { state, rules, kept_requests: BTreeSet::new() }
    }

    /// Resumes a run from its state. Decisions on pending calls take effect; without any, the run
    /// stays interrupted.
    pub fn resume(state: RunState, rules: Rules) -> Self {
        // From here on, the state is written in the version of this build, whatever build it comes
        // from.
        let mut engine = Self::go_on(state, rules);
        resume::take_up(&mut engine.state);
        engine
    }

    /// Continues a run at exactly the step of its state, without a resumption: undecided questions
    /// are not listed again.
    pub fn go_on(state: RunState, rules: Rules) -> Self {
        Self { state: RunState { version: WIRE_VERSION, ..state }, rules, kept_requests: BTreeSet::new() }
    }

    /// Returns the state between two steps.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Returns the state of a run that is over.
    pub fn into_state(self) -> RunState {
        self.state
    }

    /// Returns the run context, for the author's functions that may change it.
    pub fn context_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.state.context
    }

    /// Returns the unique scope of this run's idempotency keys. Calls `ask` only the first time.
    pub fn key_scope(&mut self, ask: impl FnOnce() -> String) -> &str {
        self.state.key_scope.get_or_insert_with(ask)
    }

    /// Keeps the ids of the calls of this turn whose outputs an effect of the host shows.
    pub fn set_shown(&mut self, shown: &BTreeSet<String>) {
        if self.state.shown != *shown {
            self.state.shown.clone_from(shown);
        }
    }

    /// Returns the run's sessions with stateful MCP servers. The driver takes them out while it is
    /// active.
    pub fn mcp_sessions_mut(&mut self) -> &mut Vec<McpSession> {
        &mut self.state.mcp_sessions
    }

    /// Returns the tools that the run may use beyond those of its agents.
    pub fn toolset_mut(&mut self) -> &mut ToolsetSnapshot {
        &mut self.state.toolset
    }

    /// Returns the decisions that are kept for the user of the run.
    pub fn kept_mut(&mut self) -> &mut Option<KeptDecisions> {
        &mut self.state.kept
    }

    /// Sets the ids of the approval requests of hosted MCP servers in the response that is resolved
    /// next which a kept decision answers, and no person.
    pub fn set_kept_requests(&mut self, ids: BTreeSet<String>) {
        self.kept_requests = ids;
    }

    /// Sets the settings of the run's trace.
    pub fn set_trace(&mut self, trace: Option<Box<TraceSettings>>) {
        self.state.trace = trace;
    }

    /// Returns the result of `Host::patched` for this run. Calls `ask` only once per slug.
    pub fn patched(&mut self, slug: &str, ask: impl FnOnce() -> bool) -> bool {
        *self.state.patches.entry(slug.to_owned()).or_insert_with(ask)
    }

    /// Returns `true` if a response has more calls than [`Rules::max_calls_per_response`].
    ///
    /// Runs that began before the limit existed are exempt: their patch decides when the response
    /// is resolved.
    pub fn has_too_many_calls(&self, response: &ModelResponse) -> bool {
        let natives: &[String] = match &self.state.phase {
            Phase::ModelDue { setup } => &setup.native_tools,
            _ => &[],
        };
        response::calls_of(natives, &response.output) > self.rules.max_calls_per_response
    }

    /// Returns `true` if a response has a call that nothing makes, of a tool that the provider
    /// defines. As with [`has_too_many_calls`](Self::has_too_many_calls), a patch decides what
    /// follows.
    pub fn has_call_that_nothing_makes(&self, response: &ModelResponse) -> bool {
        let Phase::ModelDue { setup } = &self.state.phase else { return false };
        native::has_call_that_nothing_makes(setup, response)
    }

    /// Returns the next step. Does not change the state: a repeated call returns the same step.
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

    /// Applies the result of the step that [`next`](Self::next) returned.
    ///
    /// # Errors
    /// [`RunError`] if the result ends the run. The state is then at the end of that step, with its
    /// items and usage; [`abandon`](Self::abandon) trims the turn.
    ///
    /// # Panics
    /// If the resolution does not match the due step: a bug of the driver.
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
                response::accept(state, &setup, &self.rules, response, std::mem::take(&mut self.kept_requests))?
            }
            (Phase::ResumeDue { round }, Resolution::Offered(tools)) => {
                resume::decide(state, *round, &tools, &self.rules)?
            }
            (Phase::ToolsDue { round }, Resolution::ToolsRan(outcomes)) => {
                let ending = refused::count(state, &round, &outcomes);
                let phase = round::take(state, *round, outcomes);
                match ending {
                    Some(error) => return Err(error),
                    None => phase,
                }
            }
            (Phase::ToolsDue { round }, Resolution::ToolsFailed { outcomes, found }) => {
                round::apply_completed_outcomes(state, round, outcomes, found)
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
            // The turn is complete: a later error does not remove its items.
            state.turn_began = TurnMark::here(state);
            state.completed.clear();
        }
        Ok(())
    }

    /// Abandons the turn that an error has ended, and returns its items that belong in the session.
    /// Of the turn's items, those that represent effects are kept: calls that ran, with their
    /// outputs. A run that failed in the middle of a turn cannot be resumed.
    pub fn abandon(&mut self, error: &RunError) -> Vec<Item> {
        abandon::run(&mut self.state, &self.rules, error)
    }

    /// Returns the conversation for the handler of an error: the input, then the items of the run.
    /// For an error of a model's answer, the items are those that the model received.
    pub fn history(&self, error: &Recoverable) -> Vec<Item> {
        let ids = self.rules.reasoning_item_ids;
        let happened = match error {
            Recoverable::MaxTurns { .. } => input_items(&self.state.items, ids),
            _ => input_items(self.state.model_items(), ids),
        };
        self.state.input.iter().cloned().chain(happened).collect()
    }

    /// Adds the usage of model calls that the engine did not request: those of tools, or of a
    /// summary.
    pub fn count(&mut self, usage: &Usage) {
        self.state.usage.add(usage);
    }

    /// Returns the names of the tools that each agent has used, by agent name.
    pub fn tools_used(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.state.tools_used
    }
}

/// Returns `true` if the run is about to leave its first turn.
fn ends_the_first_turn(state: &RunState) -> bool {
    state.turn > 0 && matches!(state.phase, Phase::TurnDue | Phase::FinalDue { .. } | Phase::Interrupted { .. })
}

/// Applies a JSON merge patch (RFC 7396) to an object; a patch that is not an object changes
/// nothing.
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
