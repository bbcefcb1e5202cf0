//! Pairs that do not fit as long as open pairs count as not fitting.

use std::collections::BTreeMap;

use super::Pair;

/// The pairs, each with the number of the outermost open pair that it depends on.
#[derive(Default)]
pub(super) struct Leaning {
    pairs: BTreeMap<Pair, usize>,
    /// The pairs since the last [`clear`](Self::clear), in the order in which they were added.
    order: Vec<Pair>,
    /// The number of pairs added before `order`.
    cleared: usize,
}

impl Leaning {
    pub(super) fn get(&self, pair: &Pair) -> Option<usize> {
        self.pairs.get(pair).copied()
    }

    pub(super) fn insert(&mut self, pair: Pair, depends_on: usize) {
        self.pairs.insert(pair, depends_on);
        self.order.push(pair);
    }

    pub(super) fn clear(&mut self) {
        self.pairs.clear();
        self.cleared += self.order.len();
        self.order.clear();
    }

    /// Returns the number of pairs added so far, also those that were cleared.
    pub(super) fn added(&self) -> usize {
        self.cleared + self.order.len()
    }

    /// Makes the pairs that were added after `added`, and that depend on an open pair from number
    /// `begun` on, depend on this one. Only those can: an earlier pair depends on a pair that was
    /// open before.
    pub(super) fn move_since(&mut self, added: usize, begun: usize, depends_on: usize) {
        for pair in &self.order[added.saturating_sub(self.cleared)..] {
            if let Some(index) = self.pairs.get_mut(pair).filter(|index| **index >= begun) {
                *index = depends_on;
            }
        }
    }
}
