//! A model whose calls are activities: stamps the version, schedules, reads the answer.
//!
//! Second of the five files of a model call (`drive/mod.rs` -> here -> `wire/model_call.rs` ->
//! `worker/model_activity.rs` -> `worker/openai/responses.rs`).

use std::{collections::BTreeMap, rc::Rc};

use temporalio_workflow::{ActivityExecutionError, WorkflowCancellationToken};

use super::{
    context::DurableContext,
    failure::{EffectFailure, NoModelActivity, is_not_registered, message_of},
    model_activity_options::{ModelActivityOptions, Scheduling},
    size::encoded_len,
};
use crate::{
    agent::AgentInfo,
    drive::{ModelEffectError, guard::Panic},
    engine::EffectError,
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

    /// The agents with options of their own.
    pub(super) fn agents_with_options(&self) -> impl Iterator<Item = &str> {
        self.per_agent.keys().map(String::as_str)
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
        let failed = |source: EffectError| ModelEffectError::Failed { reason: source.to_string(), source };
        let pending = if options.local {
            let scheduled = options.local_activity(at).map_err(|panic| failed(summary_panicked(&panic)))?;
            ctx.local_model_activity(checked(call, options).map_err(failed)?, scheduled)
        } else {
            let scheduled = options.activity(at).map_err(|panic| failed(summary_panicked(&panic)))?;
            ctx.model_activity(checked(call, options).map_err(failed)?, scheduled)
        };
        match pending.await {
            Ok(reply) => {
                let ModelReply { version: _, response } =
                    decode("model reply", reply).map_err(|error| failed(error.into()))?;
                Ok(response)
            }
            Err(ActivityExecutionError::Cancelled(_)) => Err(ModelEffectError::Cancelled),
            Err(failure) if failure.as_cancelled().is_some() => Err(ModelEffectError::Cancelled),
            Err(failure) if is_not_registered(&failure) => {
                let task_queue = options.task_queue.clone().unwrap_or_else(|| ctx.task_queue());
                Err(failed(Box::new(NoModelActivity { task_queue, failure })))
            }
            Err(failure) => {
                let reason = message_of(&failure);
                Err(ModelEffectError::Failed { reason, source: Box::new(EffectFailure::new(failure)) })
            }
        }
    }
}

/// A call's JSON is larger than the server takes.
#[derive(Debug, thiserror::Error)]
#[error(
    "the request is {bytes} bytes, the limit is {limit}; shorten the conversation (a tool result or an image, most likely), \
     or raise ModelActivityOptions::max_request_bytes where a codec compresses payloads"
)]
struct RequestTooLarge {
    bytes: usize,
    limit: usize,
}

/// The request of a call that is not too large.
///
/// What is measured is what author and history give, not the message around it: a release that writes its messages in other
/// words decides the same when it replays.
fn checked(call: ModelCall, options: &ModelActivityOptions) -> Result<ModelRequest, EffectError> {
    let bytes = encoded_len(&(&call.definitions, &call.input))?;
    let limit = options.max_request_bytes;
    if bytes > limit { Err(RequestTooLarge { bytes, limit }.into()) } else { Ok(ModelRequest::in_full(call)) }
}

fn summary_panicked(panic: &Panic) -> EffectError {
    format!("the summary function of the model activity failed: {panic}").into()
}
