//! The activity that calls models: checks the version of the request, finds the provider, sends
//! heartbeats, and reports failures as retryable or permanent.
//!
//! A model call comes here from `workflow/activity_backed_model.rs`, as the message of
//! `wire/model_call.rs`, and continues in `provider/providers.rs` and then, for OpenAI, in
//! `provider/openai/responses/mod.rs`.
//!
//! # Design
//! **The worker decides whether a failure is retried,** by its `ModelFailureKind`. Temporal
//! receives an application failure (its term for an error of user code) of type
//! `ModelInvocationError.<kind>`, retryable or not. What the provider itself states
//! (`x-should-retry`, `retry-after`) has priority over the kind. With the default settings the
//! attempts last 6 hours in all, 1 to 60 seconds apart, so that a run survives a long outage of the
//! provider.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use temporal_agents_core::{
    drive::{
        guard::guarded,
        model_limits::{TIMEOUT_SETTING, attempt_limit},
    },
    wire::{
        ModelCall, ModelFailureKind, ModelReply, ModelRequest, ModelResponse, WIRE_VERSION, WireDecodeError,
        failure::{CONVERSATION_UNAVAILABLE, ConversationUnavailable},
        model_call::UnfoldError,
        size::{Bytes, MOST_BYTES, encoded_len},
    },
};
use temporalio_client::NamespacedClient;
use temporalio_common::{
    data_converters::{ActivitySerializationContext, SerializationContextData},
    error::ApplicationFailure,
};
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use crate::{
    activity::{
        failed_attempt::{FailedAttempt, pause_after, time_limit},
        heartbeat::HeartbeatSender,
        lost_attempt::lost_attempt,
        message::Request,
        model_failure::{Retry, failure, version_mismatch},
    },
    conversations::{ConversationCache, ConversationCacheStats, ReadError},
    deltas::{AttemptDeltas, Deltas, HeartbeatDetails},
    metrics::Metrics,
    provider::{
        ModelDeltas, ModelError,
        providers::{AttemptLimit, Providers},
    },
};

/// The maximum size of a reply in bytes as it is sent, after codecs. The Temporal server reads
/// messages of 4 MiB at most: a larger reply would be lost, so that the provider would be called
/// again and again. For smaller replies over the server's limit of a payload (2 MiB by default),
/// the server, or Temporal's SDK in its place, fails the call without a retry.
const MAX_REPLY_BYTES: usize = 4_000_000;

/// The longest time by which an attempt fails before the server ends it.
const MAX_MARGIN: Duration = Duration::from_secs(1);

/// The parts of a worker that model calls need.
pub(super) struct ModelActivity {
    pub(super) providers: Providers,
    pub(super) conversations: ConversationCache,
    pub(super) beater: HeartbeatSender,
    pub(super) deltas: Deltas,
    pub(super) metrics: Option<Metrics>,
}

impl ModelActivity {
    pub(super) async fn run(&self, ctx: &Arc<ActivityContext>, request: &Request) -> Result<ModelReply, ActivityError> {
        // Sends heartbeats while the call runs, and drops the call immediately (after zero seconds)
        // when it is cancelled. Boxed, because the future of a provider's call is large.
        let details = HeartbeatDetails::new(ctx.info().attempt);
        Box::pin(self.beater.beating(ctx, &details, Duration::ZERO, self.answer(ctx, &details, request)))
            .await?
            .map_err(ActivityError::Application)
    }

    async fn answer(
        &self,
        ctx: &Arc<ActivityContext>,
        details: &HeartbeatDetails,
        request: &Request,
    ) -> Result<ModelReply, Box<ApplicationFailure>> {
        let (info, began) = (ctx.info(), Instant::now());
        let call = self.read(ctx, request).await;
        if let Some(metrics) = &self.metrics {
            let ConversationCacheStats { hits, misses, rebuilt_bytes, .. } = self.conversations.take_uncounted();
            metrics.conversations(hits, misses, rebuilt_bytes);
        }
        let call = call?;
        let (agent, turn, model) = (call.agent.clone(), call.turn, call.model.clone());
        let failed_attempt =
            |attempt, next_pause| FailedAttempt { agent: &agent, turn, model: &model, attempt, next_pause };
        if let Some(reason) = lost_attempt(ctx).await {
            let lost = ModelError::new(ModelFailureKind::Timeout, reason);
            failed_attempt(info.attempt.saturating_sub(1), None).warn(&lost);
        }
        let limit = time_limit(info).map(|limit| limit_of(&call, limit, began.elapsed()));
        let deltas = AttemptDeltas::start(&self.deltas, &agent, ctx, details);
        let receiver = deltas.as_ref().map(|deltas| deltas.of_model(&call));
        let error = match self.counted_call(call, limit, receiver).await {
            Ok(response) => {
                let reply = ModelReply::from(response);
                match too_large(ctx, &reply).await {
                    None => {
                        if let Some(deltas) = deltas {
                            deltas.finish().await;
                        }
                        self.conversations.answered(info, &reply.response);
                        return Ok(reply);
                    }
                    Some(error) => error,
                }
            }
            Err(error) => error,
        };
        let next_pause = pause_after(info).and_then(|pause| Retry::of(info, &error).pause(pause));
        failed_attempt(info.attempt, next_pause).warn(&error);
        Err(Box::new(failure(info, &agent, &model, error)))
    }

