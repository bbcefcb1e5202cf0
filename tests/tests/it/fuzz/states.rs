//! States of runs, changed and then resumed: the run ends, with a result or with an error.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    inline::InlineRunner,
    run::RunOutcome,
    tool,
    wire::{Decision, ModelCall, RunState},
};
use temporal_agents_testing::fake_model::{FakeModel, Reply, handoff, text, tool_calls};
use tokio::{runtime::Runtime, time::timeout};

use super::{
    cases::check,
    documents::{documents, golden_messages},
};

const CASES: u32 = 200;
/// A run that takes longer hangs: nothing in it waits.
const PATIENCE: Duration = Duration::from_mins(1);

/// Looks something up.
#[tool]
async fn look_up(word: String) -> String {
    format!("{word} is a word")
}

/// Adds two numbers.
#[tool(inline)]
fn add(a: i64, b: i64) -> i64 {
    a.saturating_add(b)
}

/// Gives money back.
#[tool(idempotent = false)]
async fn refund(order: u32) -> String {
    format!("order {order} is refunded")
}

pub(super) fn desk() -> Agent {
    let clerk = Agent::new("clerk").model("gpt-5").tool(add);
    let translator = Agent::new("translator").model("gpt-5").tool(add).tool(refund.needs_approval());
    let translate = translator.as_tool().name("translate").description("Translates.");
    Agent::new("desk")
        .model("gpt-5")
        .tool(look_up)
        .tool(add)
        .tool(refund.needs_approval())
        .tool(translate)
        .handoff(clerk)
}

/// Plays tools, an approval, a run inside the run and a handoff; depends on the conversation alone, and ends at some time.
fn play(call: &ModelCall) -> Reply {
    match (&*call.agent, call.input.len()) {
        ("desk", 0..=2) => tool_calls([
            ("look_up", json!({"word": "sea"})),
            ("add", json!({"a": 1, "b": 2})),
            ("refund", json!({"order": 7})),
            ("translate", json!({"input": "sea"})),
        ]),
        ("translator", 0..=2) => tool_calls([("add", json!({"a": 3, "b": 4})), ("refund", json!({"order": 8}))]),
        ("desk", 3..=11) => handoff("clerk"),
        _ => text("done"),
    }
}

pub(super) fn runner() -> InlineRunner {
    InlineRunner::new(FakeModel::function(|call, _| play(call))).first_pause(Duration::from_millis(1))
}

/// The states of a run before each of its steps, in the pauses, and after them.
async fn recorded() -> anyhow::Result<Vec<(String, Value)>> {
    let states: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&states);
    let runner = runner().on_checkpoint(move |state| {
        let state = serde_json::to_value(state).expect("states are JSON");
        kept.lock().expect("nobody panics").push(state);
    });
    let agent = desk();
    let mut outcome = runner.run(&agent, "hi").until_paused().untyped().await?;
    while let RunOutcome::Paused(paused) = outcome {
        let mut state = paused.state;
        states.lock().expect("nobody panics").push(serde_json::to_value(&state)?);
        for waiting in state.interruptions() {
            state.decide(&waiting.id, Decision::approve())?;
        }
        outcome = runner.run(&agent, state).until_paused().untyped().await?;
    }
    let states = states.lock().expect("nobody panics").clone();
    anyhow::ensure!(states.len() > 10, "the script plays {} steps", states.len());
    Ok(states.into_iter().enumerate().map(|(place, state)| (format!("step {place}"), state)).collect())
}

#[test]
fn a_changed_state_ends_in_a_result_or_an_error() -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let mut states = runtime.block_on(recorded())?;
    states.extend(golden_messages().into_iter().filter(|(name, _)| name.starts_with("run_state")));
    let (runner, agent) = (runner(), desk());
    check(CASES, &documents(states), |document| {
        let Ok(state) = serde_json::from_slice::<RunState>(&document.text) else { return Ok(()) };
        // Looked at as a person does who decides.
        let waiting = state.interruptions();
        anyhow::ensure!(waiting.len() <= document.text.len(), "{} questions", waiting.len());
        let ended =
            runtime.block_on(async { timeout(PATIENCE, runner.run(&agent, state).until_paused().untyped()).await });
        // Whatever it is.
        drop(ended.map_err(|_| anyhow::anyhow!("the run hangs"))?);
        Ok(())
    })
}
