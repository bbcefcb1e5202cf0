//! The loop of a chat: answers one message after another, until the chat ends.
//!
//! # Design
//! **A chat that waits holds little.** Most chats wait most of the time, and a worker keeps them in
//! memory. So everything that only a message needs, or only the beginning of the execution, is
//! awaited in a box of its own: between messages the future of the loop has the runner, the agents
//! and the name of the start agent. What a parked chat keeps:
//!
//! | what | why |
//! |---|---|
//! | the conversation | the input of the next message; a workflow cannot read its history |
//! | the answers, up to 128 KiB | a message that is sent again has the same answer |
//! | the ledger, with digests in place of definitions | the next call refers to history |
//! | the inbox: decisions, the stream | a decision that is sent again has the same answer |
//!
//! Agents, configuration and options are those of the worker's set, which all its chats share.

use std::sync::Arc;

use futures::future::Either;
use temporal_agents_core::{
    agent::AgentDef,
    drive::{PausedRun, RunFailure, RunResult, SessionRef},
    engine::{RunError, without_orphan_calls},
    wire::{
        Carried, Item, RunState,
        ready_made::{ChatOutcome, ChatRequest, Malformed},
        run_state::Phase,
    },
};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

use super::{
    agent_set::nonsense,
    chat_agents::{Begins, ChatAgents},
    chat_workflow::ChatWorkflow,
    specs::{SpecAgent, spec_agent},
    threads::{message_input, rereads_thread},
    toolsets::AskedTools,
};
use crate::workflow::{
    RunFailed, Runner, WorkflowStream,
    continuing::{continued_from, fail_task, record_deploy_patch, refused},
};

/// The parts of a chat that all its messages use.
struct ChatSetup {
    /// Name of the start agent.
    start: String,
    agents: ChatAgents,
    runner: Runner<ChatWorkflow>,
    /// `true` if the conversation is in a store.
    has_thread: bool,
}

/// Answers messages until the chat ends.
pub(super) async fn answer_messages(ctx: &WorkflowContext<ChatWorkflow>, request: ChatRequest) -> WorkflowResult<u32> {
    let ChatSetup { start, mut agents, runner, has_thread } = Box::pin(begin(ctx, request)).await?;
    while !ctx.state(|workflow| workflow.chat.is_over()) {
        let has_enough = runner.has_enough();
        if has_enough {
            Box::pin(leave(ctx, &runner, agents.latest(), &start)).await.map_err(RunFailed::from)?;
        }
        let max_polls = runner.polls_until_enough().filter(|_| !has_enough);
        ctx.wait_condition(|workflow| workflow.has_something_to_do(max_polls)).await?;
        // Only the number of polls has ended the wait.
        if !ctx.state(|workflow| workflow.has_something_to_do(None)) {
            continue;
        }
        if !Box::pin(answer_next(ctx, &runner, &mut agents, has_thread)).await? {
            break;
        }
    }
    ctx.state_mut(|workflow| workflow.is_over = true);
    WorkflowStream::new(ctx).close().await;
    ctx.wait_condition(|_| ctx.all_handlers_finished()).await?;
    Ok(ctx.state(|workflow| workflow.chat.messages()))
}

