//! Measures thousands of turns that continue as new: their time, their executions, and their
//! memory.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use prost::Message;
use temporal_agents::wire::MODEL_ACTIVITY;
use temporal_agents_testing::history::{self, History};
use temporal_agents_tests::bench::{Endless, Spec, script::filler};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_common::{
    HasWorkflowDefinition, WorkflowDefinition, protos::temporal::api::history::v1::history_event::Attributes,
};
use tokio::time::timeout;

use super::{
    Server,
    figures::{median_time, millis},
    worker_process::WorkerProcess,
};

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_hours(1);
/// Size of a tool result that makes a conversation large within few turns, in bytes.
const LARGE: usize = 20_000;
/// Size of the part of such a conversation that the next execution receives, in bytes.
const KEPT: usize = 200_000;

/// Runs `turns` turns with the whole conversation, and a fifth as many with large results and a
/// trimmed conversation; prints a table of both runs.
pub(crate) async fn endless(turns: u32) -> anyhow::Result<()> {
    let whole = Endless { spec: Spec::tools(turns), newest_bytes: None, carried: None };
    let trimmed = Endless {
        spec: Spec { tool_bytes: LARGE, ..Spec::tools((turns / 5).max(1)) },
        newest_bytes: Some(KEPT),
        carried: None,
    };
    println!(
        "| run | executions | turns in each | history, MB | largest, MB | wall, s | turn, ms | turn that continues as \
         new, ms | worker CPU, ms/turn | worker memory peak, MiB |"
    );
    println!("|---|---|---|---:|---:|---:|---:|---:|---:|---:|");
    for work in [whole, trimmed] {
        println!("{}", row(work).await?);
    }
    Ok(())
}

/// The workflow, by name.
struct Work(&'static str);

impl WorkflowDefinition for Work {
    type Input = Endless;
    type Output = String;

    fn name(&self) -> &str {
        self.0
    }
}

impl HasWorkflowDefinition for Work {
    type Run = Self;
}

async fn row(work: Endless) -> anyhow::Result<String> {
    let server = Server::start().await?;
    let worker = WorkerProcess::start(server.address(), "endless").await?;
    let Endless { spec, newest_bytes, .. } = work;
    let began = Instant::now();
    let handle = server
        .client
        .start_workflow(Work("endless_bench"), work, WorkflowStartOptions::new("endless", "endless").build())
        .await?;
    let result = timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await;
    let output = result.with_context(|| format!("the run did not end within {PATIENCE:?}"))??;
    let took = began.elapsed();
    ensure!(output == filler(&format!("turn-{}", spec.turns), spec.text_bytes), "it answered {output:?} to {spec:?}");
    let (cpu, peak) = (worker.cpu_ms()?, worker.peak_mib()?);
    let histories = chain(&server, "endless").await?;
    server.end().await;

    let calls: Vec<Vec<Duration>> = histories.iter().map(model_calls).collect();
    let turns: Vec<usize> = calls.iter().map(Vec::len).collect();
    // Intervals between the model calls within an execution, and across a continue-as-new.
    let within = calls.iter().flat_map(|times| times.windows(2)).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let ends = calls.windows(2).filter_map(|pair| Some(pair[1].first()?.saturating_sub(*pair[0].last()?))).collect();
    let sizes: Vec<usize> = histories.iter().map(Message::encoded_len).collect();
    Ok(format!(
        "| {} turns of {} bytes, {} | {} | {turns:?} | {:.1} | {:.1} | {:.0} | {:.1} | {:.0} | {:.2} | {peak:.0} |",
        spec.turns,
        spec.tool_bytes,
        newest_bytes.map_or("whole".to_owned(), |bytes| format!("trimmed to {bytes} bytes")),
        histories.len(),
        megabytes(sizes.iter().sum()),
        megabytes(sizes.iter().copied().max().unwrap_or_default()),
        took.as_secs_f64(),
        millis(median_time(within)),
        millis(median_time(ends)),
        cpu / f64::from(spec.turns),
    ))
}

/// Returns the histories of all executions, beginning with the first one.
async fn chain(server: &Server, workflow_id: &str) -> anyhow::Result<Vec<History>> {
    let mut histories = vec![history::fetch(&server.client, workflow_id, None).await?];
    while let Some(before) = run_before(&histories[0]) {
        histories.insert(0, history::fetch(&server.client, workflow_id, Some(&*before)).await?);
    }
    Ok(histories)
}

fn run_before(history: &History) -> Option<String> {
    match &history.events.first()?.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
            Some(started.continued_execution_run_id.clone()).filter(|run| !run.is_empty())
        }
        _ => None,
    }
}

/// Returns the times at which the model calls of an execution were scheduled, since 1970.
fn model_calls(history: &History) -> Vec<Duration> {
    let at = |event: &temporalio_common::protos::temporal::api::history::v1::HistoryEvent| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled))
            if scheduled.activity_type.as_ref().is_some_and(|kind| kind.name == MODEL_ACTIVITY) =>
        {
            let time = event.event_time?;
            Some(Duration::new(u64::try_from(time.seconds).ok()?, u32::try_from(time.nanos).ok()?))
        }
        _ => None,
    };
    history.events.iter().filter_map(at).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a double has all integers up to nine petabytes")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
