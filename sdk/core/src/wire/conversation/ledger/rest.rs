//! A ledger between two runs, or while its run waits: without what only a call needs.
//!
//! The references that later calls have are the same.

use std::rc::Rc;

use super::{Ledger, is_same};

impl Ledger {
    /// Drops what the agents of the next call have: the definitions. Nothing else is dropped,
    /// because a run that waits continues its conversations.
    pub fn rest(&mut self) {
        for entry in &mut self.definitions {
            entry.rest();
        }
        self.definitions.shrink_to_fit();
    }

    /// Drops, in addition, the conversations of runs that have ended and that are the beginning of
    /// the latest one, as in a chat: a call that has begun like them has begun like that one.
    pub fn rest_between_runs(&mut self) {
        self.rest();
        let Some((_, latest)) = self.chains.last() else { return };
        let latest = Rc::clone(&latest.items);
        let last = self.chains.len() - 1;
        let mut place = 0;
        self.chains.retain(|(_, given)| {
            let is_last = place == last;
            place += 1;
            let is_beginning = given.items.len() <= latest.len()
                && latest.iter().zip(&*given.items).all(|(one, other)| is_same(&one.item, &other.item));
            is_last || !is_beginning
        });
        self.chains.shrink_to_fit();
        drop(latest);
        if let Some(items) = self.chains.last_mut().and_then(|(_, given)| Rc::get_mut(&mut given.items)) {
            items.shrink_to_fit();
        }
    }
}
