//! Several tool calls in one activity, `agents.call_tools`.
//!
//! Each call has the outcome that it would have in an activity of its own. If the activity fails,
//! the calls that have ended keep their outcomes: the failure holds those of the last heartbeat.
//!
//! A call that the worker does not make, because it does not have the tool or the version of it, is
//! made in an activity of its own, which waits for a worker that has it. If no call was made,
//! because the worker is of a release without batches, or if the reply is too large together, all
//! calls whose outcome is unknown are made so: their tools are idempotent.

use std::{rc::Rc, time::Duration};

use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError, warn_of_attempt},
    tool::{ToolActivityOptions, ToolBinding, ToolFailure},
    wire::{
        WIRE_VERSION,
        digest::Digest,
        tool_batch::{
            BatchEnd, BatchedCall, BatchedFailure, BatchedOutcome, CallInBatch, TIMEOUT, ToolBatchDetails,
            ToolBatchReply, ToolBatchRequest, batch_of, numbered,
        },
    },
};
use temporalio_workflow::{ActivityExecutionError, WorkflowCancellationToken};

use super::activity::{activity_options, failure_of, shortest};
use crate::workflow::{
    context::DurableContext,
    effect::{
        failure::{WORKER_SHUTDOWN, details_of, failure_type, lost_attempt, timeout_of},
        time::accepted,
    },
};

/// Time that the activity has beyond the limit of one call: the worker itself ends a call at its
/// limit, and the server ends the activity if it does not.
const MARGIN: Duration = Duration::from_secs(10);
/// Maximum number of characters of a summary: the server accepts 400 bytes.
const MAX_SUMMARY_CHARS: usize = 90;

/// The result of a call in a batch.
#[expect(clippy::large_enum_variant, reason = "almost all calls have ended")]
pub(in crate::workflow) enum Batched {
    Ended(Result<ToolAnswer, ToolEffectError>),
    /// The call was not made, and is to be made on its own.
    Alone,
}

/// A call of a batch, with the id that its activity would have and the digest of its version of the
/// tool.
pub(in crate::workflow) struct Member<'c, 'e> {
    pub(in crate::workflow) effect: &'c ToolEffect<'e>,
    pub(in crate::workflow) id: &'c str,
    pub(in crate::workflow) schema: Option<Digest>,
}

/// Makes the calls. The results are in their order.
pub(in crate::workflow) async fn call(
    ctx: &Rc<dyn DurableContext>,
    calls: &[Member<'_, '_>],
    token: WorkflowCancellationToken,
) -> Vec<Batched> {
    let alone = || calls.iter().map(|_| Batched::Alone).collect();
    let first = calls.first().map(|call| (call.effect, options_of(call.effect)));
    let (Some((first, Some(options))), Some(batch)) = (first, batch_of(calls.iter().map(|call| call.id))) else {
        return alone();
    };
    let (session_id, parent_call) = first.info.session_and_parent();
    let request = ToolBatchRequest {
        version: WIRE_VERSION,
        agent: first.info.agent.clone(),
        turn: first.info.turn,
        time_limit_ms: millis(options.start_to_close),
        schedule_to_close_ms: options.schedule_to_close.map(millis),
        session_id,
        parent_call,
        calls: calls.iter().map(batched).collect(),
    };
    let of_all = ToolActivityOptions {
        start_to_close: options.start_to_close.saturating_add(MARGIN),
        summary: None,
        ..options.clone()
    };
    let scheduled = activity_options(&of_all, || summary_of(calls), &batch, token);
    match ctx.tool_batch_activity(request, scheduled).await {
        Ok(reply) => match reply.read::<ToolBatchReply>("tool batch reply") {
            Ok(ToolBatchReply { version: _, outcomes }) => {
                for (call, failure) in calls.iter().filter_map(|call| Some((call, abandoned(call, &outcomes)?))) {
                    warn_of_loss(ctx, call, options, &failure.message);
                }
                let none = |_: &Member<'_, '_>| ToolEffectError::Cancelled;
                calls.iter().map(|call| ended(call, options, BatchEnd::Completed, &outcomes, &none)).collect()
            }
            Err(error) => {
                let unreadable = |_| Batched::Ended(Err(ToolEffectError::Host(error.to_string().into())));
                calls.iter().map(unreadable).collect()
            }
        },
        Err(failure) => {
            let lost = lost_attempt(&failure);
            failed(calls, options, &failure, &|call| {
                if let Some(reason) = &lost {
                    warn_of_loss(ctx, call, options, reason);
                }
            })
        }
    }
}

