//! A model call without Temporal, with the time limits and the retries that the activity of a
//! workflow would have.

use temporal_agents_core::{
    drive::model_limits::{ALL_ATTEMPTS, ATTEMPT, TIMEOUT_SETTING, attempt_limit},
    wire::{ModelCall, ModelResponse},
};
use tokio::time::{Instant, sleep};

use super::{
    host::Patience,
    observed_call::{ObservedCall, of_model},
};
use crate::{
    activity::failed_attempt::FailedAttempt,
    events::within,
    provider::{
        ModelError,
        providers::{AttemptLimit, Providers},
    },
};

/// Makes a model call, and retries it after failures that may be temporary.
///
/// # Errors
/// The failure of the last attempt. No attempt follows if the pause before it would be longer than
/// the rest of [`ALL_ATTEMPTS`]; the server decides in the same way for an activity.
pub(crate) async fn call(
    providers: &Providers,
    patience: Patience,
    call: ModelCall,
    observed: &ObservedCall<'_>,
) -> Result<ModelResponse, ModelError> {
    let settings = &call.definitions.settings;
    let retries = patience.of_models().replaced_by(settings);
    let (time, setting) = match attempt_limit(settings) {
        Some(time) => (time, TIMEOUT_SETTING),
        None => (ATTEMPT, "model calls by default; ModelSettings::timeout changes it"),
    };
    let began = Instant::now();
    let mut attempt = 1;
    loop {
        let left = ALL_ATTEMPTS.saturating_sub(began.elapsed());
        // An attempt may not outlast the limit of the whole call.
        let limit = if left < time {
            AttemptLimit { time: left, stated: left, setting: "all attempts at a call, 6 h" }
        } else {
            AttemptLimit { time, stated: time, setting }
        };
        observed.begins(attempt);
        let inference = observed.inference(&call);
        let deltas = observed.deltas(&call, attempt);
        let deltas = match &inference {
            Some(inference) => deltas.map(|deltas| inference.streams(deltas)),
            None => deltas,
        };
        // Boxed, because the future is large, and those around it are larger.
        let calling = Box::pin(providers.call_with_limit(limit, call.clone(), deltas));
        let outcome = within(observed.context(attempt), calling).await;
        if let Some(inference) = inference {
            inference.end(&outcome);
        }
        let mut error = match outcome {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let failed =
            |next_pause| FailedAttempt { agent: &call.agent, turn: call.turn, model: &call.model, attempt, next_pause };
        if retries.is_last(attempt) || !error.may_pass(attempt) {
            failed(None).warn(&error);
            return Err(error);
        }
        let pause = error.requested_pause().unwrap_or_else(|| retries.pause(attempt));
        let left = ALL_ATTEMPTS.saturating_sub(began.elapsed());
        if pause >= left {
            error.message = format!(
                "{}; the next attempt would follow after {pause:?}, but all attempts at a call together may last \
                 {ALL_ATTEMPTS:?}, of which {left:?} remain",
                error.message
            );
            failed(None).warn(&error);
            return Err(error);
        }
        failed(Some(pause)).warn(&error);
        observed.fails(attempt, || of_model(&error), pause);
        sleep(pause).await;
        attempt += 1;
    }
}
