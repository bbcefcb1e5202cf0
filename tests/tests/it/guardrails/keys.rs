//! Idempotency keys of guardrails in activities: one for each time that one is asked.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use rstest::rstest;
use temporal_agents::{
    Agent, Resources, Runner, State, ToolContext, ToolError, agent::GuardrailOutput, guardrail, inline::InlineRunner,
};
use temporal_agents_testing::{FakeModel, fake_model::text};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::Cache;

/// An attempt at asking a guardrail.
type Attempt = (u32, &'static str);

/// The keys that the guardrails have seen, with the attempt and the guardrail.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(String, Attempt)>>>);

impl Seen {
    fn note(&self, guardrail: &'static str, call: &ToolContext) -> Result<GuardrailOutput, ToolError> {
        let attempt = call.info().attempt;
        self.0.lock().expect("nobody panics").push((call.info().idempotency_key().to_owned(), (attempt, guardrail)));
        if attempt == 1 { Err(ToolError::transient("it is busy")) } else { Ok(GuardrailOutput::pass()) }
    }

    /// The attempts of each key, in the order in which the keys came up.
    fn by_key(&self) -> Vec<Vec<Attempt>> {
        let mut keys: Vec<(String, Vec<Attempt>)> = Vec::new();
        for (key, attempt) in self.0.lock().expect("nobody panics").clone() {
            match keys.iter_mut().find(|(known, _)| *known == key) {
                Some((_, attempts)) => attempts.push(attempt),
                None => keys.push((key, vec![attempt])),
            }
        }
        keys.into_iter().map(|(_, attempts)| attempts).collect()
    }
}

#[guardrail(input, activity, blocking, attempts = 2)]
async fn screen(State(seen): State<Seen>, _input: &str, call: &ToolContext) -> Result<GuardrailOutput, ToolError> {
    seen.note("screen", call)
}

#[guardrail(output, activity, attempts = 2)]
async fn review(State(seen): State<Seen>, _output: &str, call: &ToolContext) -> Result<GuardrailOutput, ToolError> {
    seen.note("review", call)
}

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5").input_guardrail(screen).output_guardrail(review)
}

/// Asks twice.
#[workflow]
#[derive(Default)]
pub(crate) struct TwoRuns;

#[workflow_methods]
impl TwoRuns {
    #[run(name = "guardrails_of_two_runs")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        let runner = Runner::new(ctx);
        for _ in 0..2 {
            runner.run(&desk(), "Hello.").await?;
        }
        Ok(())
    }
}

/// What each run asks: two attempts at either guardrail, each guardrail under a key of its own.
fn asked(runs: usize) -> Vec<Vec<Attempt>> {
    let of_one_run = ["screen", "review"].map(|guardrail| vec![(1, guardrail), (2, guardrail)]);
    vec![of_one_run; runs].concat()
}

#[rstest]
#[tokio::test]
async fn no_run_of_any_workflow_has_the_key_of_another(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let seen = Seen::default();
    let model = FakeModel::function(|_, _| text("hello"));
    let env = cache.environment::<TwoRuns>()?.model(&model).agents((desk,)).state(seen.clone()).start().await?;
    env.run(TwoRuns::run, ()).await?;
    env.run(TwoRuns::run, ()).await?;
    assert_eq!(seen.by_key(), asked(4));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn nor_has_a_run_without_temporal() -> anyhow::Result<()> {
    let seen = Seen::default();
    let model = FakeModel::function(|_, _| text("hello"));
    let pause = Duration::from_millis(1);
    let runner = InlineRunner::new(Resources::new().model_provider(model).state(seen.clone())).first_pause(pause);
    runner.run(&desk(), "Hello.").await?;
    runner.run(&desk(), "Hello.").await?;
    assert_eq!(seen.by_key(), asked(2));
    Ok(())
}
