//! The parts of a run that its watch sees.

use temporal_agents_core::{
    drive::{
        LoopEvent, Stays,
        watch::{Moment, Seen},
    },
    engine::RunError,
    wire::RunState,
};
use temporalio_workflow::WorkflowCancellationToken;

use super::WorkflowHost;
use crate::workflow::continuing::ContinuableRun;

impl WorkflowHost {
    /// Shows the watch of the run a part of it, if there is a watch.
    pub(super) fn see<'s>(&self, seen: impl FnOnce() -> Seen<'s>) {
        if let Some(watch) = &self.watch
            && let Some(now) = self.ctx.workflow_time()
        {
            watch.see(Moment { now, is_replaying: self.ctx.is_replaying() }, seen());
        }
    }

    pub(super) fn see_event(&self, event: &LoopEvent<'_>) {
        if let LoopEvent::ToolsCalled { path, call_ids, .. } = event {
            self.see(|| Seen::ToolsCalled { path, call_ids });
        }
    }

    pub(super) fn see_questions(&self, state: &RunState) {
        if self.watch.is_some() {
            let questions = state.interruptions();
            self.see(|| Seen::Waits { questions: &questions });
        }
    }

    /// Moves the run to the next execution, unless it stays.
    pub(super) async fn leave(
        &self,
        moving: &ContinuableRun,
        state: &RunState,
        scope: &WorkflowCancellationToken,
    ) -> RunError {
        let error = moving.leave(self.place(scope), state).await;
        if !Stays::is_source_of(&error) {
            self.see(|| Seen::Leaves);
        }
        error
    }
}
