//! Requests of a run in a workflow to sources and stores of the worker.

use temporal_agents_core::{
    drive::{KeptDecisionsEffect, SourceEffectError, ToolsetsEffect},
    wire::{SelectedToolset, kept_decision::KeptDecision, size::encoded_len},
};
use temporalio_workflow::WorkflowCancellationToken;

use super::WorkflowHost;
use crate::workflow::effect::{find_toolsets, kept_decisions};

impl WorkflowHost {
    /// Finds the toolsets that are selected for the run.
    ///
    /// # Errors
    /// [`SourceEffectError`].
    pub(super) async fn toolsets(
        &self,
        call: ToolsetsEffect<'_>,
        scope: &WorkflowCancellationToken,
    ) -> Result<Vec<SelectedToolset>, SourceEffectError> {
        let activity_id = format!("{}-{}", self.run(), call.id);
        self.record_command(|| 0);
        let found = find_toolsets::find(&self.ctx, call, &activity_id, scope).await?;
        self.notes(|| encoded_len(&found).unwrap_or_default());
        Ok(found)
    }

    /// Reads or writes the decisions that are kept for a user.
    ///
    /// # Errors
    /// [`SourceEffectError`].
    pub(super) async fn decisions(
        &self,
        call: KeptDecisionsEffect<'_>,
        scope: &WorkflowCancellationToken,
    ) -> Result<Vec<KeptDecision>, SourceEffectError> {
        let activity_id = format!("{}-{}", self.run(), call.id);
        self.record_command(|| call.keep.as_ref().map_or(0, |keep| encoded_len(keep).unwrap_or_default()));
        let found = kept_decisions::ask(&self.ctx, call, &activity_id, scope).await?;
        self.notes(|| encoded_len(&found).unwrap_or_default());
        Ok(found)
    }
}
