//! Choices by a seed: SplitMix64, which is the same on each machine.

/// A source of choices.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below this one, which is not zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end as u64).expect("below a usize")
    }

    /// Returns `true` so many times in a hundred.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Returns the number of cases: `SEEDS`, or this one.
pub(super) fn cases(default: u64) -> u64 {
    number("SEEDS").unwrap_or(default)
}

/// Returns the seed of a case.
pub(super) fn seed(case: u64) -> u64 {
    number("AGENTS_TEST_SEED").unwrap_or(40).wrapping_mul(1_000_003).wrapping_add(case)
}

#[expect(clippy::disallowed_methods, reason = "a test, and no workflow")]
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
