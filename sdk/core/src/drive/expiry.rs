//! The times at which the questions of a run expire.
//!
//! # Design
//! **The time is fixed when the run first waits for the question**, and is a part of its state: a
//! run that continues as new, or waits for another question meanwhile, does not prolong it. A host
//! whose runs do not wait (`InlineRunner`) sets none: whoever resumes the run decides.

use std::time::Duration;

use super::{env::Env, host::Host};
use crate::wire::{Decision, RunState, SelectedToolset, ToolsetKind, run_state::Expiry};

/// The patch of runs whose questions expire.
const QUESTIONS_EXPIRE: &str = "temporal-agents/questions-expire";

/// Time after which a question about a call of a device expires, unless the run says another one.
const OF_DEVICES: Duration = Duration::from_mins(10);

/// Forgets the times of questions that are decided: a call can ask again under the same id, and
/// that question has a time of its own.
pub(super) fn forget_decided(state: &mut RunState) {
    if !state.expiries.is_empty() {
        let asked = state.interruptions();
        state.expiries.retain(|id, _| asked.iter().any(|question| question.id == *id));
    }
}

/// Sets the times for the questions that have none yet, and forgets those of the others.
pub(super) fn set<H: Host>(env: &Env<'_, H>, state: &mut RunState) {
    forget_decided(state);
    let asked = state.interruptions();
    let selected = env.selected();
    let of_device = |tool: &str| {
        let is_of =
            |toolset: &SelectedToolset| toolset.kind == ToolsetKind::Device && tool.starts_with(&*toolset.prefix);
        selected.iter().any(|def| def.name() == tool) && state.toolset.selected.iter().any(is_of)
    };
    let rule = |tool: &str| match &env.config.question_expiry {
        Some((after, decision)) => Some((*after, decision.clone())),
        None => of_device(tool).then(|| {
            let minutes = OF_DEVICES.as_secs() / 60;
            (OF_DEVICES, Decision::reject_with(format!("Nobody has approved this call within {minutes} minutes.")))
        }),
    };
    let new: Vec<_> = asked
        .iter()
        .filter(|question| !state.expiries.contains_key(&question.id))
        .filter_map(|question| Some((question.id.clone(), rule(&question.tool)?)))
        .collect();
    if new.is_empty() {
        return;
    }
    let Some(now) = env.host.now_millis() else { return };
    if !env.host.patched(QUESTIONS_EXPIRE) {
        return;
    }
    for (id, (after, decision)) in new {
        let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
        state.expiries.insert(id, Expiry { at: now.saturating_add(after), decision });
    }
}
