//! Messages of a chat that wait for their answers beside the approval that they wait for: the server admits 10 open updates.

use futures::future::join_all;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Tool,
    client::{AgentHandle, AgentHandleError, ChatHandle},
    tool,
    wire::{AgentRequest, ChatOutcome, ChatReply, ChatRequest, DecisionAnswer},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, FinishedRun,
    fake_model::{Reply, text, tool_call},
    history,
};
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use tokio::{task::JoinHandle, time::timeout};

use crate::PATIENCE;

use super::support::state_when_waiting;

/// Gives money back.
#[tool]
async fn refund(order: u32) -> String {
    format!("refunded {order}")
}

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5").tool(refund.needs_approval())
}

/// Refunds once, then numbers its answers.
fn model() -> FakeModel {
    FakeModel::function(|call, number| -> Reply {
        let has_asked = call.input.iter().any(|item| item.kind() == "function_call");
        if has_asked { text(format!("answer {number}")) } else { tool_call("refund", json!({"order": 7})) }
    })
}

type Sent = JoinHandle<Result<ChatReply, AgentHandleError>>;

struct Talk {
    env: AgentEnvironment,
    id: String,
    handle: temporalio_client::WorkflowHandle<temporalio_client::Client, ChatWorkflow>,
}

impl Talk {
    async fn begin(cached: bool) -> anyhow::Result<Self> {
        let mut builder = AgentEnvironment::builder()
            .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(AgentSet::new((desk,))))?
            .model(&model())
            .agents((desk,));
        if !cached {
            builder = builder.without_workflow_cache();
        }
        let env = builder.start().await?;
        let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("desk")).await?;
        let id = started.info().workflow_id.clone();
        let handle = env.client().get_workflow_handle(&*id);
        Ok(Self { env, id, handle })
    }

    fn agent(&self) -> AgentHandle {
        AgentHandle::new(self.env.client(), &*self.id)
    }

    fn chat(&self) -> ChatHandle {
        ChatHandle::new(self.env.client(), &*self.id)
    }

    /// Sends these messages, all at the same time, and waits until the workflow has taken all of them.
    async fn send(&self, ids: impl Iterator<Item = String>) -> anyhow::Result<Vec<Sent>> {
        let sent: Vec<Sent> = ids
            .map(|id| {
                let chat = self.chat();
                tokio::spawn(async move { chat.send_as(id, "Money.").await })
            })
            .collect();
        let taken = async {
            loop {
                let history = history::fetch(self.env.client(), &self.id, None).await?;
                let kind = EventType::WorkflowExecutionUpdateAccepted;
                if history.events.iter().filter(|event| event.event_type() == kind).count() >= sent.len() {
                    return anyhow::Ok(());
                }
            }
        };
        timeout(PATIENCE, taken).await.map_err(|_| anyhow::anyhow!("the messages were not taken"))??;
        Ok(sent)
    }

    /// Approves the refund, and returns the answers to the messages.
    async fn approved(&self, sent: Vec<Sent>) -> anyhow::Result<Vec<ChatReply>> {
        state_when_waiting(&self.agent()).await?;
        let approved = timeout(PATIENCE, self.agent().approve("call_1_0")).await;
        assert_eq!(approved.map_err(|_| anyhow::anyhow!("the approval was shut out"))??, DecisionAnswer::Accepted);
        let replies = timeout(PATIENCE, join_all(sent)).await.map_err(|_| anyhow::anyhow!("no answers"))?;
        replies.into_iter().map(|reply| Ok(reply??)).collect()
    }

    async fn end(self) -> anyhow::Result<FinishedRun<u32>> {
        self.chat().end().await?;
        let run = timeout(PATIENCE, self.env.await_run(&self.handle)).await??;
        assert_eq!(run.failed_workflow_tasks(), 0);
        self.env.finish().await?;
        Ok(run)
    }
}

#[rstest]
#[tokio::test]
async fn ten_messages_leave_room_for_the_approval_that_they_wait_for(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let talk = Talk::begin(cached).await?;
    let sent = talk.send((0..10).map(|number| format!("message {number}"))).await?;
    let replies = talk.approved(sent).await?;
    let ids: Vec<_> = replies.iter().map(|reply| &*reply.message).collect();
    assert_eq!(ids, (0..10).map(|number| format!("message {number}")).collect::<Vec<_>>());
    for reply in &replies {
        assert!(matches!(reply.outcome, ChatOutcome::Answered { .. }), "{reply:?}");
    }
    assert_eq!(talk.end().await?.output()?, 10);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_message_that_is_sent_again_holds_one_update(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let talk = Talk::begin(cached).await?;
    let sent = talk.send((0..10).map(|_| "the same".to_owned())).await?;
    let replies = talk.approved(sent).await?;
    for reply in replies {
        assert_eq!(&*reply.message, "the same");
        assert_eq!(reply.outcome, ChatOutcome::Answered { output: json!("answer 1") });
    }
    assert_eq!(talk.end().await?.output()?, 1);
    Ok(())
}

#[tokio::test]
async fn a_question_with_arguments_that_no_input_has_room_for_waits_where_it_is() -> anyhow::Result<()> {
    let huge = json!({"order": 7, "why": "\n".repeat(450_000)});
    let model = FakeModel::script([tool_call("refund", huge), text("done")]);
    let held = crate::held_model::HeldModel::new(&model);
    let set = AgentSet::new((desk,)).continue_when(ContinueOptions::builder().new_events(0).build());
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .model_provider(held.clone())
        .agents((desk,))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", "Money.")).await?;
    let agent = env.agent_handle(&started);
    held.asked().await?;
    for number in 0..8 {
        // The room that decisions have which no run has asked for.
        agent.reject(format!("stray {number}"), "\u{1}".repeat(31_000)).await?;
    }
    // The run asks whether it is to move before it takes the decision.
    assert_eq!(agent.reject("call_0_0", "no").await?, DecisionAnswer::Kept { waits_for: Vec::new() });
    held.answer();
    held.answer();
    let run = timeout(PATIENCE, env.await_run(&started)).await??;
    assert_eq!(run.output()?, json!("done"));
    env.finish().await?;
    Ok(())
}
