//! The workflow that plays a scenario.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    RunConfig, Runner,
    wire::{Item, RunState},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ContinueAsNewOptions, WorkflowContext, WorkflowResult};

use super::Mode;
use crate::conformance::{
    build::AnyAgent,
    format::Scenario,
    play::{Played, Running, Runs, play, runs_with},
    progress::Progress,
};

/// A scenario, and its progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stage {
    scenario: Value,
    /// `None` at the beginning.
    progress: Option<Progress>,
    /// `true` if a pause ends this workflow run, and a new run continues with the state.
    carries_pauses: bool,
    /// `true` if the runs have batches of tools.
    batches: bool,
}

impl Stage {
    /// Creates the stage at the beginning of a scenario.
    pub(super) fn first(scenario: Value, mode: Mode) -> Self {
        let (carries_pauses, batches) = (mode == Mode::Uncached, mode == Mode::Batched);
        Self { scenario, progress: None, carries_pauses, batches }
    }
}

/// Plays a scenario and returns the observations.
#[workflow]
#[derive(Default)]
pub(crate) struct ConformanceWorkflow;

#[workflow_methods]
impl ConformanceWorkflow {
    #[run(name = "conformance")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, stage: Stage) -> WorkflowResult<Value> {
        let Stage { scenario: json, progress, carries_pauses, batches } = stage;
        // The host has parsed the scenario before, so this cannot fail.
        let scenario: Scenario = match serde_json::from_value(json.clone()) {
            Ok(scenario) => scenario,
            Err(error) => return Ok(unplayable(error)),
        };
        let host = InWorkflow { runner: Runner::new(ctx), batches };
        let mut progress = progress.unwrap_or_else(|| Progress::of(&scenario));
        loop {
            let paused = match play(&scenario, progress, &host).await {
                Ok(Played::Ended(observed)) => return Ok(observed),
                Ok(Played::Paused(paused)) => *paused,
                Err(error) => return Ok(unplayable(error)),
            };
            if carries_pauses {
                let next = Stage { scenario: json, progress: Some(paused), carries_pauses, batches };
                match ctx.continue_as_new(next, ContinueAsNewOptions::default())? {}
            }
            progress = match serde_json::to_string(&paused).and_then(|text| serde_json::from_str(&text)) {
                Ok(progress) => progress,
                Err(error) => return Ok(unplayable(error)),
            };
        }
    }
}

fn unplayable(error: impl std::error::Error) -> Value {
    json!({"driver_error": error.to_string()})
}

/// Runs agents in a workflow.
struct InWorkflow<W> {
    runner: Runner<W>,
    batches: bool,
}

impl<W: 'static> Runs for InWorkflow<W> {
    runs_with!(|Self { runner, batches }: &Self, mut config: RunConfig| {
        config.batch_tools = *batches;
        runner.reconfigured(config)
    });
}
