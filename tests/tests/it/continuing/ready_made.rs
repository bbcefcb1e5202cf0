//! The workflows that are there already: a run of an agent, a chat.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::{AgentHandle, ChatHandle},
    wire::{AgentRequest, ChatOutcome, ChatReply, ChatRequest, DecisionAnswer, Item, RunStatus, WIRE_VERSION},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions, ModelActivityOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::EnvironmentError,
    fake_model::{text, tool_call},
    history::History,
};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

use super::support::{chain, pages, reader};
use crate::{
    agent_handlers::support::{desk, interruption, last_outputs, state, state_when_waiting},
    held_model::HeldModel,
    support::read,
};

fn set(new_events: u32) -> AgentSet {
    let mut config = temporal_agents::RunConfig::default();
    config.max_turns = None;
    let options = ContinueOptions::builder().new_events(new_events).build();
    AgentSet::new((reader, desk)).config(config).continue_when(options)
}

/// All histories of a workflow, each replayed as workers with and without a cache do.
pub(crate) async fn histories(env: &AgentEnvironment, workflow_id: &str) -> anyhow::Result<Vec<History>> {
    let histories = chain(env, workflow_id).await?;
    for history in &histories {
        env.replay(history).await?;
        for (place, event) in history.events.iter().enumerate() {
            assert_ne!(event.event_type(), EventType::WorkflowTaskFailed);
            if event.event_type() == EventType::WorkflowTaskStarted {
                env.replay(&History { events: history.events[..=place].to_vec() }).await?;
            }
        }
    }
    Ok(histories)
}

#[rstest]
#[tokio::test]
async fn an_agent_runs_by_its_name_and_continues_as_new(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set(30)))?
        .model_provider(pages(7))
        .agents((reader, desk));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::new("reader", "Read it to me.")).await?;
    assert_eq!(histories(&env, &run.workflow_id).await?.len(), 3);
    assert_eq!(run.output()?, json!("The end."));
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn an_agent_waits_for_decisions_under_the_usual_handlers(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set(0)))?
        .model(&model)
        .agents((reader, desk));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "Give me my money back.")).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    let mut waiting = state(RunStatus::Waiting, 1);
    waiting.interruptions.push(interruption("call_0_0", 7));
    assert_eq!(state_when_waiting(&agent).await?, waiting);
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(last_outputs(&model), [json!("refunded 7")]);
    histories(&env, &id).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_start_that_makes_no_sense_fails_and_says_why() -> anyhow::Result<()> {
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set(0)))?
        .model_provider(pages(0))
        .agents((reader, desk))
        .start()
        .await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::new("nobody", "Hello.")).await?;
    let message = "the workflow has no agent \"nobody\"; it has: reader, desk (agent \"nobody\")".to_owned();
    assert_eq!(run.failure_chain(), [("AgentsWorkflowError".to_owned(), message)]);
    let run = env.run(AgentWorkflow::run, serde_json::from_value(json!({"agent": "reader"}))?).await?;
    let message = "the request is empty: it has no \"input\", or an empty one (agent \"\")".to_owned();
    assert_eq!(run.failure_chain(), [("AgentsWorkflowError".to_owned(), message)]);
    // What would not be read at all would fail workflow tasks for ever.
    for unreadable in [json!(null), json!({"agent": 5, "carried": null})] {
        let read: AgentRequest = serde_json::from_value(unreadable.clone())?;
        assert!(format!("{read:?}").contains("reason: \"invalid type"), "{unreadable}: {read:?}");
        assert_eq!(serde_json::to_value(read)?, unreadable, "it is kept as it came");
    }
    let alone: AgentRequest = serde_json::from_value(json!("Hello."))?;
    assert_eq!((alone.agent, alone.version), (None, WIRE_VERSION));
    env.finish().await?;
    Ok(())
}

/// A model that answers each message with its number, and looks something up for the second one.
fn librarian() -> FakeModel {
    FakeModel::function(|call, _| {
        let said = call.input.iter().filter(|item| item.get("role").is_some_and(|role| role == "user")).count();
        let last = call.input.last().map(Item::kind).unwrap_or_default();
        if said == 2 && last != "function_call_output" {
            return tool_call("page", json!({"number": 2, "words": 3}));
        }
        text(format!("answer {said}"))
    })
}

fn answered(message: &str, text: &str) -> ChatReply {
    let outcome = ChatOutcome::Answered { output: json!(text) };
    read(json!({"version": WIRE_VERSION, "message": message, "outcome": outcome}))
}

async fn chat(
    new_events: u32,
    cached: bool,
    model: impl temporal_agents::ModelProvider + 'static,
) -> Result<AgentEnvironment, EnvironmentError> {
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set(new_events)))?
        .model_provider(model)
        .agents((reader, desk));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    builder.start().await
}

