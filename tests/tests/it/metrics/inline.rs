//! The attempts of runs without a workflow.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use temporal_agents::{
    Agent, Resources, ToolContext, ToolError, agentic_session::AgenticSession, inline::InlineRunner, metrics::Metrics,
    tool, wire::ModelFailureKind,
};
use temporal_agents_testing::{
    FakeModel, SessionEnvironment,
    fake_model::{failure, text, tool_call},
};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::reader::{Reader, check_conventions};

/// Looks a price up, at its second attempt.
#[tool(attempts = 2)]
async fn price(ctx: &mut ToolContext) -> Result<String, ToolError> {
    if ctx.info().attempt == 1 { Err(ToolError::transient("not yet")) } else { Ok("12".to_owned()) }
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(price)
}

fn model() -> FakeModel {
    FakeModel::script([
        failure(ModelFailureKind::RateLimit, "busy").retry_after(Duration::ZERO),
        tool_call("price", json!({})),
        text("12 it is"),
    ])
}

#[tokio::test]
async fn each_attempt_of_a_run_in_this_process_is_counted_once() -> anyhow::Result<()> {
    let reader = Arc::new(Reader::default());
    let metrics = Metrics::new(Arc::<Reader>::clone(&reader));
    let runner = InlineRunner::new(Resources::new().model_provider(model())).metrics(&metrics);
    let runner = runner.first_pause(Duration::ZERO).on_event(|_| {});
    runner.run(&clerk(), "A lamp.").await?;
    check_conventions(&reader);
    insta::assert_snapshot!(reader.lines(|_| true));
    Ok(())
}

struct Desk(InlineRunner);

#[activities]
impl Desk {
    #[activity]
    async fn serve(self: Arc<Self>, ctx: ActivityContext, question: String) -> Result<String, ActivityError> {
        AgenticSession::run(&ctx, async |session| {
            Ok(session.runner(&self.0).run(&clerk(), question).await?.final_output)
        })
        .await
    }
}

#[tokio::test]
async fn the_attempts_of_a_session_count_each_call_once() -> anyhow::Result<()> {
    let reader = Arc::new(Reader::default());
    let runner = InlineRunner::new(model()).metrics(&Metrics::new(Arc::<Reader>::clone(&reader)));
    let runner = runner.first_pause(Duration::ZERO);
    let env = SessionEnvironment::new().register_activities(move || Desk(runner.clone()));
    let first = env.attempt().run(Desk::serve, "A lamp.".to_owned()).await;
    first.result?;
    let lines = reader.lines(|_| true);
    insta::assert_snapshot!(lines);
    // What the checkpoint has is not called again.
    let checkpoint = first.checkpoints.last().expect("there are checkpoints");
    env.attempt_from(checkpoint)?.run(Desk::serve, "A lamp.".to_owned()).await.result?;
    assert_eq!(reader.lines(|_| true), lines);
    Ok(())
}
