//! Measures replays of a history: the cost of a worker that has to rebuild a workflow from its
//! history.

use std::{fs, iter::repeat_n, path::Path, time::Instant};

use anyhow::Context;
use prost::Message;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use temporal_agents_testing::history::History;
use temporal_agents_tests::bench::worker;
use temporalio_client::WorkflowHistory;
use temporalio_sdk::workflow_replayer::WorkflowReplayer;

use crate::clock::{own_cpu_ms, peak_kib};

/// The measured cost of `n` replays.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) n: usize,
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    pub(crate) rss_peak_kb: u64,
}

/// Restricts this process to the first CPU that it may use; must be called before the process has
/// other threads.
///
/// A replay is sequential, on two threads that wait for each other at each step. On two CPUs most
/// of its time is spent on waking the other thread, which is unrelated to the cost of the workflow.
pub(crate) fn keep_to_one_cpu() -> anyhow::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).context("this process may use no CPU")?;
    let mut one = CpuSet::new();
    one.set(first);
    Ok(sched_setaffinity(None, &one)?)
}

pub(crate) async fn replay(history: &Path, n: usize, warmup: usize) -> anyhow::Result<()> {
    let file = history.with_extension("bin");
    let bytes = fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
    let history = History::decode(&*bytes).with_context(|| format!("{} does not contain a history", file.display()))?;
    let replayer = worker::replayer()?;
    replay_all(&replayer, copies(&history, warmup)).await?;
    let histories = copies(&history, n);
    let (began, cpu) = (Instant::now(), own_cpu_ms());
    replay_all(&replayer, histories).await?;
    let (wall, cpu) = (began.elapsed(), own_cpu_ms() - cpu);
    let report = Report { n, wall_s: wall.as_secs_f64(), cpu_s: cpu / 1e3, rss_peak_kb: peak_kib("self")? };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

fn copies(history: &History, n: usize) -> Vec<WorkflowHistory> {
    repeat_n(history, n).map(|history| WorkflowHistory::from(history.clone())).collect()
}

/// Replays the histories with one replayer, in sequence. Each replay has a separate worker, whose
/// start is part of the measurement: of several histories of the same run, `replay_workflows`
/// silently replays only some.
async fn replay_all(replayer: &WorkflowReplayer, histories: Vec<WorkflowHistory>) -> anyhow::Result<()> {
    for history in histories {
        replayer.replay_workflow(history).await?;
    }
    Ok(())
}
