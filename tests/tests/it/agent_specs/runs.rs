//! Runs of specs: handoffs, approvals that a spec adds, an output schema, stores that are away.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::AgentHandle,
    wire::{AgentRequest, SpecRef},
    workflow::AgentWorkflow,
};
use temporal_agents_testing::{FakeModel, fake_model::text};
use temporalio_client::WorkflowCancelOptions;
use temporalio_common::protos::temporal::api::{enums::v1::EventType, history::v1::HistoryEvent};

use super::{environment, instructions, model, set, store};
use crate::agent_handlers::support::{answer_to, state_when_waiting};

#[rstest]
#[tokio::test]
async fn a_spec_runs_with_its_handoff_the_approval_that_it_adds_and_its_output(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let (store, model) = (store(), model());
    let env = environment(&set(10_000), &store, cached)?.model(&model).start().await?;
    let request = AgentRequest::of_spec(SpecRef::new("desk", 1), "Where is order 7?");
    let started = env.start_workflow(AgentWorkflow::run, request).await?;
    let handle = AgentHandle::new(env.client(), &*started.info().workflow_id);
    let waiting = state_when_waiting(&handle).await?;
    assert_eq!((&*waiting.interruptions[0].tool, waiting.agent.as_deref()), ("find_order", Some("billing")));
    answer_to(async || handle.approve(&waiting.interruptions[0].id).await).await?;
    let run = env.await_run(&started).await?;
    let activities: Vec<_> =
        run.activities().into_iter().map(|activity| (activity.activity_id, activity.activity_type)).collect();
    assert_eq!(activities[0], ("load-agent".to_owned(), "agents.load_agent".to_owned()));
    assert_eq!(activities.iter().filter(|(_, kind)| kind == "agents.load_agent").count(), 1);
    assert_eq!(run.output()?, json!({"answer": "It is on its way."}));
    let calls = model.calls();
    let models: Vec<_> = calls.iter().map(|call| &*call.model).collect();
    assert_eq!(models, ["gpt-5", "gpt-5-mini", "gpt-5-mini"]);
    assert_eq!(instructions(&model), ["You sort requests.", "You know bills.", "You know bills."]);
    assert!(calls[1].definitions.output.is_some());
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn without_a_version_the_run_takes_the_newest_one_and_records_it() -> anyhow::Result<()> {
    let store = store();
    store.add("desk", json!({"model": "gpt-5", "instructions": "Second."}));
    let model = FakeModel::script([text("first run"), text("second run")]);
    let env = environment(&set(10_000), &store, true)?.model(&model).start().await?;
    for request in [
        serde_json::from_value(json!({"spec": {"name": "desk"}, "input": "Hello."}))?,
        AgentRequest::of_spec(SpecRef::newest("desk"), "Hello."),
    ] {
        env.run(AgentWorkflow::run, request).await?.output()?;
    }
    assert_eq!(instructions(&model), ["Second.", "Second."]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_waits_for_a_store_that_is_away() -> anyhow::Result<()> {
    let (store, model) = (store(), FakeModel::script([text("Hello.")]));
    store.fail_next(2);
    let env = environment(&set(10_000), &store, true)?.model(&model).start().await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::of_spec(SpecRef::new("desk", 1), "Hello.")).await?;
    assert_eq!(run.activities()[0].attempts, 3);
    assert_eq!(run.output()?, json!("Hello."));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_is_cancelled_while_its_store_is_away() -> anyhow::Result<()> {
    let store = store();
    store.fail_next(u32::MAX);
    let env = environment(&set(10_000), &store, true)?.model_provider(FakeModel::script([])).start().await?;
    let request = AgentRequest::of_spec(SpecRef::new("desk", 1), "Hello.");
    let started = env.start_workflow(AgentWorkflow::run, request).await?;
    while store.reads() == 0 {
        tokio::task::yield_now().await;
    }
    started.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&started).await?;
    let last = run.history.events.last().map(HistoryEvent::event_type);
    assert_eq!(last, Some(EventType::WorkflowExecutionCanceled));
    env.finish().await?;
    Ok(())
}
