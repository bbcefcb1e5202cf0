//! The end of a run in this execution of its workflow: stores its state for the next execution,
//! waits for handlers, and makes the workflow continue as new.
//!
//! # Design
//! **A run cannot detect that it is inside a handler.** The SDK gives handlers the context of the
//! run method. A run that has observed one moment without a running handler is in none. Handlers
//! have a minute (`ContinueOptions::handler_timeout`) to finish, because one may wait for the run
//! itself. After this time, a run that is known to be in no handler continues in this execution and
//! tries again after its next turn. A run that has never observed such a moment (in a workflow that
//! began with an update, or inside a handler, where it would wait for itself) fails with a message
//! that names both cases. There is no deadlock; a false alarm remains possible where a workflow
//! begins with a handler that takes longer than that. A poll of the workflow's stream hides the
//! other handlers: a run that has only ever looked beside one also tries again later.

use std::rc::Rc;

use futures::future::{Either, select};
use temporal_agents_core::{
    drive::{Stays, guard::guarded},
    engine::RunError,
    tool::BoxError,
    wire::{Carried, RunState, carried::CarriedState, run_state::Phase},
};
use temporalio_workflow::{
    WorkflowCancellationToken, WorkflowTermination,
    common::protos::{
        coresdk::workflow_commands::ContinueAsNewWorkflowExecution,
        temporal::api::enums::v1::ContinueAsNewVersioningBehavior,
    },
};

use super::{
    ContinuableRun, HandlerContext,
    pace::PATCH_COUNT_EVERYTHING,
    stored::{StateWriter, StoreError},
};
use crate::workflow::{
    context::DurableContext,
    inbox::RunInbox,
    limits::size::{MOST_BYTES, content_of, kept_len},
};

/// The patch of runs that measure a state as history holds it. Only evaluated where that measure
/// makes the state too large.
const PATCH_STATE_SIZE_AS_STORED: &str = "temporal-agents/state-measured-as-kept";

/// The end of an execution whose run continues in the next one.
#[derive(Debug, thiserror::Error)]
#[error("the workflow continues as new")]
pub(in crate::workflow) struct NextExecution(pub(in crate::workflow) Box<ContinueAsNewWorkflowExecution>);

/// The surroundings of a run, for [`ContinuableRun::leave`].
pub(in crate::workflow) struct Place<'p> {
    pub(in crate::workflow) ctx: &'p Rc<dyn DurableContext>,
    pub(in crate::workflow) inbox: Option<&'p RunInbox>,
    /// Prefix of the run's activity ids.
    pub(in crate::workflow) run: &'p str,
    pub(in crate::workflow) token: &'p WorkflowCancellationToken,
}

impl ContinuableRun {
    /// Returns `true` if the run has to continue in the next execution. `patched` is called last,
    /// because it leaves a marker in history.
    pub(in crate::workflow) fn is_due(
        &self,
        inbox: Option<&RunInbox>,
        token: &WorkflowCancellationToken,
        state: &RunState,
        patched: impl Fn(&str) -> bool,
    ) -> bool {
        let can_move = || match state.phase {
            // Without an inbox that waits, the run pauses here, and the author decides how to
            // continue. A run whose state is too large can wait here, and be compacted after the
            // turn. Its questions are also in the inbox, which is never split into chunks.
            Phase::Interrupted { .. } => {
                inbox.is_some_and(|inbox| inbox.waits() && inbox.can_be_carried(state))
                    && self.excess_bytes(state, &patched).is_ok_and(|bytes| bytes.is_none())
            }
            _ => true,
        };
        let is_enough = |counts_all: &dyn Fn() -> bool| self.pace.borrow().is_enough(&self.options, counts_all);
        // `patched` leaves a marker, so it is called only where a run leaves because of its answer.
        let is_polled = inbox.is_some_and(|inbox| inbox.polls() >= self.polls_until_enough());
        (is_polled || is_enough(&|| true))
            && !token.is_cancelled()
            && self.stayed_at.get().is_none_or(|turn| state.turn > turn)
            && self.is_alone(inbox)
            && can_move()
            && (is_polled || is_enough(&|| patched(PATCH_COUNT_EVERYTHING)))
    }

