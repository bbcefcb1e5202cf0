//! Polls that wait while the workflow waits: for a decision, for its handlers, for its end.

use std::time::Duration;

use futures::TryStreamExt;
use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Runner, agent_handlers,
    client::{AgentHandle, ChatHandle, RunEvents, WorkflowStreamItems, WorkflowStreamPublisher},
    tool::BoxError,
    wire::{AgentRequest, Carried, ChatRequest, DecisionAnswer, EventKind},
    workflow::{AgentInbox, AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_client::{Client, RpcOptions, WorkflowHandle, WorkflowSignalOptions, WorkflowStartUpdateOptions};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult};

use super::support::{Open, Order, Subscriber, offsets};
use crate::{
    agent_handlers::support::{desk, state_when_waiting},
    continuing::support::{chain, pages, reader},
    examples::{Cache, histories},
};

/// Continues as new after this number of polls.
fn after_polls(polls: u32) -> ContinueOptions {
    ContinueOptions::builder().max_new_updates(polls).build()
}

/// Publishes this number of items, and reads each: one or two polls for each.
async fn chatter(env: &AgentEnvironment, id: &str, items: usize) -> anyhow::Result<()> {
    let mut subscriber = Subscriber::of(WorkflowStreamItems::new(env.client(), id));
    let publisher = WorkflowStreamPublisher::new(env.client(), id);
    for number in 0..items as u64 {
        publisher.publish("chatter", &number)?;
        publisher.flush().await?;
        assert_eq!(offsets(&subscriber.next(1).await?), [number]);
    }
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_waits_for_a_decision_takes_its_polls_to_the_next_execution(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_calls([("refund", json!({"order": 7}))]), text("done")]);
    let set = AgentSet::new((desk,)).continue_when(after_polls(8));
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .model(&model)
        .agents((desk,));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "My money, please.")).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    state_when_waiting(&agent).await?;
    chatter(&env, &id, 20).await?;
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted);
    let handle = env.client().get_workflow_handle::<AgentWorkflow>(&*id);
    assert_eq!(env.await_run(&handle).await?.output()?, json!("done"));
    let histories = chain(&env, &id).await?;
    assert!(histories.len() > 2, "{} executions", histories.len());
    for history in &histories {
        env.replay(history).await?;
    }
    let facts: Vec<_> = RunEvents::new(env.client()).watch(&*id).try_collect().await?;
    let questions: Vec<_> = facts
        .iter()
        .filter_map(|fact| match &fact.kind {
            EventKind::QuestionAsked { question_id, .. } => Some(&**question_id),
            _ => None,
        })
        .collect();
    assert_eq!(questions, vec!["call_0_0"; histories.len()], "each execution repeats what it waits for");
    assert_eq!(facts.iter().filter(|fact| matches!(fact.kind, EventKind::QuestionDecided { .. })).count(), 1);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_chat_without_messages_takes_its_polls_to_the_next_execution(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([text("Hello.")]);
    let set = AgentSet::new((desk,)).continue_when(after_polls(8));
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set))?
        .model(&model)
        .agents((desk,));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("desk")).await?;
    let id = started.info().workflow_id.clone();
    chatter(&env, &id, 20).await?;
    let chat = ChatHandle::new(env.client(), &*id);
    chat.send("Hi.").await?;
    chat.end().await?;
    let handle = env.client().get_workflow_handle::<ChatWorkflow>(&*id);
    assert_eq!(env.await_run(&handle).await?.output()?, 1);
    let histories = chain(&env, &id).await?;
    assert!(histories.len() > 2, "{} executions", histories.len());
    for history in &histories {
        env.replay(history).await?;
    }
    env.finish().await?;
    Ok(())
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Visit {
    Begins,
    Continued(Carried),
}

/// A workflow that knows nothing of streams: it waits for its handlers after its run.
#[workflow]
pub(crate) struct Salon {
    inbox: AgentInbox,
    visit: Option<Visit>,
    is_begun: bool,
    is_over: bool,
}

#[agent_handlers]
#[workflow_methods]
impl Salon {
    #[init]
    fn new(_ctx: &WorkflowContextView, visit: Visit) -> Self {
        let inbox = match &visit {
            Visit::Begins => AgentInbox::default(),
            Visit::Continued(carried) => AgentInbox::of(carried),
        };
        let is_begun = matches!(visit, Visit::Continued(_));
        Self { inbox, visit: Some(visit), is_begun, is_over: false }
    }

