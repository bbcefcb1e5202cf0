//! What else a history may hold: retries and failures, sessions, local activities, runs that go on elsewhere.

use std::time::Duration;

use serde_json::json;
use temporal_agents::{
    ModelActivityOptions, Runner,
    client::transcript::{End, Status, Transcript},
    run::SessionRef,
    wire::{Item, ModelFailureKind},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{failure, text, tool_call},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ContinueAsNewOptions, WorkflowContext, WorkflowResult};

use crate::{
    held_model::HeldModel,
    stored_sessions::Flaky,
    support::{Clerk, Stock, clerk},
};

async fn clerk_with(model: &FakeModel) -> anyhow::Result<(AgentEnvironment, Transcript)> {
    let builder = AgentEnvironment::builder().workflow::<Clerk>()?.model(model).state(Stock(3)).agents((clerk,));
    let env = Box::pin(builder.start()).await?;
    let run = env.run(Clerk::run, "How many?".to_owned()).await?;
    let transcript = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;
    Ok((env, transcript))
}

#[tokio::test]
async fn an_attempt_that_failed_is_told_with_the_one_that_succeeded() -> anyhow::Result<()> {
    let busy = failure(ModelFailureKind::RateLimit, "too many requests").retry_after(Duration::from_millis(1));
    let model = FakeModel::script([busy, text("Three.")]);
    let (env, transcript) = Box::pin(clerk_with(&model)).await?;
    let call = transcript.calls()[0];
    assert_eq!((call.activity.status, call.activity.attempts), (Status::Completed, 2));
    let earlier = call.activity.earlier_failure.as_ref().expect("one attempt failed");
    assert_eq!((&*earlier.type_name, &*earlier.message), ("ModelInvocationError.RateLimit", "too many requests"));
    let page = transcript.to_markdown();
    assert!(page.contains("*It succeeded at attempt 2.*"), "{page}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn of_a_workflow_that_runs_it_says_which_attempt_is_under_way_and_why_the_last_one_failed() -> anyhow::Result<()>
{
    let busy = failure(ModelFailureKind::RateLimit, "too many requests").retry_after(Duration::from_millis(1));
    let held = HeldModel::new(&FakeModel::script([busy, text("Three.")]));
    let builder = AgentEnvironment::builder().workflow::<Clerk>()?.state(Stock(3)).agents((clerk,));
    let env = Box::pin(builder.model_provider(held.clone()).start()).await?;
    let handle = env.start_workflow(Clerk::run, "How many?".to_owned()).await?;
    held.asked().await?;
    held.answer();
    held.asked().await?;

    let transcript = Transcript::of_workflow(env.client(), &handle.info().workflow_id, None).await?;
    assert_eq!(transcript.end, End::Running);
    let activity = &transcript.calls()[0].activity;
    let earlier = activity.earlier_failure.as_ref().map(|failure| &*failure.type_name);
    assert_eq!(
        (activity.status, activity.attempts, earlier),
        (Status::Pending, 2, Some("ModelInvocationError.RateLimit"))
    );
    let page = transcript.to_markdown();
    assert!(page.contains("*It has not ended, attempt 2 is due or running.*"), "{page}");
    held.answer();
    env.await_run(&handle).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_that_failed_says_at_which_call_and_why() -> anyhow::Result<()> {
    let model = FakeModel::script([failure(ModelFailureKind::Authentication, "the key is wrong")]);
    let (env, transcript) = Box::pin(clerk_with(&model)).await?;
    let call = transcript.calls()[0];
    assert_eq!(call.activity.status, Status::Failed);
    let chain = |failure: &temporal_agents::wire::RecordedFailure| {
        let links = std::iter::successors(Some(failure.clone()), |failure| failure.cause.as_deref().cloned());
        links.map(|failure| failure.type_name).collect::<Vec<_>>()
    };
    let End::Failed { failure } = &transcript.end else { panic!("{:?}", transcript.end) };
    assert_eq!(chain(failure), ["AgentsWorkflowError", "Activity", "ModelInvocationError.Authentication"]);
    let page = transcript.to_markdown();
    assert!(page.contains("*It failed: ModelInvocationError.Authentication: the key is wrong*"), "{page}");
    let ended = "the model call of agent \"clerk\" at turn 1 (model \"gpt-5\") failed: the key is wrong";
    assert!(page.contains(ended), "{page}");
    env.finish().await?;
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Counter;

#[workflow_methods]
impl Counter {
    #[run(name = "counter")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let session = SessionRef::stored("shop", "customer 7");
        Ok(Runner::new(ctx).session(session).run(&clerk(), "How many?").await?.final_output)
    }
}

#[tokio::test]
async fn the_summary_of_each_activity_names_agent_and_turn() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("stock_of", json!({"product": "bolt"})), text("Three.")]);
    let builder = AgentEnvironment::builder().workflow::<Counter>()?.model(&model).state(Stock(3)).agents((clerk,));
    let env = builder.session_store("shop", Flaky::default()).start().await?;
    let run = env.run(Counter::run, ()).await?;
    let transcript = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;

    let [run] = &*transcript.runs else { panic!("{:?}", transcript.runs) };
    let sessions: Vec<_> = run
        .sessions
        .iter()
        .map(|call| (call.operation, call.items.len(), call.activity.summary.clone().unwrap_or_default()))
        .collect();
    assert_eq!(
        sessions,
        [
            ("read", 0, "read session customer 7 · clerk · turn 1".to_owned()),
            ("add", 1, "add to session customer 7 · clerk · turn 1".to_owned()),
            ("add", 2, "add to session customer 7 · clerk · turn 1".to_owned()),
            ("add", 1, "add to session customer 7 · clerk · turn 2".to_owned()),
        ]
    );
    let calls: Vec<_> = transcript.calls().iter().filter_map(|call| call.activity.summary.clone()).collect();
    assert_eq!(calls, ["clerk · turn 1", "clerk · turn 2"]);
    let tools = serde_json::to_value(&run.turns[0].tools)?;
    assert_eq!(tools[0]["activity"]["summary"], "stock_of · clerk · turn 1");
    assert_eq!(run.sessions[1].items[0], Item::user("How many?"));
    env.finish().await?;
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Near;

#[workflow_methods]
impl Near {
    #[run(name = "near")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let local = ModelActivityOptions::builder().local(true).build();
        let runner = Runner::new(ctx).model_activity(local);
        Ok(runner.run(&clerk(), "How many?").await?.final_output)
    }
}

