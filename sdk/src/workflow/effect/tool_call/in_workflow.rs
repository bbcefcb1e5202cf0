//! Tools whose bodies run in the workflow and wait there for timers, activities and child
//! workflows.
//!
//! # Design
//! Timers, activities and child workflows have the ids `<run>-<turn>-tool-<n>-<k>`, in the order in
//! which the body creates them, and the body has its own random stream. Everything that the body
//! has started is in the scope of the call: it is cancelled with the call, and anything left when
//! the body ends is also cancelled.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, SystemTime},
};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;
use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError, guard::guarded_future},
    tool::{
        ChildWorkflow, RemoteActivity, RunContext, ToolContext, ToolFailure, ToolFailureKind, WorkflowBody,
        WorkflowEffects, WorkflowToolContext, WorkflowToolError,
    },
};
use temporalio_workflow::{TimerOptions, WorkflowCancellationToken};

use super::{
    activity::summary_of,
    foreign::{self, At, child_id, of_run},
};
use crate::workflow::{
    context::DurableContext,
    continuing::ContinuableRun,
    effect::time::accepted,
    headers::ScheduledBy,
    limits::{
        gate::{Cancelled, Gate},
        size::encoded_len,
    },
};

/// The gate for effects that bodies start, and the counter of the content that they put into
/// history.
#[derive(Clone)]
pub(in crate::workflow) struct Passage {
    gate: Rc<Gate>,
    moving: Option<Rc<ContinuableRun>>,
}

impl Passage {
    pub(in crate::workflow) fn new(gate: Rc<Gate>, moving: Option<Rc<ContinuableRun>>) -> Self {
        Self { gate, moving }
    }

    /// Awaits an effect with `bytes` bytes of input, once it has room; `what` names it. A lazy
    /// effect is scheduled at that point.
    async fn through(
        &self,
        what: String,
        bytes: usize,
        token: &WorkflowCancellationToken,
        effect: impl Future<Output = Result<Value, WorkflowToolError>>,
    ) -> Result<Value, WorkflowToolError> {
        let place = self.gate.start(bytes, token).await;
        let _place = place.map_err(|Cancelled| WorkflowToolError::Cancelled { what })?;
        self.notes(bytes);
        let returned = effect.await?;
        self.notes(encoded_len(&returned).unwrap_or_default());
        Ok(returned)
    }

    fn notes(&self, bytes: usize) {
        if let Some(moving) = &self.moving {
            moving.add_more(bytes);
        }
    }
}

/// Runs the body. Effects that it has started and not awaited are cancelled at its end; no part of
/// a call outlives the call.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    body: &WorkflowBody,
    effect: ToolEffect<'_>,
    id: String,
    token: WorkflowCancellationToken,
    passage: Passage,
) -> Result<ToolAnswer, ToolEffectError> {
    let ToolEffect {
        tool,
        info,
        id: _,
        arguments,
        context,
        mcp: _,
        mcp_session: _,
        remote: _,
        meta,
        fails_run: _,
        untrusted: _,
        gates: _,
        user: _,
        trace: _,
    } = effect;
    let (summary, by) = (summary_of(&info), of_run(ctx, meta, &id));
    let scope = token.child_token();
    let (started, under_way) = (Cell::new(0), Rc::new(Cell::new(0)));
    let ctx_of = Rc::clone(ctx);
    let effects = Rc::new(Effects { ctx: ctx_of, passage, id, summary, by, token: scope, started, under_way });
    let call = ToolContext::new(info, RunContext::new(context)).with_settings(tool.settings().clone());
    let mut ctx = WorkflowToolContext::new(call, Rc::<Effects>::clone(&effects));
    let settled = guarded_future(async { body(&mut ctx, arguments).await }).await;
    if effects.under_way.get() > 0 {
        effects.token.cancel();
    }
    match settled {
        Ok(Ok(output)) => {
            let side_data = ctx.take_side_data().into_member();
            Ok(ToolAnswer { context_patch: ctx.into_run().patch(), side_data, ..ToolAnswer::new(output) })
        }
        Ok(Err(_)) if token.is_cancelled() => Err(ToolEffectError::Cancelled),
        Ok(Err(error)) => Err(error.into()),
        Err(panic) => {
            let failure = ToolFailure::new(ToolFailureKind::Panicked, panic.to_string());
            Err(ToolEffectError::failed(failure, panic))
        }
    }
}

/// The effects of the body of one call. Each has an id made of the call's own id and a number, in
/// the order of the body.
struct Effects {
    ctx: Rc<dyn DurableContext>,
    passage: Passage,
    id: String,
    summary: String,
    by: ScheduledBy,
    token: WorkflowCancellationToken,
    started: Cell<u32>,
    /// Number of effects that have begun and are not done.
    under_way: Rc<Cell<u32>>,
}

impl Effects {
    /// Returns the id, summary and token of the next effect.
    fn next(&self) -> At {
        let number = self.started.get();
        self.started.set(number + 1);
        At {
            id: format!("{}-{number}", self.id),
            summary: self.summary.clone(),
            token: self.token.clone(),
            by: self.by.clone(),
        }
    }

    /// Counts an effect for as long as it is under way. A future that is dropped before its end
    /// stays under way: dropping cancels nothing.
    fn counted<T: 'static>(&self, effect: impl Future<Output = T> + 'static) -> LocalBoxFuture<'static, T> {
        let under_way = Rc::clone(&self.under_way);
        async move {
            under_way.set(under_way.get() + 1);
            let settled = effect.await;
            under_way.set(under_way.get() - 1);
            settled
        }
        .boxed_local()
    }
}

impl WorkflowEffects for Effects {
    fn sleep(&self, duration: Duration) -> LocalBoxFuture<'static, Result<(), WorkflowToolError>> {
        let At { id: _, summary, token, by: _ } = self.next();
        if duration.is_zero() {
            return std::future::ready(Ok(())).boxed_local();
        }
        let timer = TimerOptions::builder(accepted(duration)).cancellation_token(token).summary(summary).build();
        let waiting = self.ctx.timer(timer);
        self.counted(async move {
            let has_fired = waiting.await;
            if has_fired { Ok(()) } else { Err(WorkflowToolError::Cancelled { what: "the timer".to_owned() }) }
        })
    }

    fn activity(
        &self,
        activity: RemoteActivity,
        input: Value,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        let (ctx, passage, at) = (Rc::clone(&self.ctx), self.passage.clone(), self.next());
        self.counted(async move {
            let what = format!("activity {:?}", activity.activity_type);
            let (bytes, token) = (encoded_len(&input).unwrap_or_default(), at.token.clone());
            passage.through(what, bytes, &token, foreign::activity(&ctx, &activity, input, at)).await
        })
    }

    fn child_workflow(
        &self,
        child: ChildWorkflow,
        input: Value,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        let (ctx, passage, mut at) = (Rc::clone(&self.ctx), self.passage.clone(), self.next());
        self.counted(async move {
            let empty = serde_json::Map::new();
            at.id = child_id(&ctx, &child, input.as_object().unwrap_or(&empty), &at.id)?;
            let what = format!("child workflow {:?}", child.workflow_type);
            let (bytes, token) = (encoded_len(&input).unwrap_or_default(), at.token.clone());
            passage.through(what, bytes, &token, foreign::child_workflow(&ctx, &child, input, at)).await
        })
    }

    fn now(&self) -> SystemTime {
        self.ctx.workflow_time().unwrap_or(SystemTime::UNIX_EPOCH)
    }

    fn random(&self) -> u64 {
        self.ctx.random(&format!("temporal-agents/tool/{}", self.id))
    }

    fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }
}
