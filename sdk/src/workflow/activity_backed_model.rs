//! A model whose calls are activities: stamps the version, schedules, reads the answer.
//!
//! Second of the five files of a model call (`drive/mod.rs` -> here -> `wire/model_call.rs` ->
//! `worker/model_activity.rs` -> `worker/openai/responses.rs`).

use std::{collections::BTreeMap, rc::Rc};

use temporalio_workflow::{ActivityExecutionError, WorkflowCancellationToken};

use super::{
    context::DurableContext,
    failure::{EffectFailure, NoModelActivity, is_not_registered},
    model_activity_options::{ModelActivityOptions, Scheduling},
};
use crate::{
    agent::AgentInfo,
    drive::ModelEffectError,
    wire::{ModelCall, ModelReply, ModelRequest, ModelResponse, decode},
};

/// Calls models through activities, with options for all agents and for single ones.
#[derive(Clone, Debug, Default)]
pub struct ActivityBackedModel {
    options: ModelActivityOptions,
    per_agent: BTreeMap<String, ModelActivityOptions>,
}

impl ActivityBackedModel {
    /// Calls scheduled with these options.
    pub fn new(options: ModelActivityOptions) -> Self {
        Self { options, per_agent: BTreeMap::new() }
    }

    /// Other options for the calls of one agent.
    #[must_use]
    pub fn for_agent(mut self, agent: impl Into<String>, options: ModelActivityOptions) -> Self {
        self.per_agent.insert(agent.into(), options);
        self
    }

    /// Options for the calls of all agents without their own.
    pub fn options_mut(&mut self) -> &mut ModelActivityOptions {
        &mut self.options
    }

    pub(super) async fn call(
        &self,
        ctx: &Rc<dyn DurableContext>,
        call: ModelCall,
        activity_id: String,
        token: WorkflowCancellationToken,
    ) -> Result<ModelResponse, ModelEffectError> {
        let options = self.per_agent.get(&call.agent).unwrap_or(&self.options);
        let agent = AgentInfo::new(&*call.agent, call.turn);
        let at = Scheduling { agent, settings: &call.definitions.settings, activity_id, token };
        let pending = if options.local {
            let scheduled = options.local_activity(at);
            ctx.local_model_activity(ModelRequest::in_full(call), scheduled)
        } else {
            let scheduled = options.activity(at);
            ctx.model_activity(ModelRequest::in_full(call), scheduled)
        };
        match pending.await {
            Ok(reply) => {
                let ModelReply { version: _, response } =
                    decode("model reply", reply).map_err(|error| ModelEffectError::Failed(error.into()))?;
                Ok(response)
            }
            Err(ActivityExecutionError::Cancelled(_)) => Err(ModelEffectError::Cancelled),
            Err(failure) if failure.as_cancelled().is_some() => Err(ModelEffectError::Cancelled),
            Err(failure) if is_not_registered(&failure) => {
                let task_queue = options.task_queue.clone().unwrap_or_else(|| ctx.task_queue());
                Err(ModelEffectError::Failed(Box::new(NoModelActivity { task_queue, failure })))
            }
            Err(failure) => Err(ModelEffectError::Failed(Box::new(EffectFailure::new(failure)))),
        }
    }
}
