//! The handlers of Workflow Streams, for every workflow with an inbox.
//!
//! They never fail, and take their arguments as payloads: an argument that the SDK cannot read
//! would fail the workflow task.
//!
//! # Design
//! **Few polls wait without a time limit.** The server admits a limited number of open updates, and
//! the poll of a client that is gone waits until the next item. The polls beyond the budget
//! (`limits/open_updates.rs`) wait for a timer as well, and then return without an item, so that
//! another poll is admitted. Clients that are alive poll again. So that a stream without items and
//! with many subscribers does not use up the updates of its execution, the time limit doubles from
//! 3 s to 24 s while no item arrives. A poll that moves up into the budget waits without the timer.

use std::time::{Duration, SystemTime};

use temporalio_workflow::{
    SyncWorkflowContext, TimerOptions, WaitConditionOptions, WorkflowCancellationToken, WorkflowContext,
    common::data_converters::RawValue, select,
};

use super::{StreamLog, polls::Polls};
use crate::{
    wire::stream::{PollInput, PollResult, read_argument},
    workflow::{AgentInbox, HasAgentInbox},
};

/// The first time limit of a poll beyond the budget.
const FIRST_TIME_LIMIT: Duration = Duration::from_secs(3);
/// Number of polls that reach the time limit until it doubles.
const TIMEOUTS_UNTIL_DOUBLED: u32 = 8;
/// Maximum number of times that the time limit doubles.
const MOST_DOUBLINGS: u32 = 3;

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
    if !ctx.state(|workflow| log(workflow).has_news(from)) {
        let ticket = ctx.state_mut(|workflow| log_mut(workflow).polls_mut().park());
        wait(ctx, ticket, from).await;
        ctx.state_mut(|workflow| log_mut(workflow).polls_mut().unpark(ticket));
    }
    ctx.state(|workflow| log(workflow).collect(&input))
}

/// Handles the query that reads the items that are present.
pub fn stream_read(inbox: &AgentInbox, input: &RawValue) -> PollResult {
    inbox.stream().collect(&read_argument(&input.payloads))
}

/// Handles the query for the offset of the next item.
pub fn stream_offset(inbox: &AgentInbox) -> u64 {
    inbox.stream().end()
}

/// Waits for an item at this offset; a poll beyond the budget waits for a limited time.
async fn wait<W: HasAgentInbox + 'static>(ctx: &WorkflowContext<W>, ticket: u64, from: u64) {
    // Not the workflow's token: after a cancellation a client would poll without a pause.
    let token = WorkflowCancellationToken::new();
    let options = || WaitConditionOptions::builder().cancellation_token(token.clone()).build();
    let has_news = |workflow: &W| log(workflow).has_news(from);
    let is_over_budget = |workflow: &W| log(workflow).polls().is_over_budget(ticket);
    if ctx.state(is_over_budget) {
        let limit = ctx.state(|workflow| time_limit(log(workflow).polls()));
        let timer_token = WorkflowCancellationToken::new();
        let timer = TimerOptions::builder(limit).cancellation_token(timer_token.clone()).build();
        let may_wait = |workflow: &W| has_news(workflow) || !is_over_budget(workflow);
        select! {
            _ = ctx.wait_condition_with_options(may_wait, options()) => timer_token.cancel(),
            _ = ctx.timer(timer) => {
                ctx.state_mut(|workflow| log_mut(workflow).polls_mut().record_timeout());
                return;
            }
        }
    }
    let _ = ctx.wait_condition_with_options(has_news, options()).await;
}

/// Returns the time limit of a poll beyond the budget.
fn time_limit(polls: &Polls) -> Duration {
    let doublings = (polls.timed_out() / TIMEOUTS_UNTIL_DOUBLED).min(MOST_DOUBLINGS);
    FIRST_TIME_LIMIT * 2_u32.pow(doublings)
}

fn log<W: HasAgentInbox>(workflow: &W) -> &StreamLog {
    workflow.agent_inbox().stream()
}

fn log_mut<W: HasAgentInbox>(workflow: &mut W) -> &mut StreamLog {
    workflow.agent_inbox_mut().stream_mut()
}
