//! A chat with an agent, as a workflow.

use std::sync::Arc;

use temporal_agents_core::{
    tool::BoxError,
    wire::{
        AgentDecision, AgentState, DecisionReply, SuppliedOutput,
        ready_made::{ChatMessage, ChatOutcome, ChatReply, ChatRequest, ChatTranscript},
    },
};
use temporalio_workflow::{
    SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult, common::data_converters::RawValue,
    workflow, workflow_methods,
};

use super::{agent_set::AgentSet, chat::Chat, chat_loop::answer_messages};
use crate::workflow::{
    AgentInbox, HasAgentInbox, WorkflowStream,
    inbox::decide,
    stream::{PollResult, stream_admits_poll, stream_offset, stream_poll, stream_publish, stream_read},
};

/// The patch of chats in which few handlers wait for answers, so that the server also admits
/// decisions.
const HOLDS_FEW_MESSAGES: &str = "temporal-agents/chat-holds-few-messages";

/// A chat with an agent: each message is an update (`chat_send`), and the answer is the update's
/// result. The conversation is kept, calls wait for decisions, and the workflow continues as new
/// automatically, between messages and while one is being answered. A `ChatHandle` is its client.
///
/// ```
/// # #[cfg(feature = "worker")]
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use temporal_agents::{Agent, workflow::{AgentSet, ChatWorkflow}};
/// use temporalio_sdk::WorkerOptions;
///
/// fn librarian() -> Agent {
///     Agent::new("librarian").model("gpt-5")
/// }
///
/// let factory = ChatWorkflow::factory(AgentSet::new((librarian,)));
/// let options = WorkerOptions::new("library")
///     .register_workflow_with_factory::<ChatWorkflow, _>(factory)?
///     .build();
/// # Ok(())
/// # }
/// ```
///
/// Each message begins with the agent that the chat was started with, also after a handoff; with
/// [`AgentSet::last_agent_continues`] it begins with the agent that answered last.
///
/// The chat is started with a [`ChatRequest`] (`{"agent": "librarian"}`), and ends with the update
/// `chat_end`, once all messages are answered; its result is the number of messages. Each message
/// is a run with the turn limit of the set, and its input is the whole conversation. A message
/// whose run fails is answered with the reason. The conversation then contains the message and the
/// work of the run, so that the model does not repeat it. If the run has done nothing, or
/// the conversation would be too large to be carried over, the conversation stays as it was.
///
/// The server admits 10 updates without a result at a time. So at most 4 messages hold their update
/// until they are answered, one update each. A further message, and one that is sent again
/// meanwhile, is accepted, and returns [`ChatOutcome::GoesOn`] at once. The query `chat_reply`
/// returns its answer later. Decisions are always admitted.
#[workflow]
pub struct ChatWorkflow {
    pub(super) agents: Arc<AgentSet>,
    pub(super) inbox: AgentInbox,
    pub(super) chat: Chat,
    /// `true` once the data that the previous execution left is available: the answers of handlers
    /// depend on it.
    pub(super) is_taken_up: bool,
    /// `true` if the workflow is about to continue as new: callers that wait for an answer have to
    /// ask again.
    pub(super) is_leaving: bool,
    pub(super) is_over: bool,
}

impl ChatWorkflow {
    /// Returns a factory of the workflow, for `register_workflow_with_factory`. The agents must
    /// also be in the worker's `AgentsPlugin`.
    pub fn factory(agents: AgentSet) -> impl Fn() -> Self + Send + Sync + 'static {
        let agents = Arc::new(agents);
        move || Self {
            agents: Arc::clone(&agents),
            inbox: AgentInbox::awaiting_restore(),
            chat: Chat::default(),
            is_taken_up: false,
            is_leaving: false,
            is_over: false,
        }
    }
}

impl ChatWorkflow {
    /// Returns `true` if a message waits, the chat ends, or the stream has had this number of
    /// polls.
    pub(super) fn has_something_to_do(&self, max_polls: Option<u32>) -> bool {
        !self.chat.waiting.is_empty() || self.chat.is_ending || self.inbox.stream().polls().has_reached(max_polls)
    }
}

