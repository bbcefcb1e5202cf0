//! Guardrails in activities: each output is judged under a key of its own.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use temporal_agents::{
    Agent, Resources, State, ToolContext, agent::GuardrailOutput, agentic_session::AgenticSession, guardrail,
    inline::InlineRunner,
};
use temporal_agents_testing::{FakeModel, SessionEnvironment, fake_model::text};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

/// What was judged, and under which key.
#[derive(Clone, Default)]
struct Judged(Arc<Mutex<Vec<(String, String)>>>);

#[guardrail(output, activity)]
async fn judge(State(judged): State<Judged>, output: String, call: &ToolContext) -> GuardrailOutput {
    judged.0.lock().expect("nobody panics").push((output, call.info().idempotency_key().to_owned()));
    GuardrailOutput::pass()
}

struct Writers {
    runner: InlineRunner,
}

#[activities]
impl Writers {
    #[activity]
    async fn write(self: Arc<Self>, ctx: ActivityContext) -> Result<String, ActivityError> {
        let writer = Agent::new("writer").model("gpt-5").output_guardrail(judge);
        AgenticSession::run(&ctx, async |session| {
            Ok(session.runner(&self.runner).run(&writer, "Write.").await?.final_output)
        })
        .await
    }
}

#[tokio::test]
async fn an_attempt_whose_model_says_something_else_asks_under_another_key() -> anyhow::Result<()> {
    let drafts = Mutex::new(VecDeque::from(["a draft", "another", "another"]));
    let model =
        FakeModel::function(move |_, _| text(drafts.lock().expect("nobody panics").pop_front().expect("three")));
    let judged = Judged::default();
    let runner = InlineRunner::new(Resources::new().model_provider(model).state(judged.clone()));
    let env = SessionEnvironment::new().register_activities(move || Writers { runner: runner.clone() });

    let first = env.attempt().run(Writers::write, ()).await;
    let begun = first.checkpoints.first().expect("it writes one before it asks the model");
    for _ in 0..2 {
        assert_eq!(env.attempt_from(begun)?.run(Writers::write, ()).await.result?, "another");
    }
    let judged = judged.0.lock().expect("nobody panics").clone();
    let outputs: Vec<&str> = judged.iter().map(|(output, _)| &**output).collect();
    assert_eq!(outputs, ["a draft", "another", "another"]);
    assert_ne!(judged[0].1, judged[1].1);
    assert_eq!(judged[1], judged[2]);
    Ok(())
}
