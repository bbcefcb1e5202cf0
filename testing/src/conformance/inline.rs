//! The inline host: plays scenarios on plain tokio.

use std::time::Duration;

use serde_json::Value;
use temporal_agents::{
    Resources, RunConfig,
    inline::InlineRunner,
    wire::{Item, RunState},
};

use super::{
    build::AnyAgent,
    format::Scenario,
    model::ScriptedModels,
    play::{PlayError, Running, Runs, play_through, runs_with},
    progress::Progress,
    recorder::Recorder,
};

/// Plays a scenario. The effects are recorded in the recorder and are not part of the return value.
pub(super) async fn run(scenario: &Scenario, recorder: &Recorder) -> Result<Value, PlayError> {
    play_through(scenario, Progress::of(scenario), &Inline(recorder)).await
}

/// Creates a runner with the models and tools of the recorder's scenario.
pub(super) fn runner(config: RunConfig, recorder: &Recorder) -> InlineRunner {
    let resources = Resources::new().model_provider(ScriptedModels(recorder.clone())).state(recorder.clone());
    let told = recorder.clone();
    InlineRunner::with_config(resources, config)
        .first_pause(Duration::from_millis(1))
        .on_event(move |event| told.told(event))
}

/// Serializes the state of a run as JSON and parses it again; reports a complaint if the result
/// differs.
pub(super) fn watch_round_trip(recorder: &Recorder, state: &RunState) {
    let read = serde_json::to_string(state).and_then(|text| serde_json::from_str::<RunState>(&text));
    match read {
        Ok(read) if read == *state => {}
        Ok(read) => {
            recorder.complain(format!("a state changed in a JSON round trip: {state:?} became {read:?}"));
        }
        Err(error) => recorder.complain(format!("a state failed a JSON round trip: {error}: {state:?}")),
    }
}

/// Runs agents inline, with the models and tools of the recorder's scenario.
struct Inline<'r>(&'r Recorder);

impl Runs for Inline<'_> {
    runs_with!(|Self(recorder): &Self, config| {
        let watched = Recorder::clone(recorder);
        runner(config, recorder).on_checkpoint(move |state| watch_round_trip(&watched, state))
    });
}
