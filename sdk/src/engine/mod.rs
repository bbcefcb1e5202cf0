//! The decisions of the agent loop: state and resolution in, next step out.
//!
//! Pure, synchronous and serialisable: no clock, no randomness, no I/O, no function of an author. [`Engine::next`]
//! says what is to be done, the driver does it, [`Engine::resolve`] takes what came of it. The state between two steps is
//! one [`RunState`], which can be stored and taken up elsewhere.

mod calls;
mod dedupe;
mod error;
mod request;
mod response;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

pub use error::{EffectError, RunError};

use crate::wire::{
    Item, ModelCall, ModelResponse, NewItem, NewItemKind, RunState, ToolOutput, WIRE_VERSION,
    run_state::{HandoffEnds, Phase, PlannedCall, PlannedHandoff, TurnSetup},
};

/// The text a model gets for a handoff beside the one that was taken.
const IGNORED_HANDOFF: &str = "Multiple handoffs detected, ignoring this one.";

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Ask the agent's functions what it is at this turn; answer with [`Resolution::Prepared`].
    PrepareTurn {
        /// The agent.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
    },
    /// Call the model; answer with [`Resolution::Answered`].
    CallModel(Box<ModelCall>),
    /// Call these tools, all at once; answer with [`Resolution::ToolsRan`].
    CallTools {
        /// The agent that calls.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// The calls, in the order of the response.
        calls: Vec<PlannedCall>,
    },
    /// Take this handoff; answer with [`Resolution::HandedOff`].
    TakeHandoff {
        /// The agent that hands off.
        agent: String,
        /// The handoff.
        handoff: PlannedHandoff,
    },
    /// Read this text as the agent's output type; answer with [`Resolution::Parsed`].
    ParseOutput {
        /// The agent.
        agent: String,
        /// The text.
        text: String,
    },
    /// The run is over.
    Done {
        /// The output: a string for plain text, else the parsed value.
        output: Value,
    },
    /// The run has made all the model calls it may.
    OutOfTurns {
        /// The limit.
        max_turns: u32,
        /// The agent whose turn it would be.
        agent: String,
    },
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resolution {
    /// What the agent is at this turn.
    Prepared(Box<TurnSetup>),
    /// What the model answered.
    Answered(ModelResponse),
    /// What the tools returned, in the order of the calls.
    ToolsRan(Vec<ToolOutcome>),
    /// The handoff was taken.
    HandedOff,
    /// The output, or what is wrong with the text.
    Parsed(Result<Value, String>),
}

/// What came of one tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutcome {
    /// The call.
    pub call_id: String,
    /// What the model gets.
    pub output: ToolOutput,
    /// Changes to the run context: a JSON merge patch, applied after all calls of the turn.
    pub context_patch: Option<Value>,
}

/// The agent loop of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    state: RunState,
}

impl Engine {
    /// A run that begins with this agent and input. `max_turns`: most model calls; `None` = no limit.
    pub fn start(
        agent: impl Into<String>,
        input: Vec<Item>,
        max_turns: Option<u32>,
        context: Map<String, Value>,
    ) -> Self {
        Self {
            state: RunState {
                version: WIRE_VERSION,
                agent: agent.into(),
                input,
                items: Vec::new(),
                turn: 0,
                max_turns,
                usage: crate::wire::Usage::default(),
                context,
                tools_used: BTreeMap::new(),
                last_response_id: None,
                patches: BTreeMap::new(),
                phase: Phase::TurnDue,
            },
        }
    }

