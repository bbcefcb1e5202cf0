//! A tool call of a durable run: waits for room, makes the call, accounts for the content that it
//! puts into history.

use std::rc::Rc;

use temporalio_workflow::WorkflowCancellationToken;

use super::WorkflowHost;
use crate::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError},
    tool::ToolDef,
    wire::digest::Digest,
    workflow::{
        effect::tool_call::{self, Passage},
        limits::{gate::Cancelled, size::encoded_len},
    },
};

impl WorkflowHost {
    /// Makes the call under this id, and returns its answer.
    pub(super) async fn make_tool_call(
        &self,
        call: ToolEffect<'_>,
        id: String,
        scope: &WorkflowCancellationToken,
    ) -> Result<ToolAnswer, ToolEffectError> {
        let call_id = call.info.call_id.clone();
        let binding = call.tool.binding();
        let schema = self.schema_of_version(call.tool);
        let bytes = encoded_len(&(&call.arguments, &call.context)).unwrap_or_default();
        #[cfg(feature = "nexus")]
        let _operation = self.nexus.admit(&self.ctx, &call, &id, scope, || self.record_command(|| 0)).await?;
        let mut _place = None;
        if tool_call::begins_with_a_command(binding) {
            _place = Some(self.gate.enter(bytes, scope).await.map_err(|Cancelled| ToolEffectError::Cancelled)?);
            self.record_command(|| bytes);
            self.record_content_by_second_rule(|| {
                call.mcp.as_ref().map_or(0, |mcp| encoded_len(mcp).unwrap_or_default())
            });
        }
        let mut local = None;
        if tool_call::is_local(binding) {
            let may_return = call.tool.output_limit().bytes;
            let place = self.locals.enter(&self.ctx, may_return, scope).await;
            local = Some(place.map_err(|Cancelled| ToolEffectError::Cancelled)?);
        }
        let (answer, id) = tool_call::call(&self.ctx, call, id, scope.clone(), self.passage(), schema).await?;
        if let Some(place) = local {
            place.returned(encoded_len(&answer.output).unwrap_or_default());
        }
        self.notes(|| encoded_len(&answer.output).unwrap_or_default());
        self.record_content_by_second_rule(|| {
            encoded_len(&(&answer.context_patch, &answer.question)).unwrap_or_default()
        });
        if binding.leaves_a_reply() {
            self.ledger.borrow_mut().returned(&id, &call_id, &answer.output);
        }
        Ok(answer)
    }

    /// Returns the schema digest that identifies the version of a tool with several versions. It is
    /// the same on replay, because only definitions decide it.
    fn schema_of_version(&self, tool: &ToolDef) -> Option<Digest> {
        let is_one_of_several = tool.is_versioned() || self.versioned_tools.contains(&tool.activity_type());
        is_one_of_several.then(|| tool.schema_digest())
    }

    /// Returns the passage that all effects of workflow tools go through.
    fn passage(&self) -> Passage {
        Passage::new(Rc::clone(&self.gate), self.moving.clone())
    }
}