    #[run(name = "salon")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        ctx.wait_condition(|salon| salon.is_begun).await?;
        let options = ContinueOptions::builder().new_events(0).handler_timeout(Duration::from_secs(1)).build();
        let runner = Runner::with_inbox(ctx).continue_with(Visit::Continued).continue_when(options);
        let result = match ctx.state_mut(|salon| salon.visit.take()) {
            Some(Visit::Continued(carried)) => runner.run(&reader(), carried).await?,
            _ => runner.run(&reader(), "Read it to me.").await?,
        };
        ctx.state_mut(|salon| salon.is_over = true);
        ctx.wait_condition(|_| ctx.all_handlers_finished()).await?;
        Ok(result.final_output)
    }

    #[signal]
    pub(crate) fn begin(&mut self, _ctx: &mut SyncWorkflowContext<Self>) {
        self.is_begun = true;
    }

    /// Waits until all is read.
    #[update]
    pub(crate) async fn hear_it_all(ctx: &mut WorkflowContext<Self>) -> Result<bool, BoxError> {
        ctx.wait_condition(|salon| salon.is_over).await?;
        Ok(true)
    }
}

/// A salon that has not begun.
async fn salon(cache: Cache) -> anyhow::Result<(AgentEnvironment, WorkflowHandle<Client, Salon>, String)> {
    let model = pages(1);
    let env = cache.environment::<Salon>()?.model_provider(model).agents((reader,)).start().await?;
    let started = env.start_workflow(Salon::run, Visit::Begins).await?;
    let id = started.info().workflow_id.clone();
    let handle = env.client().get_workflow_handle(&*id);
    Ok((env, handle, id))
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_workflow_that_waits_for_its_handlers_ends_although_many_subscribe(
    #[case] cache: Cache,
) -> anyhow::Result<()> {
    let (env, salon, id) = salon(cache).await?;
    let subscribers: Vec<_> = (0..4).map(|_| Subscriber::of(WorkflowStreamItems::new(env.client(), &*id))).collect();
    salon.signal(Salon::begin, (), WorkflowSignalOptions::default()).await?;
    assert_eq!(env.await_run(&salon).await?.output()?, "The end.");
    for subscriber in subscribers {
        assert_eq!(subscriber.rest().await?, []);
    }
    assert!(histories::<Salon>(&env, &id).await?.len() > 1);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_slow_handler_beside_a_poll_makes_no_run_fail(#[case] cache: Cache) -> anyhow::Result<()> {
    let (env, salon, id) = salon(cache).await?;
    let options = WorkflowStartUpdateOptions::default();
    let subscriber = Subscriber::of(WorkflowStreamItems::new(env.client(), &*id));
    let hearing = salon.start_update(Salon::hear_it_all, (), options).await?;
    salon.signal(Salon::begin, (), WorkflowSignalOptions::default()).await?;
    assert!(hearing.get_result(RpcOptions::default()).await?);
    assert_eq!(env.await_run(&salon).await?.output()?, "The end.");
    assert_eq!(subscriber.rest().await?, []);
    histories::<Salon>(&env, &id).await?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn many_subscribers_receive_a_large_item(#[case] cache: Cache) -> anyhow::Result<()> {
    let channel = Open::begin(cache).await?;
    channel.order(Order::Publish(1)).await?;
    let mut subscribers: Vec<_> = (0..4).map(|_| Subscriber::of(channel.items())).collect();
    for subscriber in &mut subscribers {
        assert_eq!(offsets(&subscriber.next(1).await?), [0]);
    }
    let publisher = channel.publisher();
    publisher.publish("large", &"x".repeat(1_000_000))?;
    publisher.publish("large", &"y".repeat(1_000_000))?;
    publisher.close().await?;
    for subscriber in &mut subscribers {
        assert_eq!(offsets(&subscriber.next(2).await?), [1, 2]);
    }
    channel.order(Order::End).await?;
    for subscriber in subscribers {
        assert_eq!(offsets(&subscriber.rest().await?), [3]);
    }
    histories::<super::support::Channel>(&channel.env, &channel.id).await?;
    channel.env.finish().await?;
    Ok(())
}
