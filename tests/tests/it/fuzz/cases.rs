//! How many cases are played, and from which seed.

use std::fmt::Debug;

use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

/// The numbers of a test, from the environment.
fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// Checks inputs, so many unless `SEEDS` says otherwise; a panic counts as a failure.
pub(super) fn check<S>(cases: u32, inputs: &S, test: impl Fn(S::Value) -> anyhow::Result<()>) -> anyhow::Result<()>
where
    S: Strategy,
    S::Value: Debug,
{
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number("AGENTS_TEST_SEED", 20_261_122_u64).to_le_bytes());
    let cases = number("SEEDS", cases);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 1000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let failed = |error: anyhow::Error| TestCaseError::fail(format!("{error:#}"));
    match runner.run(inputs, |input| test(input).map_err(failed)) {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, input)) => anyhow::bail!("{reason}\n{input:?}"),
        Err(TestError::Abort(reason)) => anyhow::bail!("the runner gave up: {reason}"),
    }
}
