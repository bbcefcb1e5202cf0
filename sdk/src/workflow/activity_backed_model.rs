//! A model whose calls are activities: stamps the version, schedules, reads the answer.
//!
//! Second of the five files of a model call (`drive/mod.rs` -> here -> `wire/model_call.rs` ->
//! `worker/model_activity.rs` -> `worker/openai/responses.rs`).

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use temporalio_workflow::{ActivityExecutionError, WorkflowCancellationToken};

use super::{
    context::DurableContext,
    failure::{EffectFailure, NoModelActivity, failure_type, is_not_registered, message_of},
    model_activity_options::{ModelActivityOptions, Scheduling},
    size::encoded_len,
};
use crate::{
    agent::AgentInfo,
    drive::{ModelEffectError, guard::Panic},
    engine::EffectError,
    wire::{
        DefinitionsPart, Folded, InputSegment, Item, Ledger, ModelCall, ModelReply, ModelRequest, ModelResponse,
        decode, failure::CONVERSATION_UNAVAILABLE,
    },
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

    /// Calls a model. What history holds is referred to; where a worker cannot find that any more, all is sent once.
    pub(super) async fn call(
        &self,
        ctx: &Rc<dyn DurableContext>,
        ledger: &RefCell<Ledger>,
        call: ModelCall,
        activity_id: String,
        token: WorkflowCancellationToken,
    ) -> Result<ModelResponse, ModelEffectError> {
        let options = self.per_agent.get(&call.agent).unwrap_or(&self.options);
        let scheduled = Scheduled { ctx, options, call: &call, token };
        if options.local {
            // It leaves nothing in history but its answer, so there is nothing to refer to, and nothing to save.
            let nothing = Ledger::default();
            let folded = nothing.fold(&call.input);
            return Ok(scheduled.attempt(&activity_id, nothing.define(&call.definitions), &folded).await?);
        }
        let folded = ledger.borrow().fold(&call.input);
        let definitions = ledger.borrow().define(&call.definitions);
        let attempted = scheduled.attempt(&activity_id, definitions, &folded).await;
        let (activity_id, folded, attempted) = match attempted {
            Err(Failed::Unavailable(_)) => {
                let nothing = Ledger::default();
                ledger.replace(nothing.clone());
                let activity_id = format!("{activity_id}-full");
                let folded = nothing.fold(&call.input);
                let attempted = scheduled.attempt(&activity_id, nothing.define(&call.definitions), &folded).await;
                (activity_id, folded, attempted)
            }
            attempted => (activity_id, folded, attempted),
        };
        let response = attempted.map_err(ModelEffectError::from)?;
        ledger.borrow_mut().answered(&activity_id, &call.definitions, folded, &response.output);
        Ok(response)
    }
}

/// A call on its way.
struct Scheduled<'c> {
    ctx: &'c Rc<dyn DurableContext>,
    options: &'c ModelActivityOptions,
    call: &'c ModelCall,
    token: WorkflowCancellationToken,
}

/// Why an activity gave no answer.
enum Failed {
    /// The worker does not have what the request refers to.
    Unavailable(EffectError),
    Otherwise(ModelEffectError),
}

impl Scheduled<'_> {
    /// Schedules the activity and reads the answer.
    async fn attempt(
        &self,
        activity_id: &str,
        definitions: DefinitionsPart,
        folded: &Folded,
    ) -> Result<ModelResponse, Failed> {
        let Self { ctx, options, call, token } = self;
        let request = checked(call, definitions, folded, options).map_err(Failed::of)?;
        let at = Scheduling {
            agent: AgentInfo::new(&*call.agent, call.turn),
            settings: &call.definitions.settings,
            activity_id: activity_id.to_owned(),
            token: token.clone(),
        };
        let pending = if options.local {
            let options = options.local_activity(at).map_err(|panic| Failed::of(summary_panicked(&panic)))?;
            ctx.local_model_activity(request, options)
        } else {
            let options = options.activity(at).map_err(|panic| Failed::of(summary_panicked(&panic)))?;
            ctx.model_activity(request, options)
        };
        match pending.await {
            Ok(reply) => {
                let ModelReply { version: _, response } =
                    decode("model reply", reply).map_err(|error| Failed::of(error.into()))?;
                Ok(response)
            }
            Err(ActivityExecutionError::Cancelled(_)) => Err(Failed::Otherwise(ModelEffectError::Cancelled)),
            Err(failure) if failure.as_cancelled().is_some() => Err(Failed::Otherwise(ModelEffectError::Cancelled)),
            Err(failure) if is_not_registered(&failure) => {
                let task_queue = options.task_queue.clone().unwrap_or_else(|| ctx.task_queue());
                Err(Failed::of(Box::new(NoModelActivity { task_queue, failure })))
            }
            Err(failure) if failure_type(&failure) == Some(CONVERSATION_UNAVAILABLE) => {
                Err(Failed::Unavailable(Box::new(EffectFailure::new(failure))))
            }
            Err(failure) => {
                let reason = message_of(&failure);
                let source = Box::new(EffectFailure::new(failure));
                Err(Failed::Otherwise(ModelEffectError::Failed { reason, source }))
            }
        }
    }
}

impl Failed {
    fn of(source: EffectError) -> Self {
        Self::Otherwise(ModelEffectError::Failed { reason: source.to_string(), source })
    }
}

impl From<Failed> for ModelEffectError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unavailable(source) => Self::Failed { reason: source.to_string(), source },
            Failed::Otherwise(error) => error,
        }
    }
}

/// What a reference counts, in bytes.
const REFERENCE_BYTES: usize = 100;

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
/// What is measured is what author and history give and what has not travelled before, and for each reference a round number:
/// not the words of the message around it, so that a release that writes others decides the same when it replays.
fn checked(
    call: &ModelCall,
    definitions: DefinitionsPart,
    folded: &Folded,
    options: &ModelActivityOptions,
) -> Result<ModelRequest, EffectError> {
    let new = folded.conversation.segments.iter().filter_map(|segment| match segment {
        InputSegment::Items { items } => Some(items),
        _ => None,
    });
    let new: Vec<&Item> = new.flatten().collect();
    let definitions_sent = matches!(definitions, DefinitionsPart::Inline { .. }).then_some(&call.definitions);
    let references = folded.conversation.segments.len();
    let bytes = encoded_len(&(definitions_sent, new))? + references.saturating_sub(1) * REFERENCE_BYTES;
    let limit = options.max_request_bytes;
    if bytes > limit {
        return Err(RequestTooLarge { bytes, limit }.into());
    }
    Ok(ModelRequest::with_parts(call, definitions, folded.conversation.clone()))
}

fn summary_panicked(panic: &Panic) -> EffectError {
    format!("the summary function of the model activity failed: {panic}").into()
}
