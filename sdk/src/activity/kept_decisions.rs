//! The activity that reads and writes the decisions which hold beyond their run.

use std::sync::Arc;

use futures::FutureExt;
use serde_json::Value;
use temporal_agents_core::wire::{
    WIRE_VERSION, WireDecodeError, decode,
    kept_decision::{DECISION_STORE_ERROR, KEPT_DECISIONS_ACTIVITY, KeptDecisionsReply, KeptDecisionsRequest},
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::{
    model_failure::version_mismatch,
    registration::{Body, of_values},
    tool::malformed,
};
use crate::store::OptionalDecisionStore;

/// Returns the activity, if the process has a store.
pub(crate) fn kept_decisions(store: &OptionalDecisionStore) -> Option<(String, Body)> {
    store.0.as_ref()?;
    let store = store.clone();
    let body = of_values(move |ctx, request| {
        let store = store.clone();
        async move { run(&store, &ctx, request).await }.boxed()
    });
    Some((KEPT_DECISIONS_ACTIVITY.to_owned(), body))
}

async fn run(
    store: &OptionalDecisionStore,
    ctx: &Arc<ActivityContext>,
    request: Value,
) -> Result<Value, ActivityError> {
    let request = match decode::<KeptDecisionsRequest>("kept decisions request", request) {
        Ok(request) => request,
        Err(WireDecodeError::Version(mismatch)) => {
            return Err(ActivityError::Application(Box::new(version_mismatch(ctx.info(), mismatch))));
        }
        Err(_) => return Err(malformed("it is not a request for kept decisions")),
    };
    let asked = store.ask(&request.user, request.keep.as_ref()).await;
    let reply =
        asked.and_then(|decisions| Ok(serde_json::to_value(KeptDecisionsReply { version: WIRE_VERSION, decisions })?));
    reply.map_err(|error| {
        let failure = ApplicationFailure::builder(error.to_string()).type_name(DECISION_STORE_ERROR.to_owned()).build();
        ActivityError::Application(Box::new(failure))
    })
}
