//! Random graphs of agents with random scripts: whatever they do, every host does the same, and histories replay.
//!
//! The seed is printed. Another one is played with `AGENTS_TEST_SEED=7 cargo test random_graphs`; without it the tests play
//! the same graphs each time, so that a failure is the doing of the change at hand.

mod agents;
mod choices;
mod scenario;
mod script;

use std::collections::BTreeMap;

use proptest::{
    collection::vec,
    prelude::any,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};
use rstest::rstest;
use serde_json::Value;
use temporal_agents_testing::conformance::{Host, Observed, play_all};

use scenario::scenario;

use crate::run_events::Differences;

const INLINE: u32 = 250;
const ON_THE_SERVER: usize = 48;

/// Choices enough for the largest graphs.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 500..3000)
}

/// A runner whose choices come from the seed.
fn runner(what: &str) -> TestRunner {
    let seed: u64 = std::env::var("AGENTS_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_121);
    println!("{what}: AGENTS_TEST_SEED={seed}");
    let mut long = [0; 32];
    long[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases: INLINE, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &long))
}

/// What a host makes of each scenario.
async fn play(scenarios: &[(String, Value)], host: Host) -> anyhow::Result<BTreeMap<String, Observed>> {
    let mut observed = BTreeMap::new();
    play_all(scenarios, host, |scenario| drop(observed.insert(scenario.name.clone(), scenario))).await?;
    Ok(observed)
}

/// What must be the same on every host: all that was observed, but for the order of what runs side by side, and for the
/// calls that a failure beside them may have cancelled before they began.
fn comparable(observed: &Observed) -> Value {
    let mut expect = observed.expect.clone();
    for (list, by) in [("calls", "agent"), ("tool_invocations", "call_id")] {
        if let Some(calls) = expect[list].as_array_mut() {
            calls.sort_by_key(|call| call[by].as_str().unwrap_or_default().to_owned());
        }
    }
    if expect["outcome"]["kind"] == "error" {
        expect["tool_invocations"].take();
    }
    expect
}

/// `true` if nothing was cancelled: how far a cancelled call came depends on timing.
fn is_settled(observed: &Observed) -> bool {
    observed.expect["outcome"]["kind"] != "error"
}

/// Where two values differ first, and how.
fn difference(one: &Value, other: &Value) -> Option<String> {
    let within = |place: &dyn std::fmt::Display, one: &Value, other: &Value| {
        difference(one, other).map(|rest| format!("/{place}{rest}"))
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            one.iter().find_map(|(name, value)| within(name, value, &other[name]))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut places = one.iter().zip(other).enumerate();
            places.find_map(|(place, (one, other))| within(&place, one, other))
        }
        (one, other) => (one != other).then(|| format!(": {one} instead of {other}")),
    }
}

/// What no run may do, whatever its agents and models are like.
fn complaint(observed: &Observed) -> Option<&str> {
    let complaint = observed.expect["driver_error"].as_str()?;
    // Scripts are written without running them: that one ends is no fault of the run's.
    (!complaint.starts_with("the script has no response left")).then_some(complaint)
}

#[test]
fn every_state_of_a_run_survives_json_and_a_run_does_the_same_twice() -> anyhow::Result<()> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let checked = runner("inline").run(&bytes(), |bytes| {
        let scenarios = [("random".to_owned(), scenario("random", bytes))];
        let play =
            || tokio.block_on(play(&scenarios, Host::Inline)).map_err(|error| TestCaseError::fail(error.to_string()));
        let (first, second) = (play()?, play()?);
        // The inline host writes and reads the state after each step, and complains when it is not the same.
        if let Some(complaint) = complaint(&first["random"]) {
            return Err(TestCaseError::fail(format!("{complaint}\n{}", scenarios[0].1)));
        }
        proptest::prop_assert_eq!(comparable(&first["random"]), comparable(&second["random"]), "{}", scenarios[0].1);
        Ok(())
    });
    match checked {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, _)) => anyhow::bail!("{reason}"),
        Err(TestError::Abort(reason)) => anyhow::bail!("the runner gave up: {reason}"),
    }
}

/// The scenarios that are played on the server.
fn scenarios() -> anyhow::Result<Vec<(String, Value)>> {
    let mut runner = runner("on the server");
    let mut scenarios = Vec::new();
    for place in 0..ON_THE_SERVER {
        let bytes = bytes().new_tree(&mut runner).map_err(|reason| anyhow::anyhow!("no bytes: {reason}"))?.current();
        let name = format!("random-{place}");
        scenarios.push((name.clone(), scenario(&name, bytes)));
    }
    Ok(scenarios)
}

#[rstest]
#[case::the_workflow_host_and_every_history_replays(&[Host::Workflow, Host::WorkflowUncached])]
#[case::a_session_whose_attempts_fail_before_each_effect(&[Host::SessionInterrupted])]
#[tokio::test]
async fn the_same_as_inline_is_done_by(#[case] hosts: &[Host]) -> anyhow::Result<()> {
    let scenarios = scenarios()?;
    let inline = play(&scenarios, Host::Inline).await?;
    let (mut differences, mut facts) = (Vec::new(), Differences::default());
    for host in hosts {
        let durable = play(&scenarios, *host).await?;
        for (name, json) in &scenarios {
            // A history that does not replay, with the cache or without, is a complaint, too.
            assert_eq!(complaint(&durable[name]), None, "{host:?} {json}");
            // Concurrent calls of a run that fails have no outcome that all hosts share.
            if is_settled(&inline[name]) {
                facts.compare(&format!("{host:?} {json}"), &inline[name].facts, &durable[name].facts);
            }
            if let Some(place) = difference(&comparable(&durable[name]), &comparable(&inline[name])) {
                differences.push(format!("{host:?} does something else than the inline host: {place}\n{json}"));
            }
        }
    }
    anyhow::ensure!(differences.is_empty(), "{}", differences.join("\n\n"));
    facts.finish();
    Ok(())
}
