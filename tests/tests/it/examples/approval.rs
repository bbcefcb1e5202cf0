//! A refund that waits for approval.

use std::time::Duration;

use rstest::rstest;
use temporal_agents::{
    Resources,
    client::AgentHandle,
    inline::InlineRunner,
    run::RunOutcome,
    wire::{AgentDecision, AgentState, DecidedInterruption, DecisionAnswer, RunStatus, Verdict},
};
use temporal_agents_examples::approval::{Case, Refunds, clerk, decide::decide, ledger::Ledger, model};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
    history::{self, History},
};
use temporalio_client::{
    Client, WorkflowGetResultOptions, WorkflowHandle, WorkflowIdConflictPolicy, WorkflowSignalOptions,
    WorkflowUpdateWithStartOptions,
};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use tokio::time::{Instant, sleep, timeout};

use super::{Cache, Played, histories};
use crate::{PATIENCE, agent_handlers::support::taken};

/// The id that the scripted model gives its call.
pub(super) const CALL: &str = "call_1_0";

pub(super) fn case() -> Case {
    Case::new("The samovar came in pieces.", Duration::from_hours(1))
}

/// Waits until the workflow's run waits for a decision, as two queries one after the other say: the first one may
/// read an event whose workflow task has not begun.
pub(super) async fn is_asked(agent: &AgentHandle) -> anyhow::Result<AgentState> {
    let deadline = Instant::now() + PATIENCE;
    let mut was_waiting = false;
    loop {
        // A query may fail while no worker is there.
        let state = agent.state().await;
        let is_waiting = state.as_ref().is_ok_and(|state| state.status == RunStatus::Waiting);
        if is_waiting && was_waiting {
            return Ok(state?);
        }
        was_waiting = is_waiting;
        anyhow::ensure!(Instant::now() < deadline, "the run does not wait for a decision: {state:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Asks for a fresh history, and waits until the workflow has one.
pub(super) async fn renew(client: &Client, workflow_id: &str) -> anyhow::Result<()> {
    let refunds: WorkflowHandle<_, Refunds> = client.get_workflow_handle(workflow_id);
    refunds.signal(Refunds::renew, (), WorkflowSignalOptions::default()).await?;
    let deadline = Instant::now() + PATIENCE;
    while !continues_another(&history::fetch(client, workflow_id, None).await?) {
        anyhow::ensure!(Instant::now() < deadline, "the workflow does not continue as new");
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

fn continues_another(history: &History) -> bool {
    history.events.iter().any(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
            !started.continued_execution_run_id.is_empty()
        }
        _ => false,
    })
}

/// An approved refund as the workflow remembers it at its end.
pub(super) fn approved() -> Vec<DecidedInterruption> {
    vec![taken(CALL, Verdict::Approve)]
}

/// What the workflow gave, what was paid, and the inbox at the end.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    settled: String,
    payments: Vec<String>,
    decided: Vec<DecidedInterruption>,
}

async fn start(cache: Cache, model: &FakeModel, ledger: &Ledger) -> anyhow::Result<AgentEnvironment> {
    Ok(cache.environment::<Refunds>()?.agents((clerk,)).state(ledger.clone()).model(model).start().await?)
}

fn ledger(directory: &tempfile::TempDir, confirmation: Duration) -> Ledger {
    Ledger { path: directory.path().join("ledger.txt"), confirmation }
}

/// Settles the case with this verdict, which is given in its second history.
async fn settle(cache: Cache, verdict: Verdict) -> anyhow::Result<Played<Outcome>> {
    let directory = tempfile::tempdir()?;
    let (model, ledger) = (model::scripted(), ledger(&directory, Duration::from_secs(1)));
    let env = start(cache, &model, &ledger).await?;
    let run = env.start_workflow(Refunds::run, case()).await?;
    let workflow_id = run.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*workflow_id);
    is_asked(&agent).await?;
    renew(env.client(), &workflow_id).await?;
    is_asked(&agent).await?;
    let decided = decide(env.client(), &workflow_id, &verdict).await?;
    let answers: Vec<_> = decided.into_iter().map(|(call, answer)| (call.id, answer)).collect();
    assert_eq!(answers, [(CALL.to_owned(), DecisionAnswer::Accepted)]);
    let finished = env.await_run(&run).await?;
    let decided = agent.state().await?.decided;
    let histories = histories::<Refunds>(&env, &workflow_id).await?;
    let output = Outcome { settled: finished.output()?, payments: ledger.payments()?, decided };
    env.finish().await?;
    Ok(Played { output, histories, calls: model.calls() })
}

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Outcome>> {
    settle(cache, Verdict::Approve).await
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn an_approved_refund_is_paid_in_the_history_after_the_one_that_asked(
    #[case] cache: Cache,
) -> anyhow::Result<()> {
    let played = played(cache).await?;
    let outcome = Outcome {
        settled: "Settled: 240 euros for A-1042 are paid.".to_owned(),
        payments: vec!["A-1042 240".to_owned()],
        decided: approved(),
    };
    assert_eq!(played.output, outcome);
    assert_eq!(played.histories.len(), 2);
    assert_eq!(played.activities(), ["agents.call_model", "agents.tool.refund", "agents.call_model"]);
    Ok(())
}

#[tokio::test]
async fn a_rejected_refund_is_not_paid_and_the_model_is_told_why() -> anyhow::Result<()> {
    let verdict = Verdict::Reject { message: Some("we only pay for tea cups".to_owned()) };
    let played = settle(Cache::On, verdict.clone()).await?;
    let outcome = Outcome {
        settled: "I am sorry, there is no refund. we only pay for tea cups".to_owned(),
        payments: vec![],
        decided: vec![taken(CALL, verdict)],
    };
    assert_eq!(played.output, outcome);
    assert_eq!(played.activities(), ["agents.call_model"; 2]);
    Ok(())
}

#[tokio::test]
async fn a_small_refund_is_paid_without_asking() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let small = serde_json::json!({"order": "A-7", "euros": 50});
    let model = FakeModel::script([tool_call("refund", small), text("Paid.")]);
    let ledger = ledger(&directory, Duration::ZERO);
    let env = start(Cache::On, &model, &ledger).await?;
    let run = env.run(Refunds::run, case()).await?;
    assert_eq!(run.output()?, "Paid.");
    assert_eq!(ledger.payments()?, ["A-7 50"]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_history_continues_as_new_when_nobody_decides_in_time() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let (model, ledger) = (model::scripted(), ledger(&directory, Duration::ZERO));
    let env = start(Cache::On, &model, &ledger).await?;
    let run = env.start_workflow(Refunds::run, Case { patience: Duration::from_secs(1), ..case() }).await?;
    let workflow_id = run.info().workflow_id.clone();
    let deadline = Instant::now() + PATIENCE;
    while !continues_another(&history::fetch(env.client(), &workflow_id, None).await?) {
        anyhow::ensure!(Instant::now() < deadline, "the workflow waits on in its first history");
        sleep(Duration::from_millis(50)).await;
    }
    let agent = AgentHandle::new(env.client(), &*workflow_id);
    is_asked(&agent).await?;
    assert_eq!(agent.approve(CALL).await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&run).await?.output()?, "Settled: 240 euros for A-1042 are paid.");
    assert!(histories::<Refunds>(&env, &workflow_id).await?.len() > 1);
    env.finish().await?;
    Ok(())
}

/// A case that another history has begun, with the decision on its call sent together with the start of this one.
#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_decision_that_comes_with_the_start_of_a_history_counts(#[case] cache: Cache) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let (model, ledger) = (model::scripted(), ledger(&directory, Duration::ZERO));
    let inline = InlineRunner::new(Resources::new().model_provider(model.clone()).state(ledger.clone()));
    let RunOutcome::Paused(paused) = inline.run(&clerk(), case().complaint).until_paused().await? else {
        anyhow::bail!("it did not pause")
    };
    let env = start(cache, &model, &ledger).await?;
    let options = WorkflowUpdateWithStartOptions::new(env.task_queue(), "approval-0", WorkflowIdConflictPolicy::Fail);
    let started = env.client().execute_update_with_start_workflow(
        Refunds::run,
        Case { paused: Some(paused.state), ..case() },
        Refunds::agent_decide,
        AgentDecision::approve(CALL),
        options.build(),
    );
    started.await?;
    let refunds: WorkflowHandle<_, Refunds> = env.client().get_workflow_handle("approval-0");
    let settled = timeout(PATIENCE, refunds.get_result(WorkflowGetResultOptions::default())).await;
    assert_eq!(settled??, "Settled: 240 euros for A-1042 are paid.");
    histories::<Refunds>(&env, "approval-0").await?;
    env.finish().await?;
    Ok(())
}