/// Takes over what the request carries, and finishes the message that the previous execution was
/// answering.
async fn begin(ctx: &WorkflowContext<ChatWorkflow>, request: ChatRequest) -> WorkflowResult<ChatSetup> {
    let continued = continued_from(&ctx.info());
    if request.carries_something() {
        if let Err(why) = &continued {
            let agent = request.agent.as_deref().unwrap_or_default();
            return Err(RunFailed::from(refused(agent, "the chat that the input carries", why)).into());
        }
        record_deploy_patch(ctx);
    }
    let ChatRequest {
        version: _,
        agent,
        spec,
        conversation,
        carried,
        last_agent_continues,
        toolsets,
        user,
        untrusted,
        loaded,
        malformed,
        thread,
    } = request;
    if let Some(Malformed { json, reason }) = malformed {
        if continued.is_ok() {
            let agent = json["agent"].as_str().unwrap_or_default();
            fail_task(ctx, agent, format_args!("its input is not a chat request that this release can read: {reason}"))
                .await;
        }
        return Err(nonsense("", format!("the input is not a chat request: {reason}")));
    }
    let set = ctx.state(|workflow| Arc::clone(&workflow.agents));
    let start = set.name_of(agent.as_deref(), spec.as_ref());
    if let (Err(error), true) = (&start, carried.is_some()) {
        fail_task(ctx, agent.as_deref().unwrap_or_default(), error).await;
    }
    let start = start.map_err(RunFailed::from)?;
    let session = set.thread_session(&start, thread.as_deref());
    if let (Err(error), true) = (&session, carried.is_some()) {
        fail_task(ctx, &start, error).await;
    }
    let session = session.map_err(RunFailed::from)?;
    let mut keeps_agent = last_agent_continues.unwrap_or(set.last_agent_continues);
    if carried.is_none() {
        set.admit_conversation(&start, thread.as_deref(), &conversation).map_err(RunFailed::from)?;
        let tools = AskedTools { toolsets: toolsets.clone(), user: user.clone(), untrusted, ..AskedTools::default() };
        set.admit_tools(&start, &tools).map_err(RunFailed::from)?;
        keeps_agent = set.admit_last_agent(&start, last_agent_continues).map_err(RunFailed::from)?;
    }
    let version = carried.as_ref().and_then(|carried| carried.agent_version.clone());
    let source = match &spec {
        None => Either::Left(ChatAgents::new(ctx, Arc::clone(&set), start.clone(), version).map_err(RunFailed::from)?),
        Some(spec) => Either::Right(spec),
    };
    let run = ctx.state_mut(|workflow| {
        workflow.chat.agent = Some(start.clone());
        workflow.chat.last_agent_continues = keeps_agent;
        workflow.chat.conversation = conversation;
        workflow.chat.toolsets.clone_from(&toolsets);
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
    let has_thread = session.is_some();
    let next = ChatRequest {
        spec,
        thread,
        last_agent_continues,
        toolsets,
        user,
        untrusted,
        loaded,
        ..ChatRequest::new(&*start)
    };
    let runner = runner(ctx, next, agents.latest(), session);
    if let Some(run) = run {
        let last_agent = ctx.state(|workflow| workflow.chat.last_agent.clone());
        Box::pin(go_on(ctx, &runner, &agents.goes_on(ctx, last_agent), run, has_thread))
            .await
            .map_err(RunFailed::from)?;
    }
    Ok(ChatSetup { start, agents, runner, has_thread })
}

/// Continues as new between two messages, if that is possible now: otherwise the chat tries again
/// after the next message.
async fn leave(
    ctx: &WorkflowContext<ChatWorkflow>,
    runner: &Runner<ChatWorkflow>,
    agent: &AgentDef,
    start: &str,
) -> Result<(), RunFailure> {
    let conversation = ctx.state(|workflow| workflow.chat.conversation.clone());
    let left = runner.leave(agent, RunState::finished(start, conversation)).await;
    left.map_or(Ok(()), Err)
}

/// Answers the next message; returns `false` if there is none.
async fn answer_next(
    ctx: &WorkflowContext<ChatWorkflow>,
    runner: &Runner<ChatWorkflow>,
    agents: &mut ChatAgents,
    has_thread: bool,
) -> WorkflowResult<bool> {
    let Some(message) = ctx.state_mut(|workflow| workflow.chat.next()) else { return Ok(false) };
    let conversation = ctx.state(|workflow| workflow.chat.conversation.clone());
    let input = message_input(conversation, message.text, has_thread);
    let (number, last_agent) = ctx.state(|workflow| (workflow.chat.number(), workflow.chat.last_agent.clone()));
    let Begins { agent, version, last_agent } = agents.begin(ctx, number, last_agent).map_err(RunFailed::from)?;
    ctx.state_mut(|workflow| (workflow.chat.version, workflow.chat.last_agent) = (version, last_agent));
    let ended = runner.run_def(&agent, input).await;
    answer(ctx, ended, has_thread).map_err(RunFailed::from)?;
    Ok(true)
}

/// Creates the runner of all messages. It is a single one, because it records the content that
/// history already holds. `next` is the request of the next execution, without the chat.
fn runner(
    ctx: &WorkflowContext<ChatWorkflow>,
    next: ChatRequest,
    start: &AgentDef,
    session: Option<SessionRef>,
) -> Runner<ChatWorkflow> {
    let (state, is_spec) = (ctx.clone(), next.spec.is_some());
    let tools = AskedTools {
        toolsets: next.toolsets.clone(),
        user: next.user.clone(),
        untrusted: next.untrusted,
        ..AskedTools::default()
    };
    let next = move |run: Carried| {
        let chat = state.state(|workflow| workflow.chat.leave(run));
        ChatRequest { carried: Some(Box::new(chat)), ..next.clone() }
    };
    let agents = ctx.state(|workflow| Arc::clone(&workflow.agents));
    let runner = if is_spec { agents.runner_of(ctx, start) } else { agents.runner(ctx) };
    runner
        .asked_tools(tools)
        .with_chat_session(session, ctx.workflow_id())
        .continue_with(next)
        .on_continue_as_new(|workflow| workflow.is_leaving = true)
        .on_continue_as_new_aborted(|workflow| workflow.is_leaving = false)
}

/// Restores what the previous execution left: a conversation, or the run that was answering a
/// message.
async fn go_on(
    ctx: &WorkflowContext<ChatWorkflow>,
    runner: &Runner<ChatWorkflow>,
    agent: &Arc<AgentDef>,
    carried: Carried,
    has_thread: bool,
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
    answer(ctx, ended, has_thread)
}

/// Records the outcome of a message. Returns the failure of a run that ends the workflow.
fn answer(
    ctx: &WorkflowContext<ChatWorkflow>,
    ended: Result<RunResult<serde_json::Value>, RunFailure>,
    has_thread: bool,
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
            let conversation = match &failure.error {
                error if rereads_thread(error, has_thread) => Some(Vec::new()),
                _ => conversation_after_failure(ctx, failure),
            };
            if let Some(conversation) = conversation {
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
