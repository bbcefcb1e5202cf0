//! Events that are read from histories: of runs that go on in other executions, that wait, that end in every way.

use std::{collections::BTreeSet, time::Duration};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    RunConfig,
    client::{RunEventStream, RunEvents, RunEventsError},
    wire::{AgentRequest, EventKind, RunEvent},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::tonic::IntoRequest;
use temporalio_client::{
    Client, NamespacedClient, WorkflowStartOptions, WorkflowTerminateOptions, grpc::WorkflowService,
};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, workflowservice::v1::ResetWorkflowExecutionRequest,
};
use tokio::time::timeout;

use crate::{
    agent_handlers::support::{Desk, desk_with, request},
    cipher::{Cipher, ciphered},
    continuing::support::{pages, reader},
    held_model::HeldModel,
    support::{Clerk, Stock, clerk},
};

use crate::PATIENCE;

/// All events of a stream.
pub(super) async fn all(mut stream: RunEventStream) -> anyhow::Result<Vec<RunEvent>> {
    let mut events = Vec::new();
    while let Some(event) = timeout(PATIENCE, stream.next()).await? {
        events.push(event?);
    }
    Ok(events)
}

/// All events of a workflow, read by a process that has read nothing before.
pub(crate) async fn read(client: &Client, workflow_id: &str) -> anyhow::Result<Vec<RunEvent>> {
    all(RunEvents::new(client).watch(workflow_id)).await
}

pub(super) fn ids(events: &[RunEvent]) -> Vec<&str> {
    events.iter().map(|event| &*event.id).collect()
}

fn kinds(events: &[RunEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.name()).collect()
}

/// Checks that no id comes twice, and that a reader from each cursor gets the rest.
pub(crate) async fn continue_everywhere(client: &Client, workflow_id: &str, events: &[RunEvent]) -> anyhow::Result<()> {
    assert_eq!(ids(events).into_iter().collect::<BTreeSet<_>>().len(), events.len(), "{:?}", ids(events));
    for (place, event) in events.iter().enumerate() {
        let cursor = event.cursor.clone().expect("events of a history have cursors");
        let rest = all(RunEvents::new(client).watch_from(workflow_id, cursor)).await?;
        assert_eq!(ids(&rest), ids(&events[place + 1..]), "after {}", event.id);
    }
    Ok(())
}

fn readers() -> AgentSet {
    let mut config = RunConfig::default();
    config.max_turns = None;
    AgentSet::new((reader,)).config(config).continue_when(ContinueOptions::builder().new_events(30).build())
}

#[rstest]
#[tokio::test]
async fn a_run_over_several_executions_has_one_stream_and_each_cursor_continues_it(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(readers()))?
        .model_provider(pages(7))
        .agents((reader,));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let handle = env.start_workflow(AgentWorkflow::run, AgentRequest::new("reader", "Read it to me.")).await?;
    let workflow_id = handle.info().workflow_id.clone();
    let shared = RunEvents::new(env.client());
    let (one, other) = (shared.watch(&*workflow_id), shared.watch(&*workflow_id));
    let (live, also) = tokio::try_join!(all(one), all(other))?;
    env.await_run(&handle).await?;

    let late = read(env.client(), &workflow_id).await?;
    assert_eq!(ids(&live), ids(&late));
    assert_eq!(ids(&also), ids(&late));
    let count = |kind: &str| kinds(&late).iter().filter(|other| **other == kind).count();
    assert_eq!([count("run_continued"), count("run_resumed"), count("run_finished")], [2, 2, 1]);
    assert_eq!([count("turn_started"), count("tool_output")], [8, 7]);
    assert_eq!(late.last().map(|event| &event.kind).and_then(output), Some(json!("The end.")));
    continue_everywhere(env.client(), &workflow_id, &late).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_slow_reader_of_an_ended_workflow_does_not_hide_a_new_one_with_its_id() -> anyhow::Result<()> {
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(readers()))?
        .model(&FakeModel::script([text("one"), text("two")]))
        .agents((reader,))
        .start()
        .await?;
    let shared = RunEvents::new(env.client());
    let mut slow = None;
    let mut read_so_far = Vec::new();
    for _ in 0..2 {
        let options = WorkflowStartOptions::new(env.task_queue(), "same").build();
        let request = AgentRequest::new("reader", "Read it to me.");
        let handle = env.client().start_workflow(AgentWorkflow::run, request, options).await?;
        if slow.is_none() {
            let stream = slow.insert(shared.watch("same"));
            read_so_far.extend(timeout(PATIENCE, stream.next()).await?.transpose()?);
        }
        env.await_run(&handle).await?;
        let events = all(shared.watch("same")).await?;
        assert_eq!(ids(&events), ids(&read(env.client(), "same").await?));
    }
    read_so_far.extend(all(slow.expect("the first run has set it")).await?);
    assert_eq!(kinds(&read_so_far).last(), Some(&"run_finished"), "{:?}", kinds(&read_so_far));
    env.finish().await?;
    Ok(())
}

