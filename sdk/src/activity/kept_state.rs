//! The activities that pass a state which is too large for a workflow's input from one execution to
//! the next.
//!
//! `keep` does no work: its request is recorded in history as the input of the activity, and its
//! result identifies the JSON text that the chunk is a part of. `load` reads the request from that
//! history, newest event first, through the client's data converter, so that codecs apply to it;
//! its result is recorded in the history of the next execution.

use serde::de::DeserializeOwned;
use serde_json::Value;
use temporal_agents_core::wire::{
    WIRE_VERSION, WireDecodeError,
    carried::{KEEP_STATE_ACTIVITY, KeepStateReply, KeepStateRequest, LoadStateReply, LoadStateRequest},
    decode,
    failure::{MALFORMED_REQUEST, STATE_UNAVAILABLE},
};
use temporalio_client::NamespacedClient;
use temporalio_common::{
    data_converters::{ActivitySerializationContext, SerializationContextData},
    error::ApplicationFailure,
    protos::temporal::api::history::v1::{ActivityTaskScheduledEventAttributes, history_event::Attributes},
};
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use crate::{
    activity::model_failure::version_mismatch,
    conversations::{HistoryError, NewestFirst, RunKey},
};

/// Records a chunk: the request is in history.
pub(crate) fn keep(ctx: &ActivityContext, request: Value) -> Result<KeepStateReply, ActivityError> {
    let KeepStateRequest { version: _, chunk: _, of } = read(ctx, "keep state request", request)?;
    Ok(KeepStateReply { version: WIRE_VERSION, of })
}

/// Reads a chunk from the history of the execution that has recorded it.
pub(crate) async fn load(ctx: &ActivityContext, request: Value) -> Result<LoadStateReply, ActivityError> {
    let LoadStateRequest { version: _, run_id, activity_id } = read(ctx, "load state request", request)?;
    let info = ctx.info();
    let found = match RunKey::of(info) {
        Some(key) => find(ctx, &RunKey { run_id: run_id.clone(), ..key }, &activity_id).await,
        None => Err(HistoryError::Absent("the state: this activity was not started by a workflow".to_owned())),
    };
    match found {
        Ok(chunk) => Ok(LoadStateReply { version: WIRE_VERSION, chunk }),
        Err(error) => {
            let retry = error.may_pass(info.attempt);
            let message = format!(
                "a part of the run's state is unavailable in the previous execution, {run_id}: {error}; if that \
                 execution was deleted, the run cannot continue"
            );
            let failure = ApplicationFailure::builder(message)
                .type_name(STATE_UNAVAILABLE.to_owned())
                .non_retryable(!retry)
                .build();
            Err(ActivityError::Application(Box::new(failure)))
        }
    }
}

/// Searches the history of an execution for the chunk that the activity with this id has recorded.
async fn find(ctx: &ActivityContext, key: &RunKey, activity_id: &str) -> Result<String, HistoryError> {
    let mut pages = NewestFirst::of(&ctx.client(), key);
    while let Some(events) = pages.next().await? {
        for event in events {
            if let Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) = event.attributes
                && scheduled.activity_id == activity_id
                && scheduled.activity_type.as_ref().is_some_and(|kind| kind.name == KEEP_STATE_ACTIVITY)
            {
                return chunk_of(ctx, scheduled).await;
            }
        }
    }
    Err(HistoryError::Absent(format!("activity {activity_id}")))
}

/// Decodes the chunk in the input of an activity.
async fn chunk_of(
    ctx: &ActivityContext,
    scheduled: ActivityTaskScheduledEventAttributes,
) -> Result<String, HistoryError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        let what = format!("the request of activity {}", scheduled.activity_id);
        HistoryError::Unreadable { what, why: why.to_string() }
    };
    let payloads = scheduled.input.unwrap_or_default().payloads;
    let context = SerializationContextData::Activity(ActivitySerializationContext::new());
    let converter = ctx.client().data_converter().clone();
    let json: Value = converter.from_payloads(&context, payloads).await.map_err(|error| unreadable(&error))?;
    let KeepStateRequest { version: _, chunk, of: _ } =
        decode("keep state request", json).map_err(|error| unreadable(&error))?;
    Ok(chunk)
}

fn read<T: DeserializeOwned>(ctx: &ActivityContext, what: &'static str, request: Value) -> Result<T, ActivityError> {
    decode(what, request).map_err(|error| {
        let failure = match error {
            WireDecodeError::Version(mismatch) => version_mismatch(ctx.info(), mismatch),
            error @ WireDecodeError::Malformed { .. } => {
                ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build()
            }
        };
        ActivityError::Application(Box::new(failure))
    })
}
