//! The wait of a run for decisions, and questions that expire meanwhile.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::pin,
    task::Poll,
    time::{Duration, UNIX_EPOCH},
};

use futures::{
    future::{Either, select},
    poll,
};
use temporal_agents_core::{
    drive::{WaitOutcome, watch::Seen},
    wire::{
        AgentInterruption, RunState,
        event::{NoteKind, NotedDecision, RunNote},
        run_state::Expiry,
    },
};
use temporalio_workflow::WorkflowCancellationToken;

use super::WorkflowHost;
use crate::workflow::inbox::RunInbox;

impl WorkflowHost {
    /// See [`Host::wait_for_decisions`](temporal_agents_core::drive::Host::wait_for_decisions).
    pub(super) async fn wait_until_decided(
        &self,
        state: &mut RunState,
        scope: &WorkflowCancellationToken,
    ) -> WaitOutcome {
        let (agent, turn) = (state.agent.clone(), state.turn);
        let pauses = |questions: Vec<AgentInterruption>| {
            self.index_pause(&agent, &questions);
            self.records_pause(&agent, turn, questions);
        };
        // The wait may take weeks.
        self.ledger.borrow_mut().rest();
        self.see_questions(state);
        if let Some(inbox) = &self.inbox {
            let max_polls = self.moving.as_ref().map(|moving| moving.polls_until_enough());
            let expiries = state.expiries.clone();
            let waiting = inbox.wait(state, max_polls, scope.clone(), pauses);
            let outcome = self.unless_expired(inbox, &expiries, (&agent, turn), waiting).await;
            if outcome == WaitOutcome::Decided {
                self.index_resumed(&agent);
                self.record_open_questions();
            }
            if let (WaitOutcome::Decided, Some(moving)) = (&outcome, &self.moving) {
                (0..inbox.last_decision_count()).for_each(|_| moving.update());
            }
            self.see(|| Seen::Waited { state });
            return outcome;
        }
        pauses(state.interruptions().into_iter().map(AgentInterruption::from).collect());
        WaitOutcome::Undecided
    }

    /// Returns the time of the workflow, in milliseconds since the Unix epoch.
    pub(super) fn time_millis(&self) -> Option<u64> {
        let time = self.ctx.workflow_time()?.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(time.as_millis()).ok()
    }

    /// Awaits the wait of a run for decisions. Questions that expire meanwhile are decided, as if
    /// somebody had sent the decision.
    async fn unless_expired(
        &self,
        inbox: &RunInbox,
        expiries: &BTreeMap<String, Expiry>,
        (agent, turn): (&str, u32),
        waiting: impl Future<Output = WaitOutcome>,
    ) -> WaitOutcome {
        if expiries.is_empty() {
            return waiting.await;
        }
        let mut waiting = pin!(waiting);
        // The run publishes its questions when it is first polled.
        if let Poll::Ready(outcome) = poll!(waiting.as_mut()) {
            return outcome;
        }
        let (Some(at), Some(now)) = (inbox.next_expiry(expiries), self.time_millis()) else {
            return waiting.await;
        };
        let token = WorkflowCancellationToken::new();
        let time = Duration::from_millis(at.saturating_sub(now).max(1));
        let timer = self.ctx.pause(time, &format!("a question of turn {turn} expires"), token.clone());
        if let Either::Left((outcome, _)) = select(waiting.as_mut(), timer).await {
            token.cancel();
            return outcome;
        }
        let expired = inbox.expire(expiries, self.time_millis().unwrap_or(at).max(at));
        let decisions: Vec<NotedDecision> =
            expired.iter().map(|(id, decision)| NotedDecision::new(id, decision)).collect();
        if !decisions.is_empty() {
            self.take_note("", RunNote::new(agent, turn, NoteKind::Expired { decisions }));
        }
        // A decision ends the wait.
        waiting.await
    }
}