#[workflow_methods(factory_only)]
impl ChatWorkflow {
    #[run(name = "ChatWorkflow")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, request: ChatRequest) -> WorkflowResult<u32> {
        let ended = Box::pin(answer_messages(ctx, request)).await;
        // Also after a failure: a poll that waits would fail with the end of the workflow.
        WorkflowStream::new(ctx).close().await;
        ended
    }

    /// Sends a message, and returns the answer.
    #[update(name = "chat_send")]
    pub async fn chat_send(ctx: &mut WorkflowContext<Self>, message: ChatMessage) -> Result<ChatReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.is_taken_up).await?;
        let id = match ctx.state_mut(|workflow| workflow.chat.accept(message)) {
            Ok(id) => id,
            Err(refused) => return Ok(refused),
        };
        let is_answered =
            |workflow: &Self| workflow.chat.reply_to(&id).is_some() || workflow.is_leaving || workflow.is_over;
        let may_wait = ctx.state(|workflow| is_answered(workflow) || workflow.chat.may_hold(&id));
        if !may_wait && ctx.patched(HOLDS_FEW_MESSAGES) {
            return Ok(ChatReply::new(id, ChatOutcome::GoesOn));
        }
        ctx.state_mut(|workflow| workflow.chat.hold(&id));
        let waited = ctx.wait_condition(is_answered).await;
        ctx.state_mut(|workflow| workflow.chat.let_go(&id));
        waited?;
        let reply = ctx.state(|workflow| workflow.chat.reply_to(&id));
        Ok(reply.unwrap_or_else(|| ChatReply::new(id, ChatOutcome::GoesOn)))
    }

    /// Ends the chat once all messages are answered.
    #[update(name = "chat_end")]
    pub async fn chat_end(ctx: &mut WorkflowContext<Self>) -> Result<ChatReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.is_taken_up).await?;
        ctx.state_mut(|workflow| workflow.chat.is_ending = true);
        Ok(ChatReply::new("", ChatOutcome::Ends))
    }

    /// Returns the progress of the message with this id: its answer, or that it is still being
    /// answered; `None` if the chat does not know the message.
    #[query(name = "chat_reply")]
    pub fn chat_reply(&self, _ctx: &WorkflowContextView, id: String) -> Option<ChatReply> {
        self.chat.progress(&id)
    }

    #[query(name = "chat_transcript")]
    pub fn chat_transcript(&self, _ctx: &WorkflowContextView) -> ChatTranscript {
        self.chat.transcript()
    }

    #[update(name = "agent_decide")]
    pub async fn agent_decide(
        ctx: &mut WorkflowContext<Self>,
        decision: AgentDecision,
    ) -> Result<DecisionReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.is_taken_up).await?;
        Ok(decide(ctx, decision))
    }

    #[update(name = "agent_supply_output")]
    pub async fn agent_supply_output(
        ctx: &mut WorkflowContext<Self>,
        supplied: SuppliedOutput,
    ) -> Result<DecisionReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.is_taken_up).await?;
        Ok(decide(ctx, supplied.into()))
    }

    #[query(name = "agent_state")]
    pub fn agent_state(&self, _ctx: &WorkflowContextView) -> AgentState {
        self.inbox.state()
    }

    #[signal(name = "__temporal_workflow_stream_publish")]
    pub fn stream_publish(&mut self, ctx: &mut SyncWorkflowContext<Self>, input: RawValue) {
        stream_publish(&mut self.inbox, ctx, &input);
    }

    #[update(name = "__temporal_workflow_stream_poll")]
    pub async fn stream_poll(ctx: &mut WorkflowContext<Self>, input: RawValue) -> PollResult {
        stream_poll(ctx, input).await
    }

    #[update_validator(stream_poll)]
    fn stream_admits_poll(&self, _ctx: &WorkflowContextView, _input: &RawValue) -> Result<(), BoxError> {
        stream_admits_poll(&self.inbox)
    }

    #[query(name = "__temporal_workflow_stream_poll")]
    pub fn stream_read(&self, _ctx: &WorkflowContextView, input: RawValue) -> PollResult {
        stream_read(&self.inbox, &input)
    }

    #[query(name = "__temporal_workflow_stream_offset")]
    pub fn stream_offset(&self, _ctx: &WorkflowContextView) -> u64 {
        stream_offset(&self.inbox)
    }
}

impl HasAgentInbox for ChatWorkflow {
    fn agent_inbox(&self) -> &AgentInbox {
        &self.inbox
    }

    fn agent_inbox_mut(&mut self) -> &mut AgentInbox {
        &mut self.inbox
    }
}
