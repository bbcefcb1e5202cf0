//! How many definitions are in flight at a time: instructions, tools and schemas that travel inline.
//!
//! # Design
//! **No deploy may change a command that replay repeats.** Authors edit instructions and tools while
//! runs are open, so their size must not decide which calls wait. But the commands of one workflow
//! task have to fit into one message, so concurrent agents with large definitions do have to wait.
//! Calls therefore join groups: calls of one group travel together, and a group waits for all
//! earlier ones. All calls join, also those that refer to their definitions, because the next build
//! may send the same definitions inline. A new group begins where the definitions would be too large, and a marker records
//! that. On replay the markers alone decide, whatever size the definitions have by then.
//!
//! A run whose definitions fit, which is nearly every run, has no marker. Each marker costs two
//! events: the marker, and an update of the search attribute with the patches.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use super::gate::Gate;

/// Maximum size of the definitions of one group, in bytes of JSON.
pub(in crate::workflow) const MAX_GROUP_BYTES: usize = 600_000;

/// The groups of calls whose definitions travel inline.
#[derive(Debug, Default)]
pub(super) struct DefinitionGroups {
    newest: Cell<u64>,
    /// Size of the definitions in flight or waiting of the newest group.
    bytes: Cell<usize>,
    /// Calls of each group that wait or are in flight.
    open: RefCell<BTreeMap<u64, usize>>,
}

/// A call that belongs to a group. Dropping it leaves the group.
#[derive(Debug)]
pub(in crate::workflow) struct GroupMember<'g> {
    gate: &'g Gate,
    group: u64,
    bytes: usize,
}

impl DefinitionGroups {
    /// Returns `true` if calls of several groups are open, so that some may wait.
    pub(super) fn has_waiting(&self) -> bool {
        self.open.borrow().len() > 1
    }

    /// Adds a call with inline definitions of this size, 0 for a reference, and returns its group.
    /// `begins_group` records whether the call begins a new one; its argument says whether it has to.
    fn join(&self, bytes: usize, begins_group: impl FnOnce(bool) -> bool) -> u64 {
        let before = self.bytes.get();
        let is_over = bytes > 0 && before > 0 && before.saturating_add(bytes) > MAX_GROUP_BYTES;
        if begins_group(is_over) {
            self.newest.set(self.newest.get() + 1);
            self.bytes.set(bytes);
        } else {
            self.bytes.set(before.saturating_add(bytes));
        }
        *self.open.borrow_mut().entry(self.newest.get()).or_default() += 1;
        self.newest.get()
    }

    fn leave(&self, group: u64, bytes: usize) {
        if group == self.newest.get() {
            self.bytes.set(self.bytes.get().saturating_sub(bytes));
        }
        let mut open = self.open.borrow_mut();
        if let Some(calls) = open.get_mut(&group) {
            *calls -= 1;
            if *calls == 0 {
                open.remove(&group);
            }
        }
    }
}

impl<'g> GroupMember<'g> {
    /// Joins the model calls in flight; see [`DefinitionGroups::join`].
    pub(in crate::workflow) fn join(gate: &'g Gate, bytes: usize, begins_group: impl FnOnce(bool) -> bool) -> Self {
        Self { gate, group: gate.definitions().join(bytes, begins_group), bytes }
    }

    /// Returns `true` if no call of an earlier group is open.
    pub(super) fn is_first(&self) -> bool {
        self.gate.definitions().open.borrow().first_key_value().is_none_or(|(first, _)| *first >= self.group)
    }
}

impl Drop for GroupMember<'_> {
    fn drop(&mut self) {
        self.gate.definitions().leave(self.group, self.bytes);
        self.gate.left();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_is_closed_when_definitions_are_too_large() {
        let groups = DefinitionGroups::default();
        let joins = |bytes| groups.join(bytes, |is_over| is_over);
        assert_eq!([300_000, 300_000, 1, 900_000, 1].map(joins), [0, 0, 1, 2, 3]);
        assert_eq!(joins(0), 3, "a reference takes no room");
        groups.leave(3, 1);
        assert_eq!([600_000, 1].map(joins), [3, 4]);
    }

    #[test]
    fn recorded_answer_decides_whatever_the_size() {
        let groups = DefinitionGroups::default();
        assert_eq!(groups.join(10_000_000, |_| false), 0);
        assert_eq!(groups.join(10_000_000, |_| false), 0);
        assert_eq!(groups.join(1, |_| true), 1);
    }
}