    /// Returns the number of polls of the workflow's stream that are enough for this execution.
    pub(in crate::workflow) fn polls_until_enough(&self) -> u32 {
        self.pace.borrow().polls_until_enough(&self.options)
    }

    /// Returns the bytes of history that the state takes, if they exceed the limit. A run that
    /// began before states were measured this way is judged by the size of its content.
    fn excess_bytes(
        &self,
        state: &RunState,
        patched: impl Fn(&str) -> bool,
    ) -> Result<Option<usize>, serde_json::Error> {
        let (limit, kept) = (self.options.most_bytes, kept_len(state)?);
        let is_too_large = kept > limit && (content_of(state)? > limit || patched(PATCH_STATE_SIZE_AS_STORED));
        Ok(is_too_large.then_some(kept))
    }

    /// Returns `true` if no other run is active that would be lost, as far as can be known here.
    fn is_alone(&self, inbox: Option<&RunInbox>) -> bool {
        self.at_work.count() <= 1 && inbox.is_none_or(RunInbox::is_alone)
    }

    /// Moves the run to the next execution, and returns the error that the run ends with.
    pub(in crate::workflow) async fn leave(&self, place: Place<'_>, state: &RunState) -> RunError {
        let (agent, turn) = (state.agent.clone(), state.turn);
        let why = match self.left(&place, state).await {
            Ok(next) => return RunError::ContinuesAsNew { agent, turn, next: Box::new(next) },
            Err(why) => why,
        };
        let taken_back = self.take_back();
        if let Some(inbox) = place.inbox {
            inbox.reopen_stream();
        }
        match taken_back.err().unwrap_or(why) {
            // A run that waits continues to wait here: its questions are gone after the turn.
            Stayed::InputTooLarge { .. } if matches!(state.phase, Phase::Interrupted { .. }) => {
                self.stayed_at.set(Some(turn));
                RunError::Continuation { agent, turn, source: Stays.into() }
            }
            Stayed::Here => {
                self.stayed_at.set(Some(turn));
                RunError::Continuation { agent, turn, source: Stays.into() }
            }
            Stayed::Cancelled => RunError::Cancelled { agent, turn },
            Stayed::TooLarge { bytes, limit } => RunError::ConversationTooLarge { agent, bytes, limit },
            why @ Stayed::InputTooLarge { .. } => {
                RunError::Continuation { agent, turn, source: why.to_string().into() }
            }
            Stayed::Failed(source) => RunError::Continuation { agent, turn, source },
        }
    }

    async fn left(&self, place: &Place<'_>, state: &RunState) -> Result<NextExecution, Stayed> {
        if let Some(inbox) = place.inbox {
            // The run continues to wait in the next execution; publish now what it waits for.
            inbox.publish(state);
        }
        if let Some(bytes) = self.excess_bytes(state, |slug| place.ctx.patched(slug))? {
            return Err(Stayed::TooLarge { bytes, limit: self.options.most_bytes });
        }
        if !self.is_alone(place.inbox) {
            return Err(Stayed::Here);
        }
        if content_of(state)? <= self.options.inline_bytes() {
            self.wait_for_handlers(place).await?;
            match self.next(place, CarriedState::Inline { state: Box::new(state.clone()) }) {
                // The state is small enough, but the whole input is not: keep the state in history
                // instead.
                Err(Stayed::InputTooLarge { .. }) => {}
                next => return next,
            }
        }
        if self.stayed_at.get().is_some() {
            // Wait before the state is kept, so that it is not put into history again for nothing.
            self.wait_for_handlers(place).await?;
        }
        place.ctx.show("keeps its state for the next execution".to_owned());
        let text = serde_json::to_string(state)?;
        let Place { ctx, run, token, .. } = *place;
        let (series, agent, turn) = (&self.series, &*state.agent, state.turn);
        let keeps = StateWriter { ctx, run, series, agent, turn, token };
        let kept = keeps.keep(&text, self.options.chunk_bytes()).await?;
        self.wait_for_handlers(place).await?;
        self.next(place, CarriedState::Kept(kept))
    }

