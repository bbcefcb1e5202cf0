//! The tool calls of a durable run: waits for room, makes a call or a batch of calls, accounts for
//! the content that they put into history.

use std::rc::Rc;

use futures::FutureExt;
use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError, join::join_in_order},
    tool::{ToolBinding, ToolDef},
    wire::digest::Digest,
};
use temporalio_workflow::WorkflowCancellationToken;

use super::WorkflowHost;
use crate::workflow::{
    effect::tool_call::{
        self, Passage,
        batch::{self, Batched, Member},
    },
    limits::{gate::Cancelled, size::encoded_len},
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
                let mcp = call.mcp.as_ref().map_or(0, |mcp| encoded_len(mcp).unwrap_or_default());
                mcp + call.remote.as_ref().map_or(0, |remote| encoded_len(remote).unwrap_or_default())
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
        self.account(binding, &id, &call_id, &answer);
        Ok(answer)
    }

    /// Makes calls in one activity, and those that it does not make in activities of their own.
    pub(super) async fn make_tool_calls(
        &self,
        calls: Vec<ToolEffect<'_>>,
        scope: &WorkflowCancellationToken,
    ) -> Vec<Result<ToolAnswer, ToolEffectError>> {
        let ids: Vec<String> = calls.iter().map(|call| format!("{}-{}", self.run(), call.id)).collect();
        let bytes = calls.iter().map(|call| encoded_len(&(&call.arguments, &call.context)).unwrap_or_default()).sum();
        let Ok(place) = self.gate.enter_together(calls.len(), bytes, scope).await else {
            return calls.iter().map(|_| Err(ToolEffectError::Cancelled)).collect();
        };
        self.record_command(|| bytes);
        let member = |(effect, id)| Member { effect, id, schema: self.schema_of_version(effect.tool) };
        let members: Vec<Member<'_, '_>> = calls.iter().zip(ids.iter().map(String::as_str)).map(member).collect();
        let results = batch::call(&self.ctx, &members, scope.clone()).await;
        drop((members, place));
        let ended = calls.into_iter().zip(ids).zip(results).map(|((call, id), result)| {
            async move {
                match result {
                    Batched::Ended(outcome) => {
                        if let Ok(answer) = &outcome {
                            self.account(call.tool.binding(), &id, &call.info.call_id, answer);
                        }
                        outcome
                    }
                    Batched::Alone => self.make_tool_call(call, id, scope).await,
                }
            }
            .boxed_local()
        });
        join_in_order(ended.collect()).await
    }

    /// Accounts for the answer of a call, which history holds.
    fn account(&self, binding: &ToolBinding, id: &str, call_id: &str, answer: &ToolAnswer) {
        self.notes(|| encoded_len(&answer.output).unwrap_or_default());
        self.record_content_by_second_rule(|| {
            let beside = answer.side_data.as_ref().map_or(0, |data| encoded_len(data).unwrap_or_default());
            beside + encoded_len(&(&answer.context_patch, &answer.question)).unwrap_or_default()
        });
        if binding.leaves_a_reply() {
            self.ledger.borrow_mut().returned(id, call_id, &answer.output);
        }
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