fn output(kind: &EventKind) -> Option<Value> {
    match kind {
        EventKind::RunFinished { output, .. } => Some(output.clone()),
        _ => None,
    }
}

#[rstest]
#[tokio::test]
async fn a_question_and_its_decision_are_events_with_the_person_who_decided(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let env = desk_with(&model, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = env.agent_handle(&handle).by("ann");
    let mut stream = RunEvents::new(env.client()).watch(handle.info().workflow_id.clone());
    let mut events = Vec::new();
    while let Some(event) = timeout(PATIENCE, stream.next()).await? {
        let event = event?;
        if let EventKind::QuestionAsked { question_id, tool, arguments, .. } = &event.kind {
            assert_eq!((&**tool, &**arguments), ("refund", "{\"order\":7}"));
            // Twice: the task with the question has ended when the second query is answered.
            agent.state().await?;
            agent.state().await?;
            agent.approve(question_id).await?;
        }
        events.push(event);
    }
    let run = env.await_run(&handle).await?;
    assert_eq!(
        kinds(&events),
        [
            "run_started",
            "turn_started",
            "model_call_scheduled",
            "model_call_answered",
            "tool_call",
            "question_asked",
            "run_paused",
            "question_decided",
            "run_resumed",
            "tool_output",
            "turn_started",
            "model_call_scheduled",
            "model_call_answered",
            "message",
            "run_finished",
        ]
    );
    let by = events.iter().find_map(|event| match &event.kind {
        EventKind::QuestionDecided { by, .. } => by.clone(),
        _ => None,
    });
    assert_eq!(by.as_deref(), Some("ann"));
    continue_everywhere(env.client(), &run.workflow_id, &events).await?;
    assert_eq!(ids(&RunEvents::of_history(run.history, &env.client().data_converter().clone()).await), ids(&events));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn after_a_reset_the_copied_events_are_not_told_again_and_the_new_ones_have_ids_of_their_own()
-> anyhow::Result<()> {
    let model = FakeModel::function(|call, _| match call.turn {
        1 => tool_call("stock_of", json!({"product": "lamp"})),
        _ => text("Three."),
    });
    let builder = AgentEnvironment::builder().workflow::<Clerk>()?.model(&model).state(Stock(3)).agents((clerk,));
    let env = builder.start().await?;
    let run = env.run(Clerk::run, "How many?".to_owned()).await?;
    let before = read(env.client(), &run.workflow_id).await?;
    let tasks: Vec<i64> = run
        .history
        .events
        .iter()
        .filter(|event| event.event_type().as_str_name() == "EVENT_TYPE_WORKFLOW_TASK_COMPLETED")
        .map(|event| event.event_id)
        .collect();
    let request = ResetWorkflowExecutionRequest {
        namespace: env.client().namespace(),
        workflow_execution: Some(WorkflowExecution { workflow_id: run.workflow_id.clone(), run_id: String::new() }),
        reason: "again".to_owned(),
        workflow_task_finish_event_id: tasks[1],
        request_id: "reset-1".to_owned(),
        ..ResetWorkflowExecutionRequest::default()
    };
    WorkflowService::reset_workflow_execution(&mut env.client().clone(), request.into_request()).await?;

    let after = read(env.client(), &run.workflow_id).await?;
    assert_eq!(ids(&after[..before.len()]), ids(&before));
    assert_eq!(
        kinds(&after[before.len()..]),
        [
            "run_reset",
            "tool_output",
            "turn_started",
            "model_call_scheduled",
            "model_call_answered",
            "message",
            "run_finished"
        ]
    );
    continue_everywhere(env.client(), &run.workflow_id, &after).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_workflow_that_was_terminated_or_timed_out_ends_its_run() -> anyhow::Result<()> {
    let held = HeldModel::new(&FakeModel::script([text("Three.")]));
    let builder = AgentEnvironment::builder().workflow::<Clerk>()?.state(Stock(3)).agents((clerk,));
    let mut env = builder.model_provider(held).start().await?;
    let handle = env.start_workflow(Clerk::run, "How many?".to_owned()).await?;
    let workflow_id = handle.info().workflow_id.clone();
    let mut stream = RunEvents::new(env.client()).watch(&*workflow_id);
    let begun = timeout(PATIENCE, stream.next()).await?.expect("the run begins")?;
    assert_eq!(begun.kind.name(), "run_started");
    handle.terminate(WorkflowTerminateOptions::builder().reason("enough").build()).await?;
    let events = all(stream).await?;
    let end = &events.last().expect("an end").kind;
    assert_eq!(*end, EventKind::RunTerminated { reason: "enough".to_owned() });

    // No worker: nothing but the server ends the workflow.
    env.kill_worker().await?;
    let options = WorkflowStartOptions::new(env.task_queue(), "late").execution_timeout(Duration::from_secs(1)).build();
    env.client().start_workflow(Clerk::run, "How many?".to_owned(), options).await?;
    assert_eq!(kinds(&read(env.client(), "late").await?), ["run_timed_out"]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_reader_without_the_codec_gets_the_facts_and_not_their_content() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("stock_of", json!({"product": "lamp"})), text("Three.")]);
    let builder = AgentEnvironment::builder().workflow::<Clerk>()?.model(&model).state(Stock(3)).agents((clerk,));
    let env = builder.data_converter(ciphered(Cipher(7))).start().await?;
    let run = env.run(Clerk::run, "How many?".to_owned()).await?;
    let plain = env.server().client().await?;
    let events = read(&plain, &run.workflow_id).await?;
    let (with_keys, without) = (read(env.client(), &run.workflow_id).await?, kinds(&events));
    assert!(with_keys.iter().all(|event| !event.is_opaque));
    assert!(events.iter().filter(|event| event.kind.name() == "model_call_scheduled").all(|event| event.is_opaque));
    assert_eq!(without.iter().filter(|kind| **kind == "turn_started").count(), 2, "{without:?}");
    assert!(!serde_json::to_string(&events)?.contains("Three"), "{events:?}");
    assert_eq!(without.last(), Some(&"run_finished"), "{without:?}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_unknown_workflow_and_a_string_that_is_no_cursor_are_errors() -> anyhow::Result<()> {
    let held = HeldModel::new(&FakeModel::script([text("Three.")]));
    let builder = AgentEnvironment::builder().workflow::<Clerk>()?.state(Stock(3)).agents((clerk,));
    let env = builder.model_provider(held).start().await?;
    let events = RunEvents::new(env.client());
    let error = |next: Option<Result<RunEvent, RunEventsError>>| next.expect("an error").expect_err("no event");
    let unknown = error(events.watch("nobody").next().await).to_string();
    assert!(unknown.starts_with("there is no workflow \"nobody\" in namespace"), "{unknown}");
    let odd = error(events.watch_from("nobody", "yesterday").next().await).to_string();
    assert!(odd.starts_with("\"yesterday\" is not a cursor: it has no version"), "{odd}");
    let gone = error(events.watch_from("nobody", "1.6e1f.3.0").next().await);
    assert!(matches!(gone, RunEventsError::NotFound { .. }), "{gone}");
    env.finish().await?;
    Ok(())
}