    async fn wait_for_handlers(&self, place: &Place<'_>) -> Result<(), Stayed> {
        if let Some(tell) = &self.announcement.tell
            && !self.has_announced.replace(true)
        {
            guarded(|| tell()).map_err(|panic| Stayed::of(format!("the function on_continue_as_new: {panic}")))?;
        }
        self.look_for_handlers(&**place.ctx, place.inbox);
        if let Some(inbox) = place.inbox {
            inbox.drain_stream();
        }
        if !place.ctx.has_handlers_at_work() {
            return Ok(());
        }
        place.ctx.show("waits for the workflow's handlers to finish, to continue as new".to_owned());
        let finish = place.ctx.handlers_finish(place.token.clone());
        let timer = WorkflowCancellationToken::new();
        let time = self.options.handler_timeout;
        let waiting = place.ctx.pause(time, "last time for handlers, before it continues as new", timer.clone());
        match select(finish, waiting).await {
            Either::Left((finished, _)) => {
                timer.cancel();
                if finished { Ok(()) } else { Err(Stayed::Cancelled) }
            }
            // One of the handlers may wait for the run.
            Either::Right(((), _)) if self.handler_context.get() != HandlerContext::MaybeInside => Err(Stayed::Here),
            Either::Right(((), _)) => Err(Stayed::of(format!(
                "handlers of the workflow (async signals or updates) have not finished within {:?}. If this run is \
                 inside one of them, move it to the workflow's run method: a handler cannot continue as new. \
                 Otherwise make them finish when Runner::on_continue_as_new is called",
                self.options.handler_timeout
            ))),
        }
    }

    /// Reports that the workflow does not continue as new after all.
    fn take_back(&self) -> Result<(), Stayed> {
        match &self.announcement.take_back {
            Some(take_back) if self.has_announced.replace(false) => guarded(|| take_back())
                .map_err(|panic| Stayed::of(format!("the function on_continue_as_new_aborted: {panic}"))),
            _ => {
                self.has_announced.set(false);
                Ok(())
            }
        }
    }

    /// Makes the input of the next execution with the author's function. This does not await
    /// anything, so that no handler can run in between.
    fn next(&self, place: &Place<'_>, state: CarriedState) -> Result<NextExecution, Stayed> {
        if !self.is_alone(place.inbox) {
            return Err(Stayed::Here);
        }
        let inbox = place.inbox.map(RunInbox::carried).transpose()?;
        let carried = Carried::new(self.continued.saturating_add(1), state, inbox);
        let ended = guarded(|| (self.next)(carried));
        match ended.map_err(|panic| Stayed::of(format!("the function continue_with: {panic}")))? {
            WorkflowTermination::ContinueAsNew(mut next) => {
                if self.options.upgrade_to_current_build {
                    // `ContinueAsNewOptions` has this field only behind the SDK's feature
                    // `experimental`.
                    next.initial_versioning_behavior = ContinueAsNewVersioningBehavior::AutoUpgrade.into();
                }
                let bytes: usize = next.arguments.iter().map(|payload| payload.data.len()).sum();
                if bytes > MOST_BYTES { Err(Stayed::InputTooLarge { bytes }) } else { Ok(NextExecution(next)) }
            }
            other => Err(Stayed::of(format!("the input of the next execution cannot be written: {other}"))),
        }
    }
}

/// The reason why a run has not moved to the next execution.
#[derive(Debug, thiserror::Error)]
enum Stayed {
    /// The run cannot move now; it continues in this execution.
    #[error("the run cannot leave this execution now")]
    Here,
    #[error("cancelled")]
    Cancelled,
    #[error("the state is {bytes} bytes, the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error(
        "the input of the next execution is {bytes} bytes, the limit is {MOST_BYTES}; the data that continue_with \
         adds to the carried run is too large"
    )]
    InputTooLarge { bytes: usize },
    #[error("{0}")]
    Failed(BoxError),
}

impl Stayed {
    fn of(message: String) -> Self {
        Self::Failed(message.into())
    }
}

impl From<serde_json::Error> for Stayed {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<StoreError> for Stayed {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Cancelled => Self::Cancelled,
            StoreError::Failed(source) | StoreError::Unreadable(source) => Self::Failed(source),
        }
    }
}