    /// Makes the call, and counts it.
    async fn counted_call(
        &self,
        call: ModelCall,
        limit: Option<AttemptLimit>,
        deltas: Option<ModelDeltas>,
    ) -> Result<ModelResponse, ModelError> {
        let inference = self.metrics.as_ref().map(|metrics| metrics.inference(&call.agent, &call.model));
        let deltas = match &inference {
            Some(inference) => deltas.map(|deltas| inference.streams(deltas)),
            None => deltas,
        };
        let outcome = match limit {
            Some(limit) => self.providers.call_with_limit(limit, call, deltas).await,
            None => self.providers.call(call, deltas).await,
        };
        if let Some(inference) = inference {
            inference.end(&outcome);
        }
        outcome
    }

    /// Decodes the request: checks its version and its shape, resolves its references, and checks
    /// its digests.
    async fn read(&self, ctx: &ActivityContext, request: &Request) -> Result<ModelCall, Box<ApplicationFailure>> {
        let info = ctx.info();
        let malformed = |error: &dyn std::error::Error| {
            let json = request.to_value().unwrap_or_default();
            let member = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
            let (agent, model) = (member("agent"), member("model"));
            let error = ModelError::new(ModelFailureKind::Internal, error.to_string());
            Box::new(failure(info, &agent, &model, error))
        };
        let read: ModelRequest = match request.look("model request") {
            Ok(read) => read,
            Err(WireDecodeError::Version(mismatch)) => return Err(Box::new(version_mismatch(info, mismatch))),
            Err(error) => return Err(malformed(&error)),
        };
        match self.conversations.read(ctx, read).await {
            Ok(call) => Ok(call),
            Err(ReadError::Request(UnfoldError::Version(mismatch))) => Err(Box::new(version_mismatch(info, mismatch))),
            Err(ReadError::Unavailable(error)) => {
                // `true` if the error may go away with another attempt.
                let retry = error.may_pass(info.attempt);
                let (what, cause) = (error.what(), error.to_string());
                Err(Box::new(
                    ApplicationFailure::builder(error)
                        .type_name(CONVERSATION_UNAVAILABLE.to_owned())
                        .non_retryable(!retry)
                        .details(ConversationUnavailable { version: WIRE_VERSION, what, cause })
                        .build(),
                ))
            }
            Err(error) => Err(malformed(&error)),
        }
    }
}

/// Returns the time limit of the provider's call in an attempt that has `limit`, of which `passed`
/// is over. The attempt fails before the server ends it, so that its failure says why and is logged.
fn limit_of(call: &ModelCall, limit: Duration, passed: Duration) -> AttemptLimit {
    let margin = (limit / 10).min(MAX_MARGIN);
    let setting = match attempt_limit(&call.definitions.settings) {
        Some(_) => TIMEOUT_SETTING,
        None => "ModelActivityOptions::start_to_close",
    };
    AttemptLimit { time: limit.saturating_sub(margin + passed), stated: limit, setting }
}

/// Returns the failure of a reply that does not fit into a message to the server; `None` if the
/// reply fits.
async fn too_large(ctx: &ActivityContext, reply: &ModelReply) -> Option<ModelError> {
    let json = encoded_len(reply).ok().filter(|bytes| *bytes > MOST_BYTES)?;
    // A codec may make the reply smaller. A reply that it cannot encode fails when it is sent.
    let context = SerializationContextData::Activity(ActivitySerializationContext::new());
    // The context of a test has no client, and panics.
    let client = guarded(|| ctx.client()).ok()?;
    let payload = client.data_converter().to_payload(&context, &serde_json::to_value(reply).ok()?).await.ok()?;
    let sent = payload.data.len();
    if sent <= MAX_REPLY_BYTES {
        return None;
    }
    let (json, sent, most) = (Bytes(json), Bytes(sent), Bytes(MAX_REPLY_BYTES));
    let message = format!(
        "response too large: the model's reply is {json} of JSON, {sent} when it is sent, over the limit of {most}; \
         it is not requested again. Lower max_tokens, or keep images and files of hosted tools out of the reply"
    );
    Some(ModelError::new(ModelFailureKind::ResponseTooLarge, message))
}
