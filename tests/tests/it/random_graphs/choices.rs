//! A finite supply of choices. A generator that draws from it makes smaller things of fewer and smaller bytes, so that
//! whoever shrinks the bytes shrinks what is made of them.

/// Bytes to choose by; once they are used up, every choice is the first one.
pub(super) struct Choices(std::vec::IntoIter<u8>);

impl Choices {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into_iter())
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::from(self.0.next().unwrap_or_default()) % bound.max(1)
    }

    /// True once in so many times, and never when the choices are used up.
    pub(super) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// One of these.
    pub(super) fn of<T: Clone>(&mut self, all: &[T]) -> T {
        let place = self.below(all.len());
        all[place].clone()
    }

    /// So many values, at most.
    pub(super) fn up_to<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self, usize) -> T) -> Vec<T> {
        let count = self.below(most + 1);
        (0..count).map(|place| make(self, place)).collect()
    }
}