    /// Takes up a run where its state stands.
    pub fn resume(state: RunState) -> Self {
        Self { state }
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

    /// The run's answer to `Host::patched`, asked once per slug.
    pub fn patched(&mut self, slug: &str, ask: impl FnOnce() -> bool) -> bool {
        *self.state.patches.entry(slug.to_owned()).or_insert_with(ask)
    }

    /// What is to be done next. Asking twice gives the same answer.
    pub fn next(&self) -> Step {
        let state = &self.state;
        let agent = || state.agent.clone();
        match &state.phase {
            Phase::TurnDue => match state.max_turns {
                Some(max_turns) if state.turn >= max_turns => Step::OutOfTurns { max_turns, agent: agent() },
                _ => Step::PrepareTurn { agent: agent(), turn: state.turn + 1 },
            },
            Phase::ModelDue { setup } => Step::CallModel(Box::new(request::model_call(state, setup))),
            Phase::ToolsDue { calls, .. } => Step::CallTools { agent: agent(), turn: state.turn, calls: calls.clone() },
            Phase::HandoffDue { handoffs } => Step::TakeHandoff { agent: agent(), handoff: handoffs[0].clone() },
            Phase::OutputDue { text, .. } => Step::ParseOutput { agent: agent(), text: text.clone() },
            Phase::Finished { output } => Step::Done { output: output.clone() },
        }
    }

    /// Takes what came of the step that [`next`](Self::next) gave.
    ///
    /// # Errors
    /// [`RunError`] when what came of it ends the run. The state then stands after the step, its items and usage kept.
    ///
    /// # Panics
    /// When the resolution answers another step than the one that is due: a bug of the driver.
    pub fn resolve(&mut self, resolution: Resolution) -> Result<(), RunError> {
        let phase = std::mem::replace(&mut self.state.phase, Phase::TurnDue);
        self.state.phase = match (phase, resolution) {
            (Phase::TurnDue, Resolution::Prepared(setup)) => {
                self.state.turn += 1;
                Phase::ModelDue { setup }
            }
            (Phase::ModelDue { setup }, Resolution::Answered(response)) => {
                response::accept(&mut self.state, &setup, response)?
            }
            (Phase::ToolsDue { calls, handoffs }, Resolution::ToolsRan(outcomes)) => {
                self.take_outcomes(&calls, outcomes);
                if handoffs.is_empty() { Phase::TurnDue } else { Phase::HandoffDue { handoffs } }
            }
            (Phase::HandoffDue { handoffs }, Resolution::HandedOff) => {
                self.switch_agent(&handoffs);
                Phase::TurnDue
            }
            (Phase::OutputDue { .. }, Resolution::Parsed(Ok(output))) => Phase::Finished { output },
            (Phase::OutputDue { incomplete, .. }, Resolution::Parsed(Err(reason))) => {
                let reason = match incomplete {
                    Some(cut) => format!("{reason}; the model stopped early ({cut})"),
                    None => reason,
                };
                return Err(RunError::InvalidOutput { agent: self.state.agent.clone(), reason });
            }
            (phase, resolution) => unreachable!("the driver resolved {phase:?} with {resolution:?}"),
        };
        Ok(())
    }

    fn take_outcomes(&mut self, calls: &[PlannedCall], outcomes: Vec<ToolOutcome>) {
        assert_eq!(calls.len(), outcomes.len(), "the driver gives one outcome per call, in the order of the calls");
        for ToolOutcome { call_id, output, context_patch } in outcomes {
            let raw = Item::function_call_output(&call_id, output.into_value());
            self.state.items.push(NewItem {
                kind: NewItemKind::ToolCallOutput,
                agent: self.state.agent.clone(),
                raw,
                handoff: None,
            });
            if let Some(patch) = context_patch {
                merge_patch(&mut self.state.context, patch);
            }
        }
    }

    fn switch_agent(&mut self, handoffs: &[PlannedHandoff]) {
        let (taken, ignored) = handoffs.split_first().expect("a handoff is due, so there is one");
        let source = std::mem::replace(&mut self.state.agent, taken.target.clone());
        for handoff in ignored {
            self.state.items.push(NewItem {
                kind: NewItemKind::ToolCallOutput,
                agent: source.clone(),
                raw: Item::function_call_output(&handoff.call_id, IGNORED_HANDOFF.into()),
                handoff: None,
            });
        }
        // With the space that the reference's JSON has: the text reaches the model.
        let message = json!({"assistant": taken.target}).to_string().replacen("\":", "\": ", 1);
        self.state.items.push(NewItem {
            kind: NewItemKind::HandoffOutput,
            agent: source.clone(),
            raw: Item::function_call_output(&taken.call_id, message.into()),
            handoff: Some(HandoffEnds { source, target: taken.target.clone() }),
        });
    }

    /// The tools each agent has used.
    pub fn tools_used(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.state.tools_used
    }
}

/// Applies a JSON merge patch (RFC 7396) to an object; a patch that is no object changes nothing.
fn merge_patch(target: &mut Map<String, Value>, patch: Value) {
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