#[tokio::test]
async fn of_a_local_activity_there_is_the_answer_and_no_request() -> anyhow::Result<()> {
    let model = FakeModel::script([text("Three.")]);
    let builder = AgentEnvironment::builder().workflow::<Near>()?.model(&model).state(Stock(3)).agents((clerk,));
    let env = builder.start().await?;
    let run = env.run(Near::run, ()).await?;
    let transcript = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;
    let calls = transcript.calls();
    let said: Vec<_> = calls.iter().flat_map(|call| &call.output).filter_map(Item::text).collect();
    assert_eq!(said, ["Three."]);
    assert_eq!(transcript.usage.input_tokens, 100);
    let refused = transcript.request_of(1).expect_err("history does not hold it");
    assert!(refused.to_string().contains("was a local activity"), "{refused}");
    env.finish().await?;
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Twice;

#[workflow_methods]
impl Twice {
    #[run(name = "twice")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let answer = Runner::new(ctx).run(&clerk(), &*question).await?.final_output;
        if question == "First?" {
            match ctx.continue_as_new("Second?".to_owned(), ContinueAsNewOptions::default())? {}
        }
        Ok(answer)
    }
}

#[tokio::test]
async fn a_chain_of_runs_is_read_from_its_first_one() -> anyhow::Result<()> {
    let model = FakeModel::script([text("One."), text("Two.")]);
    let builder = AgentEnvironment::builder().workflow::<Twice>()?.model(&model).state(Stock(3)).agents((clerk,));
    let env = builder.start().await?;
    let run = env.run(Twice::run, "First?".to_owned()).await?;
    let chain = Transcript::of_chain(env.client(), &run.workflow_id, None).await?;
    let [first, second] = &*chain else { panic!("{} runs", chain.len()) };
    assert_eq!(first.end, End::ContinuedAsNew { run_id: second.run_id.clone() });
    assert_eq!(second.continued_from.as_ref(), Some(&first.run_id));
    assert_eq!((&first.continued_from, &second.first_run_id), (&None, &first.run_id));
    assert_eq!(second.end, End::Completed { result: json!("Two.") });
    let of_run = Transcript::of_workflow(env.client(), &run.workflow_id, Some(&first.run_id)).await?;
    assert_eq!(serde_json::to_value(&of_run)?, serde_json::to_value(first)?);
    env.finish().await?;
    Ok(())
}
