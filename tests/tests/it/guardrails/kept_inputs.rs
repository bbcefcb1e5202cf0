//! Inputs of runs in a session: one that trips a guardrail is not kept, and does not trip the next run.

use rstest::rstest;
use temporal_agents::{
    Agent, Handoff, Resources, RunConfig, RunError, Runner,
    agent::{GuardrailOutput, InputGuardrail},
    inline::InlineRunner,
    run::{MemorySession, SessionRef},
    store::{Session, SqlStore},
    wire::{Item, ModelFailureKind},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{failure, text},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::databases::Kind;

fn no_cards() -> InputGuardrail {
    InputGuardrail::new("no_cards", |_, input| Ok(GuardrailOutput::trip_if(input.text().contains("4000"))))
}

fn desk(blocking: bool) -> Agent {
    let guardrail = no_cards();
    let guardrail = if blocking { guardrail.blocking() } else { guardrail };
    let payout = Agent::new("payout").model("gpt-5").handoff(Handoff::to("desk"));
    Agent::new("desk").model("gpt-5").input_guardrail(guardrail).handoff(payout)
}

fn said(items: &[Item]) -> Vec<String> {
    items.iter().filter_map(Item::text).collect()
}

/// Two messages in one session, of which the first one trips; returns what the session has.
#[workflow]
#[derive(Default)]
pub(crate) struct Talk;

#[workflow_methods]
impl Talk {
    #[run(name = "talk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, blocking: bool) -> WorkflowResult<Vec<String>> {
        let session = MemorySession::default();
        let runner = Runner::new(ctx).session(&session);
        let agent = desk(blocking);
        let tripped = runner.run(&agent, "My card is 4000.").await.err().map(|failure| failure.error);
        assert!(matches!(tripped, Some(RunError::InputGuardrailTripped { .. })), "{tripped:?}");
        runner.run(&agent, "My policy is 7.").await?;
        Ok(said(&session.items()))
    }
}

#[rstest]
#[tokio::test]
async fn a_tripped_input_does_not_trip_the_next_run(
    #[values(true, false)] blocking: bool,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([text("Noted.")]);
    let builder = AgentEnvironment::builder().workflow::<Talk>()?.model(&model);
    let builder = if cached { builder } else { builder.without_workflow_cache() };
    let env = builder.start().await?;
    let run = env.run(Talk::run, blocking).await?;
    assert_eq!(run.output()?, ["My policy is 7.", "Noted."]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::by_default(false, &["My policy is 7.", "Noted."])]
#[case::as_the_agents_sdk_does(true, &["My card is 4000.", "My policy is 7."])]
#[tokio::test]
async fn keep_tripped_input_decides_what_a_store_keeps(
    #[case] keeps: bool,
    #[case] kept: &[&str],
    #[values(true, false)] blocking: bool,
) -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let store = SqlStore::connect(&database.url).await?;
    let resources = Resources::new().model_provider(FakeModel::function(|_, _| text("Noted.")));
    let config = RunConfig::builder().session(SessionRef::stored("desk", "ada")).keep_tripped_input(keeps).build();
    let runner = InlineRunner::with_config(resources.session_store("desk", store.clone()), config);
    let agent = desk(blocking);
    runner.run(&agent, "My card is 4000.").await.expect_err("it trips");
    let second = runner.run(&agent, "My policy is 7.").await;
    assert_eq!(second.is_err(), keeps);
    let items = store.items("ada", None).await.map_err(|error| anyhow::anyhow!(error))?;
    assert_eq!(said(&items), kept);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn an_input_whose_run_fails_is_kept(#[values(true, false)] blocking: bool) -> anyhow::Result<()> {
    let broken = failure(ModelFailureKind::BadRequest, "the model is broken").retryable(false);
    let session = MemorySession::default();
    let config = RunConfig::builder().session(&session).build();
    let runner = InlineRunner::with_config(FakeModel::script([broken]), config);
    runner.run(&desk(blocking), "My policy is 7.").await.expect_err("the model is broken");
    assert_eq!(said(&session.items()), ["My policy is 7."]);
    Ok(())
}

#[tokio::test]
async fn a_found_agent_has_the_guardrails_of_the_start() -> anyhow::Result<()> {
    let model = FakeModel::function(|_, _| text("Paid."));
    let runner = InlineRunner::new(model.clone());
    let payout = desk(true).find("payout").expect("the desk hands off to it");
    let failure = runner.run(&payout, "My card is 4000.").await.expect_err("it trips");
    let RunError::InputGuardrailTripped { result, .. } = &failure.error else { panic!("{failure}") };
    assert_eq!((&*result.guardrail, model.calls().len()), ("no_cards", 0));
    // An agent that was found from one that was found has each of them once.
    let again = payout.find("desk").and_then(|desk| desk.find("payout")).expect("they hand off to each other");
    runner.run(&again, "My card is 4000.").await.expect_err("it trips");
    let result = runner.run(&again, "My policy is 7.").await?;
    assert_eq!((&*result.final_output, result.guardrails.input.len()), ("Paid.", 1));
    Ok(())
}