/// Logs, once and not on replay, that the last attempt at a call was lost with its worker.
fn warn_of_loss(ctx: &Rc<dyn DurableContext>, call: &Member<'_, '_>, options: &ToolActivityOptions, reason: &str) {
    if !ctx.is_replaying() {
        warn_of_attempt(&call.effect.info.clone().at_attempt(options.attempts()), None, reason);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(accepted(time).as_millis()).unwrap_or(u64::MAX)
}

fn batched(call: &Member<'_, '_>) -> BatchedCall {
    let ToolEffect {
        tool,
        info,
        id: _,
        arguments,
        context,
        mcp: _,
        mcp_session: _,
        remote: _,
        meta: _,
        fails_run,
        untrusted: _,
        gates: _,
        user: _,
        trace: _,
    } = call.effect;
    BatchedCall {
        index: index_of(call),
        tool: info.tool.clone(),
        call_id: info.call_id.clone(),
        arguments: arguments.clone(),
        context: context.clone(),
        settings: tool.settings().clone(),
        idempotency_key: info.idempotency_key().to_owned(),
        schema: call.schema.clone(),
        fails_run: *fails_run,
    }
}

/// Returns the results of the calls of an activity that has failed.
fn failed(
    calls: &[Member<'_, '_>],
    options: &ToolActivityOptions,
    failure: &ActivityExecutionError,
    fails_as_activity: &dyn Fn(&Member<'_, '_>),
) -> Vec<Batched> {
    let is_cancelled = matches!(failure, ActivityExecutionError::Cancelled(_)) || failure.as_cancelled().is_some();
    let end = match timeout_of(failure) {
        _ if is_cancelled => BatchEnd::Cancelled,
        Some(_) => BatchEnd::TimedOut,
        None => BatchEnd::of_failure(failure_type(failure)),
    };
    let details = details_of(failure).and_then(ToolBatchDetails::read);
    let outcomes = details.map(|details| details.outcomes).unwrap_or_default();
    let as_activity = |call: &Member<'_, '_>| {
        fails_as_activity(call);
        failure_of(failure, call.effect.tool.name(), options).into()
    };
    calls.iter().map(|call| ended(call, options, end, &outcomes, &as_activity)).collect()
}

/// Returns the failure of a call whose last attempt the worker has abandoned because it shut down.
fn abandoned<'o>(call: &Member<'_, '_>, outcomes: &'o [BatchedOutcome]) -> Option<&'o BatchedFailure> {
    let outcome = outcomes.iter().find(|outcome| outcome.index == index_of(call))?;
    outcome.failure.as_ref().filter(|failure| failure.failure_type == WORKER_SHUTDOWN)
}

/// Returns the result of a call by its outcome; `as_activity` is its failure if that is the one of
/// the activity.
fn ended(
    call: &Member<'_, '_>,
    options: &ToolActivityOptions,
    end: BatchEnd,
    outcomes: &[BatchedOutcome],
    as_activity: &dyn Fn(&Member<'_, '_>) -> ToolEffectError,
) -> Batched {
    Batched::Ended(match end.of_call(outcomes, index_of(call)) {
        CallInBatch::Returned(output, BatchedOutcome { context_patch, side_data, .. }) => Ok(ToolAnswer {
            context_patch: context_patch.clone(),
            side_data: side_data.clone(),
            ..ToolAnswer::new(output.clone())
        }),
        CallInBatch::Failed(failed) => Err(failure_in(failed.clone(), options).into()),
        CallInBatch::Cancelled => Err(ToolEffectError::Cancelled),
        CallInBatch::NotMade => return Batched::Alone,
        CallInBatch::AsActivity => Err(as_activity(call)),
    })
}

fn failure_in(failed: BatchedFailure, options: &ToolActivityOptions) -> ToolFailure {
    let BatchedFailure { failure_type, message, detail, is_retried: _ } = failed;
    match &*failure_type {
        TIMEOUT => ToolFailure::timed_out(shortest(options), message),
        other => ToolFailure::of_activity(Some(other), message, detail),
    }
}

/// Returns the number that the id of the call ends with; ids of tool calls end with one.
fn index_of(call: &Member<'_, '_>) -> u32 {
    numbered(call.id, "-tool-").map_or(u32::MAX, |(_, index)| index)
}

fn options_of<'e>(effect: &ToolEffect<'e>) -> Option<&'e ToolActivityOptions> {
    match effect.tool.binding() {
        ToolBinding::Activity { options, .. } => Some(options),
        _ => None,
    }
}

/// Returns the summary that the Temporal UI shows: the tools, in call order, as far as they fit.
fn summary_of(calls: &[Member<'_, '_>]) -> String {
    let names: Vec<&str> = calls.iter().map(|call| &*call.effect.info.tool).collect();
    let names = names.join(", ");
    let shown: String = names.chars().take(MAX_SUMMARY_CHARS).collect();
    let dots = if shown.len() < names.len() { ".." } else { "" };
    let turn = calls.first().map_or(0, |call| call.effect.info.turn);
    format!("{} calls: {shown}{dots} · turn {turn}", calls.len())
}
