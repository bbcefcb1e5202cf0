//! The ids of calls and of their deltas: `<id of the call>#<attempt>.<number>`.

use temporal_agents_core::wire::{EventKind, RunEvent};

use super::{Place, fact_id};

/// A call of a run, as the id of its activity names it.
pub(crate) struct CallOfRun<'i> {
    pub(crate) place: Place<'i>,
    /// Id of the effect in the run: `2-model`.
    pub(crate) effect: &'i str,
    /// Id with which the ids of its facts and deltas begin: `k3x9q2ab/2-model`.
    pub(crate) id: String,
}

impl<'i> CallOfRun<'i> {
    /// Returns the call of the activity with this id; `None` if it is no activity of a run.
    pub(crate) fn of(activity_id: &'i str) -> Option<Self> {
        let place = Place::of(activity_id)?;
        let effect = activity_id.strip_prefix(place.run)?.trim_start_matches('-');
        let id = fact_id(place.run, effect);
        Some(Self { place, effect, id })
    }
}

/// Returns the prefix of the ids of an attempt's deltas: `k3x9q2ab/2-model#1`.
pub(crate) fn attempt_id(call: &str, attempt: u32) -> String {
    format!("{call}#{attempt}")
}

/// Returns the call, the attempt and the number of a delta's id.
pub(crate) fn delta_of(id: &str) -> Option<(&str, u32, u64)> {
    let (call, of_attempt) = id.rsplit_once('#')?;
    let (attempt, number) = of_attempt.split_once('.')?;
    Some((call, attempt.parse().ok()?, number.parse().ok()?))
}

/// Returns an id without the suffix that distinguishes it from those before a reset, and that
/// suffix: `k3x9q2ab~1f2e3d4c/2-model` has `~1f2e3d4c`.
pub(crate) fn without_suffix(id: &str) -> (String, &str) {
    let run = id.find('/').unwrap_or(id.len());
    match id[..run].find('~') {
        Some(suffix) => (format!("{}{}", &id[..suffix], &id[run..]), &id[suffix..run]),
        None => (id.to_owned(), ""),
    }
}

/// Adds the suffix of a reset to the ids of a delta, so that they join those of its facts.
pub(crate) fn with_suffix(mut delta: RunEvent, suffix: &str) -> RunEvent {
    if !suffix.is_empty() {
        let run = delta.run.clone();
        let add = |id: &mut String| {
            if let Some(rest) = id.strip_prefix(&*run).filter(|rest| rest.starts_with('/')) {
                *id = format!("{run}{suffix}{rest}");
            }
        };
        add(&mut delta.id);
        match &mut delta.kind {
            EventKind::TextDelta { message_id, .. }
            | EventKind::ReasoningDelta { message_id, .. }
            | EventKind::ToolArgumentsDelta { message_id, .. } => add(message_id),
            _ => {}
        }
    }
    delta
}

/// The deltas of one call that a reader has received, without gaps.
#[derive(Debug, Default)]
pub(crate) struct DeltaOrder {
    attempt: u32,
    /// Number of the next delta.
    next: u64,
    /// `true` if a delta of the attempt is missing.
    is_broken: bool,
}

impl DeltaOrder {
    /// Returns the number of the next delta of an attempt.
    pub(crate) fn next_number(&self, attempt: u32) -> u64 {
        if attempt == self.attempt { self.next } else { 0 }
    }

    /// Takes the number of the next delta of an attempt.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn take_number(&mut self, attempt: u32) -> u64 {
        let number = self.next_number(attempt);
        self.record(attempt, number);
        number
    }

    /// Records a delta. Returns `true` if it is new and no earlier delta of the attempt is missing.
    pub(crate) fn record(&mut self, attempt: u32, number: u64) -> bool {
        if attempt > self.attempt {
            *self = Self { attempt, ..Self::default() };
        }
        if attempt < self.attempt || number < self.next {
            return false;
        }
        self.is_broken |= number > self.next;
        self.next = number + 1;
        !self.is_broken
    }
}

#[cfg(test)]
mod tests;
