//! The handlers of Workflow Streams, for every workflow with an inbox.
//!
//! They take their arguments as payloads: an argument that the SDK cannot read would fail the
//! workflow task. They never fail, but a poll may be refused before its handler runs.
//!
//! # Design
//! **A poll that has to wait is polled after the workflow's code.** On replay, a task without
//! commands and the next one are one activation, and handlers are polled before the code. An update
//! that live arrived after the code had reacted is then handled before it. The time limit of a poll
//! depends on the code's state, and each timer has a number, also one that is cancelled at once: a
//! poll that was handled too early would give later timers other numbers than in history.
//!
//! A poll that arrives together with the end of the workflow is handled after it, too: it fails, or
//! holds a workflow that waits for its handlers for 3 s. Subscribers then read by query.

use std::{
    task::Poll,
    time::{Duration, SystemTime},
};

use temporal_agents_core::tool::BoxError;
use temporalio_workflow::{
    SyncWorkflowContext, TimerOptions, WaitConditionOptions, WorkflowCancellationToken, WorkflowContext,
    common::data_converters::RawValue, select,
};

use super::{
    StreamLog,
    messages::{PollInput, PollResult, STREAM_POLLS_USED_UP, read_argument},
};
use crate::workflow::{AgentInbox, HasAgentInbox};

/// Handles the signal that publishes a batch.
pub fn stream_publish<W>(inbox: &mut AgentInbox, ctx: &SyncWorkflowContext<W>, input: &RawValue) {
    let since_1970 = ctx.workflow_time().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let now = since_1970.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    inbox.stream_mut().publish(read_argument(&input.payloads), now);
}

/// Handles the update that waits for items.
pub async fn stream_poll<W: HasAgentInbox + 'static>(ctx: &WorkflowContext<W>, input: RawValue) -> PollResult {
    let input: PollInput = read_argument(&input.payloads);
    let from = input.from_offset;
    ctx.state_mut(|workflow| log_mut(workflow).polls_mut().arrived());
    let delay = || ctx.state(|workflow| log(workflow).polls().delay());
    let has_to_wait = || delay().is_some() || !ctx.state(|workflow| log(workflow).has_news(from));
    if has_to_wait() {
        others_first(ctx).await;
    }
    if has_to_wait() {
        let (ticket, delay) = (ctx.state_mut(|workflow| log_mut(workflow).polls_mut().park()), delay());
        if let Some(delay) = delay {
            pause(ctx, ticket, delay).await;
        }
        wait(ctx, ticket, from).await;
        ctx.state_mut(|workflow| log_mut(workflow).polls_mut().unpark(ticket));
    }
    let history_length = ctx.history_length();
    ctx.state_mut(|workflow| {
        let log = log_mut(workflow);
        log.polls_mut().record_answer();
        log.poll_result(&input, history_length)
    })
}

/// Validates the update that waits for items.
///
/// # Errors
/// The execution has had too many polls; the message starts with `StreamPollsUsedUp`.
/// Subscribers read by query until the workflow continues as new.
pub fn stream_admits_poll(inbox: &AgentInbox) -> Result<(), BoxError> {
    if !inbox.stream().polls().is_used_up() {
        return Ok(());
    }
    let message = "the execution has had too many polls of its stream, and keeps its last updates for decisions; read \
                   the stream by query, or let the workflow continue as new";
    Err(format!("{STREAM_POLLS_USED_UP}{message}").into())
}

/// Handles the query that reads the items that are present.
pub fn stream_read(inbox: &AgentInbox, input: &RawValue) -> PollResult {
    inbox.stream().collect(&read_argument(&input.payloads), None)
}

/// Handles the query for the offset of the next item.
pub fn stream_offset(inbox: &AgentInbox) -> u64 {
    inbox.stream().end()
}

/// Number of times that the workflow's code and its other handlers react before a poll waits: a
/// handler may give its result to the code, which then publishes. A poll does not wait for a chain
/// of more such steps in one activation.
const ROUNDS: usize = 4;

/// Returns after the workflow's code and its other handlers have reacted to this activation.
///
/// The SDK polls a handler that has changed the state once more. Then it polls the other handlers
/// and the workflow's code; the change makes it poll all of them again, which is the third poll of
/// this one. That holds for a handler that is awaited, not for one in a set of futures that waits
/// for a waker.
async fn others_first<W: HasAgentInbox + 'static>(ctx: &WorkflowContext<W>) {
    for _ in 0..ROUNDS {
        ctx.state_mut(|_| {});
        let mut polls = 0;
        std::future::poll_fn(move |_| {
            polls += 1;
            if polls > 2 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Waits for an item at this offset, or until the poll is released or has waited for long enough.
async fn wait<W: HasAgentInbox + 'static>(ctx: &WorkflowContext<W>, ticket: u64, from: u64) {
    // Not the workflow's token: after a cancellation a client would poll without a pause.
    let token = WorkflowCancellationToken::new();
    let options = || WaitConditionOptions::builder().cancellation_token(token.clone()).build();
    let returns = |workflow: &W| log(workflow).has_news(from) || log(workflow).polls().is_released(ticket);
    if ctx.state(returns) {
        return;
    }
    if let Some(limit) = ctx.state(|workflow| log(workflow).polls().time_limit(ticket)) {
        let timer_token = WorkflowCancellationToken::new();
        let timer = TimerOptions::builder(limit).cancellation_token(timer_token.clone());
        let timer = timer.summary("end of a poll of the stream".to_owned()).build();
        let has_a_limit = |workflow: &W| log(workflow).polls().time_limit(ticket).is_some();
        let ends = |workflow: &W| returns(workflow) || !has_a_limit(workflow);
        select! {
            _ = ctx.wait_condition_with_options(ends, options()) => timer_token.cancel(),
            _ = ctx.timer(timer) => {
                ctx.state_mut(|workflow| log_mut(workflow).polls_mut().record_timeout());
                return;
            }
        }
    }
    let _ = ctx.wait_condition_with_options(returns, options()).await;
}

/// Waits for this time, or until the poll is released.
async fn pause<W: HasAgentInbox + 'static>(ctx: &WorkflowContext<W>, ticket: u64, time: Duration) {
    let token = WorkflowCancellationToken::new();
    let options = WaitConditionOptions::builder().cancellation_token(token.clone()).build();
    let is_released = |workflow: &W| log(workflow).polls().is_released(ticket);
    let timer_token = WorkflowCancellationToken::new();
    let timer = TimerOptions::builder(time).cancellation_token(timer_token.clone());
    let timer = timer.summary("pause between polls of the stream".to_owned()).build();
    select! {
        _ = ctx.wait_condition_with_options(is_released, options) => timer_token.cancel(),
        _ = ctx.timer(timer) => {}
    }
}

fn log<W: HasAgentInbox>(workflow: &W) -> &StreamLog {
    workflow.agent_inbox().stream()
}

fn log_mut<W: HasAgentInbox>(workflow: &mut W) -> &mut StreamLog {
    workflow.agent_inbox_mut().stream_mut()
}
