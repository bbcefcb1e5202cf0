//! The record of a run: the store is read once, whatever happens to it and to the workers.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    agent::SpecParts,
    client::AgentHandle,
    wire::{AgentRequest, SpecRef},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, MemoryAgentStore, environment::activities, fake_model::text, history::History,
};
use temporalio_client::{
    NamespacedClient, WorkflowGetResultOptions, WorkflowHandle, grpc::WorkflowService, tonic::IntoRequest,
};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, enums::v1::EventType, workflowservice::v1::ResetWorkflowExecutionRequest,
};
use tokio::time::timeout;

use super::{desk, environment, instructions, model, parts, set, store};
use crate::{
    agent_handlers::support::{answer_to, state_when_waiting},
    continuing::ready_made::histories,
    golden_history::recorded,
    versions::support::replays,
};

/// Changes all specs of a store, and then removes them.
fn change(store: &MemoryAgentStore) {
    store.add("desk", desk("You refuse everything."));
    store.add("billing", json!({"name": "billing", "model": "gpt-5", "instructions": "You refuse everything."}));
    store.clear();
}

/// Plays the run; the store changes, and the worker is replaced, while it waits. All its histories.
async fn played(cached: bool, new_events: u32) -> anyhow::Result<Vec<History>> {
    let (store, model) = (store(), model());
    let mut env: AgentEnvironment = environment(&set(new_events), &store, cached)?.model(&model).start().await?;
    let request = AgentRequest::of_spec(SpecRef::newest("desk"), "Where is order 7?");
    let started = env.start_workflow(AgentWorkflow::run, request).await?;
    let id = started.info().workflow_id.clone();
    let handle = AgentHandle::new(env.client(), &*id);
    let waiting = state_when_waiting(&handle).await?;
    change(&store);
    let reads = store.reads();
    env.stop_worker().await?;
    env.start_worker()?;
    answer_to(async || handle.approve(&waiting.interruptions[0].id).await).await?;
    let run = env.await_run(&started).await?;
    assert_eq!(run.output()?, json!({"answer": "It is on its way."}));
    assert_eq!(instructions(&model), ["You sort requests.", "You know bills.", "You know bills."]);
    let histories = histories(&env, &id).await?;
    assert_eq!((reads, store.reads()), (2, 2), "each spec is read once");
    env.finish().await?;
    Ok(histories)
}

/// The number of activities that load specs in each history.
fn loads(histories: &[History]) -> Vec<usize> {
    let is_load = |history: &History| {
        activities(history).iter().filter(|activity| activity.activity_type == "agents.load_agent").count()
    };
    histories.iter().map(is_load).collect()
}

#[rstest]
#[tokio::test]
async fn a_spec_that_changes_in_mid_run_changes_nothing(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    assert_eq!(loads(&Box::pin(played(cached, 10_000)).await?), [1]);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_continues_as_new_keeps_its_record(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let loads = loads(&Box::pin(played(cached, 0)).await?);
    assert!(loads.len() > 2, "{loads:?}");
    assert_eq!((loads[0], loads[1..].iter().sum::<usize>()), (1, 0));
    Ok(())
}

#[tokio::test]
async fn histories_of_specs_replay() -> anyhow::Result<()> {
    for (name, new_events) in [("agent_spec", 10_000), ("agent_spec_continued", 0)] {
        for history in Box::pin(recorded("v0.1", name, async || Box::pin(played(true, new_events)).await)).await? {
            replays(&history, AgentWorkflow::factory(set(new_events))).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_continued_run_whose_parts_are_gone_waits_for_a_rollback() -> anyhow::Result<()> {
    let histories =
        Box::pin(recorded("v0.1", "agent_spec_continued", async || Box::pin(played(true, 0)).await)).await?;
    let without = || {
        let options = ContinueOptions::builder().new_events(0).build();
        AgentSet::new(()).specs(SpecParts::new()).continue_when(options)
    };
    replays(&histories[1], AgentWorkflow::factory(without())).await.expect_err("a tool is gone");
    // Parts that are added change nothing.
    let more = || set(0).specs(parts().open_extra_settings());
    for history in &histories {
        replays(history, AgentWorkflow::factory(more())).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_reset_to_a_point_after_the_record_does_not_read_the_store() -> anyhow::Result<()> {
    let (store, model) = (store(), FakeModel::script([text("before"), text("after")]));
    let env = environment(&set(10_000), &store, true)?.model(&model).start().await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::of_spec(SpecRef::newest("desk"), "Hello.")).await?;
    change(&store);
    let done = |kind: EventType| run.history.events.iter().filter(move |event| event.event_type() == kind);
    let loaded = done(EventType::ActivityTaskCompleted).next().map_or(0, |event| event.event_id);
    let task = done(EventType::WorkflowTaskCompleted).find(|event| event.event_id > loaded);
    let request = ResetWorkflowExecutionRequest {
        namespace: env.client().namespace(),
        workflow_execution: Some(WorkflowExecution { workflow_id: run.workflow_id.clone(), run_id: String::new() }),
        reason: "once more".to_owned(),
        workflow_task_finish_event_id: task.map_or(0, |event| event.event_id),
        request_id: "reset-1".to_owned(),
        ..ResetWorkflowExecutionRequest::default()
    };
    WorkflowService::reset_workflow_execution(&mut env.client().clone(), request.into_request()).await?;
    let again: WorkflowHandle<_, AgentWorkflow> = env.client().get_workflow_handle(&*run.workflow_id);
    let output: Value =
        timeout(Duration::from_mins(1), again.get_result(WorkflowGetResultOptions::default())).await??;
    assert_eq!(output, json!("after"));
    assert_eq!(instructions(&model), ["You sort requests."; 2]);
    env.finish().await?;
    Ok(())
}
