//! A chat with an agent, as a workflow.

use futures::future::Either;
use temporalio_workflow::{
    SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult, common::data_converters::RawValue,
    workflow, workflow_methods,
};

use super::{
    agent_set::{AgentSet, nonsense},
    chat::Chat,
    chat_agents::{Begins, ChatAgents},
    specs::{SpecAgent, spec_agent},
};
use crate::{
    agent::AgentDef,
    drive::{PausedRun, RunFailure, RunResult},
    engine::{RunError, without_orphan_calls},
    tool::BoxError,
    wire::{
        AgentDecision, AgentState, Carried, DecisionReply, Item, RunState, SuppliedOutput,
        ready_made::{ChatMessage, ChatOutcome, ChatReply, ChatRequest, ChatTranscript, Malformed},
        run_state::Phase,
        stream::PollResult,
    },
    workflow::{
        AgentInbox, HasAgentInbox, Runner, WorkflowStream,
        continuing::{continued_from, fail_task, record_deploy_patch, refused},
        stream::{stream_offset, stream_poll, stream_publish, stream_read},
    },
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
    agents: AgentSet,
    inbox: AgentInbox,
    chat: Chat,
    /// `true` once the data that the previous execution left is available: the answers of handlers
    /// depend on it.
    is_taken_up: bool,
    /// `true` if the workflow is about to continue as new: callers that wait for an answer have to
    /// ask again.
    is_leaving: bool,
    is_over: bool,
}

impl ChatWorkflow {
    /// Returns a factory of the workflow, for `register_workflow_with_factory`. The agents must
    /// also be in the worker's `AgentsPlugin`.
    pub fn factory(agents: AgentSet) -> impl Fn() -> Self + Send + Sync + 'static {
        move || Self {
            agents: agents.clone(),
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
    fn has_something_to_do(&self, max_polls: Option<u32>) -> bool {
        !self.chat.waiting.is_empty() || self.chat.is_ending || self.inbox.stream().polls().has_reached(max_polls)
    }
}

#[workflow_methods(factory_only)]
impl ChatWorkflow {
    #[run(name = "ChatWorkflow")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, request: ChatRequest) -> WorkflowResult<u32> {
        let ended = Box::pin(chat(ctx, request)).await;
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
        Ok(ctx.state_mut(|workflow| workflow.inbox.decide(decision)).into())
    }

