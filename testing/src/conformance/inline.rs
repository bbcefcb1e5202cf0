//! The inline host: runs scenarios on plain tokio.

use std::time::Duration;

use futures::FutureExt;
use serde_json::Value;
use temporal_agents::{
    RunConfig,
    wire::{Item, RunState},
    worker::InlineRunner,
};

use super::{
    build::AnyAgent,
    format::Scenario,
    model::ScriptedModels,
    play::{PlayError, Played, Running, Runs, play},
    progress::Progress,
    recorder::Recorder,
};

/// Plays a scenario; what the recorder sees is told by the recorder.
pub(super) async fn run(scenario: &Scenario, recorder: &Recorder) -> Result<Value, PlayError> {
    let runner = InlineRunner::new()
        .model_provider(ScriptedModels(recorder.clone()))
        .state(recorder.clone())
        .on_checkpoint(watch_round_trips(recorder.clone()))
        .first_pause(Duration::from_millis(1));
    let mut progress = Progress::of(scenario);
    loop {
        match play(scenario, progress, &runner).await? {
            Played::Paused(paused) => progress = serde_json::from_str(&serde_json::to_string(&*paused)?)?,
            Played::Ended(observed) => return Ok(observed),
        }
    }
}

/// Writes the state of a run after each step as JSON text and reads it again: it must be the same.
fn watch_round_trips(recorder: Recorder) -> impl Fn(&RunState) + Send + Sync {
    move |state| {
        let read = serde_json::to_string(state).and_then(|text| serde_json::from_str::<RunState>(&text));
        match read {
            Ok(read) if read == *state => {}
            Ok(read) => recorder
                .complain(format!("a state is not the same once it was written and read: {state:?} became {read:?}")),
            Err(error) => recorder.complain(format!("a state cannot be written and read: {error}: {state:?}")),
        }
    }
}

impl Runs for InlineRunner {
    fn run<'a>(&'a self, config: RunConfig, agent: &'a AnyAgent, input: Vec<Item>) -> Running<'a> {
        let runner = self.clone().config(config);
        async move {
            match agent {
                AnyAgent::Text(agent) => runner.run_any_until_paused(agent, input).await,
                AnyAgent::Json(agent) => runner.run_any_until_paused(agent, input).await,
            }
        }
        .boxed_local()
    }

    fn resume<'a>(&'a self, config: RunConfig, agent: &'a AnyAgent, state: RunState) -> Running<'a> {
        let runner = self.clone().config(config);
        async move {
            match agent {
                AnyAgent::Text(agent) => runner.resume_any(agent, state).await,
                AnyAgent::Json(agent) => runner.resume_any(agent, state).await,
            }
        }
        .boxed_local()
    }
}