#[rstest]
#[tokio::test]
async fn a_chat_goes_on_over_many_executions(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    // Continues as new after each message, and in the middle of the second one.
    let model = librarian();
    let env = chat(0, cached, model.clone()).await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("reader")).await?;
    let id = started.info().workflow_id.clone();
    let chat = ChatHandle::new(env.client(), &*id);
    for number in 1..=3 {
        let (message, said) = (format!("m{number}"), format!("message {number}"));
        assert_eq!(chat.send_as(&*message, said).await?, answered(&message, &format!("answer {number}")));
    }
    assert_eq!(chat.send_as("m2", "").await?, answered("m2", "answer 2"), "it is not said again");
    let transcript = chat.transcript().await?;
    let said: Vec<_> = transcript.items.iter().filter_map(Item::text).collect();
    assert_eq!(said, ["message 1", "answer 1", "message 2", "answer 2", "message 3", "answer 3"]);
    assert_eq!((transcript.items.len(), transcript.current, transcript.waiting), (8, None, vec![]));
    chat.end().await?;
    assert_eq!(env.await_run(&started).await?.output()?, 3);
    assert_eq!(histories(&env, &id).await?.len(), 5);
    assert_eq!(model.calls().len(), 4);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_chat_with_local_model_calls_continues_as_new_after_so_many_messages(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let options = ContinueOptions::builder().max_new_updates(2).build();
    let local = ModelActivityOptions::builder().local(true).build();
    let set = AgentSet::new((reader, desk)).model_activity(local).continue_when(options);
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set))?
        .model_provider(FakeModel::function(|_, number| text(format!("answer {}", number + 1))))
        .agents((reader, desk));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("reader")).await?;
    let id = started.info().workflow_id.clone();
    let chat = ChatHandle::new(env.client(), &*id);
    for number in 1..=5 {
        let (message, said) = (format!("m{number}"), format!("message {number}"));
        assert_eq!(chat.send_as(&*message, said).await?, answered(&message, &format!("answer {number}")));
    }
    chat.end().await?;
    assert_eq!(env.await_run(&started).await?.output()?, 5);
    assert_eq!(histories(&env, &id).await?.len(), 3);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn messages_that_wait_are_carried_over() -> anyhow::Result<()> {
    let held = HeldModel::new(&librarian());
    let env = chat(0, true, held.clone()).await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("reader")).await?;
    let chat = ChatHandle::new(env.client(), &*started.info().workflow_id);
    let second = async {
        held.asked().await?;
        let answer = chat.send_as("m2", "message 2");
        let release = async {
            for _ in 0..3 {
                held.answer();
            }
            anyhow::Ok(())
        };
        let (answer, released) = tokio::join!(answer, release);
        released?;
        anyhow::Ok(answer?)
    };
    let (first, second) = tokio::join!(chat.send_as("m1", "message 1"), second);
    assert_eq!((first?, second?), (answered("m1", "answer 1"), answered("m2", "answer 2")));
    chat.end().await?;
    assert_eq!(env.await_run(&started).await?.output()?, 2);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_message_whose_run_fails_before_it_has_done_anything_leaves_the_conversation_as_it_was() -> anyhow::Result<()>
{
    let model = FakeModel::function(|call, _| {
        let said = call.input.iter().filter_map(Item::text).next_back().unwrap_or_default();
        if said == "fail" { tool_call("nothing", json!({})) } else { text(format!("you said {said}")) }
    });
    let env = chat(10_000, true, model).await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("reader")).await?;
    let chat = ChatHandle::new(env.client(), &*started.info().workflow_id);
    let failed = chat.send("fail").await?.outcome;
    assert!(matches!(&failed, ChatOutcome::Failed { reason } if reason.contains("nothing")), "{failed:?}");
    assert_eq!(chat.send_as("m2", "hello").await?, answered("m2", "you said hello"));
    let said: Vec<_> = chat.transcript().await?.items.iter().filter_map(Item::text).collect();
    assert_eq!(said, ["hello", "you said hello"]);
    chat.end().await?;
    let refused = chat.send("too late").await;
    assert!(!matches!(refused, Ok(ChatReply { outcome: ChatOutcome::Answered { .. }, .. })), "{refused:?}");
    assert_eq!(env.await_run(&started).await?.output()?, 2);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn what_a_failed_run_has_done_stays_in_the_conversation(
    // In one execution, and with a continue-as-new in between.
    #[values(10_000, 0)] new_events: u32,
) -> anyhow::Result<()> {
    let model = FakeModel::function(|call, _| match call.input.last().map(Item::kind) {
        Some("function_call_output") => tool_call("nothing", json!({})),
        _ if call.input.len() > 1 => text(format!("I know {}", call.input.len() - 1)),
        _ => tool_call("page", json!({"number": 1, "words": 3})),
    });
    let env = chat(new_events, true, model).await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("reader")).await?;
    let chat = ChatHandle::new(env.client(), &*started.info().workflow_id);
    let failed = chat.send_as("m1", "read").await?.outcome;
    assert!(matches!(&failed, ChatOutcome::Failed { reason } if reason.contains("nothing")), "{failed:?}");
    assert_eq!(chat.send_as("m2", "hello").await?, answered("m2", "I know 3"));
    let kinds: Vec<_> = chat.transcript().await?.items.iter().map(|item| item.kind().to_owned()).collect();
    assert_eq!(kinds, ["message", "function_call", "function_call_output", "message", "message"]);
    chat.end().await?;
    env.await_run(&started).await?;
    histories(&env, &started.info().workflow_id).await?;
    env.finish().await?;
    Ok(())
}
