//! The conformance suite on every host: what the OpenAI Agents SDK was observed to do, with the same script.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path, process::Command};

use anyhow::{Context, ensure};
use rstest::rstest;
use temporal_agents::wire::RunEvent;
use temporal_agents_testing::conformance::{self, Host, Observed};

use crate::run_events::Differences;

/// The number of scenarios in the suite. Change it with the scenarios.
const SCENARIOS: usize = 207;

/// Plays all scenarios and compares what was observed with what is expected.
async fn play(host: Host) -> anyhow::Result<Vec<Observed>> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance");
    let scenarios = suite.join("scenarios");
    let mut observed = Vec::new();
    conformance::run(&scenarios, host, |scenario| observed.push(scenario)).await?;

    let mut lines = String::new();
    for scenario in &observed {
        writeln!(lines, "{}", serde_json::to_string(scenario)?)?;
    }
    let results = tempfile::NamedTempFile::new()?;
    fs::write(results.path(), lines)?;
    let mut compare = Command::new("python3");
    compare.arg(suite.join("compare.py")).arg(&scenarios).arg("--quiet").arg("--results").arg(results.path());
    let output = compare.output().context("python3 is needed to compare")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let verdict = said.lines().last().unwrap_or_default();
    ensure!(verdict.ends_with(" passed, 0 failed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    ensure!(observed.len() == SCENARIOS, "the suite has {} scenarios, and {SCENARIOS} are known", observed.len());
    Ok(observed)
}

fn facts_of(observed: Vec<Observed>) -> BTreeMap<String, Vec<RunEvent>> {
    observed.into_iter().map(|scenario| (scenario.name, scenario.facts)).collect()
}

#[tokio::test]
async fn the_inline_host_does_what_the_reference_does() -> anyhow::Result<()> {
    play(Host::Inline).await?;
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Host::Workflow)]
#[case::with_batches_of_tools(Host::WorkflowBatched)]
#[case::without_it_and_with_pauses_carried_to_new_runs(Host::WorkflowUncached)]
#[tokio::test]
async fn the_workflow_host_does_what_the_reference_does_with_one_activity_per_effect(
    #[case] host: Host,
) -> anyhow::Result<()> {
    let (inline, mut differences) = (facts_of(play(Host::Inline).await?), Differences::default());
    for Observed { name, expect, activities, facts, .. } in play(host).await? {
        differences.compare(&name, &inline[&name], &facts);
        let activities = activities.with_context(|| format!("{name} has no histories"))?;
        let count = |member: &str| expect[member].as_array().map(Vec::len);
        assert_eq!(Some(activities.model), count("calls"), "model activities of {name}");
        assert_eq!(Some(activities.tools), count("tool_invocations"), "tool activities of {name}");
    }
    differences.finish();
    Ok(())
}

/// No scenario needs a workflow.
#[tokio::test]
async fn the_session_host_does_what_the_reference_does_in_one_attempt() -> anyhow::Result<()> {
    let (inline, mut differences) = (facts_of(play(Host::Inline).await?), Differences::default());
    for Observed { name, attempts, facts, .. } in play(Host::Session).await? {
        differences.compare(&name, &inline[&name], &facts);
        assert_eq!(attempts, Some(1), "attempts at {name}");
    }
    differences.finish();
    Ok(())
}

#[tokio::test]
async fn a_session_whose_attempts_fail_before_each_effect_does_what_the_reference_does() -> anyhow::Result<()> {
    let (inline, mut differences) = (facts_of(play(Host::Inline).await?), Differences::default());
    for Observed { name, expect, attempts, facts, .. } in play(Host::SessionInterrupted).await? {
        differences.compare(&name, &inline[&name], &facts);
        let count = |member: &str| expect[member].as_array().map_or(0, Vec::len);
        // The run and the end of the activity are effects, too; and the last attempt does not fail.
        let least = count("calls") + count("tool_invocations") + 3;
        let attempts = attempts.with_context(|| format!("{name} was not played in an activity"))?;
        assert!(attempts as usize >= least, "{name}: {attempts} attempts, and {least} were to be made");
    }
    differences.finish();
    Ok(())
}
