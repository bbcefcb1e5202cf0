//! States of runs: in every phase, and with all that a state may hold.

mod parts;
mod phases;
mod round;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Map;

use super::trace_settings;
use crate::wire::{
    GuardrailResults, Item, RunState, ToolsetSnapshot, Usage, WIRE_VERSION,
    run_state::{Admission, Approvals, Phase, TurnMark},
};

/// A state in every phase, and some with everything else there may be.
pub(in crate::wire::tests) fn run_states() -> Vec<(&'static str, RunState)> {
    let mut states: Vec<_> = phases::phases().into_iter().map(|(kind, phase)| (kind, state(phase))).collect();
    states.extend([
        ("everything", parts::everything()),
        ("first_turn", parts::first_turn()),
        ("decided", parts::decided()),
        ("decided_by", parts::decided_by()),
        ("in_session", parts::in_session()),
        ("begun_here", parts::begun_here()),
        ("listed", parts::listed()),
        ("selected", parts::with_selected()),
        ("edited", parts::edited()),
        ("expires", parts::expires()),
        ("kept", parts::kept()),
        ("side_data", parts::side_data()),
        ("traced", RunState { trace: Some(Box::new(trace_settings())), ..state(Phase::TurnDue) }),
        ("shown", RunState { shown: BTreeSet::from(["call_1".to_owned()]), ..state(Phase::TurnDue) }),
    ]);
    // Not in the array, which has a place on the stack.
    states.push((
        "incomplete",
        RunState { incomplete: Some("max_output_tokens".to_owned()), unanswered: 1, ..state(Phase::TurnDue) },
    ));
    states.push(("refused", parts::refused()));
    states
}

/// A state that holds as little as may be.
fn state(phase: Phase) -> RunState {
    RunState {
        version: WIRE_VERSION,
        agent: "triage".to_owned(),
        input: vec![Item::user("hi")],
        items: Vec::new(),
        rewritten: None,
        turn: 0,
        max_turns: None,
        usage: Usage::default(),
        context: Map::new(),
        tools_used: BTreeMap::new(),
        last_response_id: None,
        incomplete: None,
        unanswered: 0,
        start_due: false,
        admission: Admission::Admitted,
        guardrails: GuardrailResults::default(),
        approvals: Approvals::default(),
        server: None,
        mcp_sessions: Vec::new(),
        toolset: ToolsetSnapshot::default(),
        kept: None,
        expiries: BTreeMap::new(),
        session: None,
        turn_began: TurnMark::default(),
        holds_back_turn: false,
        completed: Vec::new(),
        refused: BTreeMap::new(),
        shown: BTreeSet::new(),
        patches: BTreeMap::new(),
        key_scope: None,
        trace: None,
        phase,
    }
}