    #[update(name = "agent_supply_output")]
    pub async fn agent_supply_output(
        ctx: &mut WorkflowContext<Self>,
        supplied: SuppliedOutput,
    ) -> Result<DecisionReply, BoxError> {
        ctx.wait_condition(|workflow| workflow.is_taken_up).await?;
        Ok(ctx.state_mut(|workflow| workflow.inbox.supply_output(supplied)).into())
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

/// Answers messages until the chat ends.
async fn chat(ctx: &WorkflowContext<ChatWorkflow>, request: ChatRequest) -> WorkflowResult<u32> {
    let continued = continued_from(&ctx.info());
    if request.carries_something() {
        if let Err(why) = &continued {
            let agent = request.agent.as_deref().unwrap_or_default();
            return Err(refused(agent, "the chat that the input carries", why).into());
        }
        record_deploy_patch(ctx);
    }
    let ChatRequest { version: _, agent, spec, conversation, carried, last_agent_continues, loaded, malformed } =
        request;
    if let Some(Malformed { json, reason }) = malformed {
        if continued.is_ok() {
            let agent = json["agent"].as_str().unwrap_or_default();
            fail_task(ctx, agent, format_args!("its input is not a chat request that this release can read: {reason}"))
                .await;
        }
        return Err(nonsense("", format!("the input is not a chat request: {reason}")));
    }
    let set = ctx.state(|workflow| workflow.agents.clone());
    let start = set.name_of(agent.as_deref(), spec.as_ref());
    if let (Err(error), true) = (&start, carried.is_some()) {
        fail_task(ctx, agent.as_deref().unwrap_or_default(), error).await;
    }
    let start = start?;
    let mut keeps_agent = last_agent_continues.unwrap_or(set.last_agent_continues);
    if carried.is_none() {
        set.admit_items(&start, "conversation", &conversation)?;
        keeps_agent = set.admit_last_agent(&start, last_agent_continues)?;
    }
    let version = carried.as_ref().and_then(|carried| carried.agent_version.clone());
    let source = match &spec {
        None => Either::Left(ChatAgents::new(ctx, set.clone(), start.clone(), version)?),
        Some(spec) => Either::Right(spec),
    };
    let run = ctx.state_mut(|workflow| {
        workflow.chat.agent = Some(start.clone());
        workflow.chat.last_agent_continues = keeps_agent;
        workflow.chat.conversation = conversation;
        workflow.inbox.restore(carried.as_ref().map(|carried| &carried.run));
        let run = carried.map(|carried| {
            let run = carried.run.clone();
            workflow.chat.take_over(*carried);
            run
        });
        workflow.is_taken_up = true;
        run
    });
    // A spec is loaded once messages are accepted: its store may be unavailable for long.
    let (mut agents, loaded) = match source {
        Either::Left(agents) => (agents, Vec::new()),
        Either::Right(spec) => {
            let SpecAgent { agent, loaded } = Box::pin(spec_agent(ctx, &set, spec, loaded)).await?;
            (ChatAgents::of_spec(set, agent), loaded)
        }
    };
    let next = ChatRequest { last_agent_continues, spec, loaded, ..ChatRequest::new(&*start) };
    let runner = runner(ctx, next, agents.latest());
    if let Some(run) = run {
        let last_agent = ctx.state(|workflow| workflow.chat.last_agent.clone());
        go_on(ctx, &runner, &agents.goes_on(ctx, last_agent), run).await?;
    }
    while !ctx.state(|workflow| workflow.chat.is_over()) {
        let has_enough = runner.has_enough();
        if has_enough {
            let conversation = ctx.state(|workflow| workflow.chat.conversation.clone());
            if let Some(left) = runner.leave(agents.latest(), RunState::finished(&start, conversation)).await {
                return Err(left.into());
            }
            // The chat cannot continue as new now, and tries again after the next message.
        }
        let max_polls = runner.polls_until_enough().filter(|_| !has_enough);
        ctx.wait_condition(|workflow| workflow.has_something_to_do(max_polls)).await?;
        // Only the number of polls has ended the wait.
        if !ctx.state(|workflow| workflow.has_something_to_do(None)) {
            continue;
        }
        let Some(message) = ctx.state_mut(|workflow| workflow.chat.next()) else { break };
        let input = ctx.state(|workflow| {
            let said = workflow.chat.conversation.iter().cloned();
            said.chain([Item::user(message.text)]).collect::<Vec<_>>()
        });
        let (number, last_agent) = ctx.state(|workflow| (workflow.chat.number(), workflow.chat.last_agent.clone()));
        let Begins { agent, version, last_agent } = agents.begin(ctx, number, last_agent)?;
        ctx.state_mut(|workflow| (workflow.chat.version, workflow.chat.last_agent) = (version, last_agent));
        let ended = runner.run_def(&agent, input).await;
        answer(ctx, ended)?;
    }
    ctx.state_mut(|workflow| workflow.is_over = true);
    WorkflowStream::new(ctx).close().await;
    ctx.wait_condition(|_| ctx.all_handlers_finished()).await?;
    Ok(ctx.state(|workflow| workflow.chat.messages()))
}

/// Creates the runner of all messages. It is a single one, because it records the content that
/// history already holds. `next` is the request of the next execution, without the chat.
fn runner(ctx: &WorkflowContext<ChatWorkflow>, next: ChatRequest, start: &AgentDef) -> Runner<ChatWorkflow> {
    let (state, is_spec) = (ctx.clone(), next.spec.is_some());
    let next = move |run: Carried| {
        let chat = state.state(|workflow| workflow.chat.leave(run));
        ChatRequest { carried: Some(Box::new(chat)), ..next.clone() }
    };
    let agents = ctx.state(|workflow| workflow.agents.clone());
    let runner = if is_spec { agents.runner_of(ctx, start) } else { agents.runner(ctx) };
    runner
        .without_session()
        .continue_with(next)
        .on_continue_as_new(|workflow| workflow.is_leaving = true)
        .on_continue_as_new_aborted(|workflow| workflow.is_leaving = false)
}

/// Restores what the previous execution left: a conversation, or the run that was answering a
/// message.
async fn go_on(
    ctx: &WorkflowContext<ChatWorkflow>,
    runner: &Runner<ChatWorkflow>,
    agent: &AgentDef,
    carried: Carried,
) -> Result<(), RunFailure> {
    let (state, arrived) = runner.take_up(agent, carried).await?;
    if let Phase::Finished { .. } = state.phase {
        runner.has_arrived(arrived);
        let said = state.items.into_iter().map(|item| item.raw).collect();
        ctx.state_mut(|workflow| workflow.chat.conversation = said);
        return Ok(());
    }
    ctx.state_mut(|workflow| workflow.chat.conversation = workflow.chat.input_before_message(&state.input).to_vec());
    let ended = runner.run_def_arrived(agent, state, arrived).await;
    answer(ctx, ended)
}

/// Records the outcome of a message. Returns the failure of a run that ends the workflow.
fn answer(
    ctx: &WorkflowContext<ChatWorkflow>,
    ended: Result<RunResult<serde_json::Value>, RunFailure>,
) -> Result<(), RunFailure> {
    let outcome = match ended {
        Ok(result) => {
            let conversation = result.to_input_list();
            ctx.state_mut(|workflow| {
                workflow.chat.conversation = conversation;
                workflow.chat.answered_by(result.last_agent);
            });
            ChatOutcome::Answered { output: result.final_output }
        }
        Err(failure) if failure.continues_as_new() || matches!(failure.error, RunError::Cancelled { .. }) => {
            return Err(failure);
        }
        Err(failure) => {
            let reason = failure.to_string();
            if let Some(conversation) = conversation_after_failure(ctx, failure) {
                ctx.state_mut(|workflow| workflow.chat.conversation = conversation);
            }
            ChatOutcome::Failed { reason }
        }
    };
    ctx.state_mut(|workflow| workflow.chat.answer(outcome));
    Ok(())
}

/// Returns the conversation with the work of a failed run, if it has done any: a model that does
/// not see it would repeat it.
fn conversation_after_failure(ctx: &WorkflowContext<ChatWorkflow>, failure: RunFailure) -> Option<Vec<Item>> {
    // A conversation that is too large to be carried over would end the chat.
    let is_too_large = matches!(failure.error, RunError::ConversationTooLarge { .. });
    let state = failure.state.filter(|state| !state.items.is_empty() && !is_too_large)?;
    let ids = ctx.state(|workflow| workflow.agents.reasoning_item_ids());
    Some(without_orphan_calls(PausedRun::new(*state, ids).to_input_list()))
}
