//! A schedule of values that are due periodically until they are removed. It has no clock: its
//! callers pass the time.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// Values, each due once per period.
pub(super) struct Schedule<T> {
    entries: BTreeMap<u64, Entry<T>>,
    /// Due time and number of each entry, the earliest first.
    due: BTreeSet<(Instant, u64)>,
    next_number: u64,
}

struct Entry<T> {
    value: T,
    due: Instant,
    period: Duration,
}

impl<T: Clone> Schedule<T> {
    /// Adds a value that is due one `period` from now, and once per period after that. Returns its
    /// number and the time at which it is first due.
    pub(super) fn add(&mut self, value: T, period: Duration, now: Instant) -> (u64, Instant) {
        let (number, due) = (self.next_number, now + period);
        self.next_number += 1;
        self.due.insert((due, number));
        self.entries.insert(number, Entry { value, due, period });
        (number, due)
    }

    /// Removes a value and returns it, if the schedule contains it.
    pub(super) fn remove(&mut self, number: u64) -> Option<T> {
        let Entry { value, due, period: _ } = self.entries.remove(&number)?;
        self.due.remove(&(due, number));
        Some(value)
    }

    /// Returns the time at which the next value is due.
    pub(super) fn first(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Returns the values that are due by now, in order. Each is due again one period from now: a
    /// value that was late is not due twice.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<T> {
        let mut taken = Vec::new();
        while let Some((_, number)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            self.due.pop_first();
            if let Some(entry) = self.entries.get_mut(&number) {
                entry.due = now + entry.period;
                self.due.insert((entry.due, number));
                taken.push(entry.value.clone());
            }
        }
        taken
    }
}

impl<T> Default for Schedule<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), due: BTreeSet::new(), next_number: 0 }
    }
}

#[cfg(test)]
mod tests;
