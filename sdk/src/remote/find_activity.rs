//! The activity that finds the toolsets which are selected for a run.

use std::sync::Arc;

use futures::FutureExt;
use serde_json::Value;
use temporal_agents_core::wire::{
    WIRE_VERSION, WireDecodeError, decode,
    find_toolsets::{FIND_TOOLSETS_ACTIVITY, FindToolsetsReply, FindToolsetsRequest, TOOLSET_SOURCE_ERROR},
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::source::{ToolsetQuery, ToolsetSources};
use crate::activity::{
    model_failure::version_mismatch,
    registration::{Body, of_values},
    tool::malformed,
};

/// Most bytes of a reply, as JSON: what a payload can have.
const MOST_BYTES: usize = 1_500_000;

/// Returns the activity, if the process has a source.
pub(crate) fn find_activity(sources: &ToolsetSources) -> Option<(String, Body)> {
    if sources.is_empty() {
        return None;
    }
    let sources = sources.clone();
    let body = of_values(move |ctx, request| {
        let sources = sources.clone();
        async move { run(&sources, &ctx, request).await }.boxed()
    });
    Some((FIND_TOOLSETS_ACTIVITY.to_owned(), body))
}

async fn run(sources: &ToolsetSources, ctx: &Arc<ActivityContext>, request: Value) -> Result<Value, ActivityError> {
    let request = match decode::<FindToolsetsRequest>("find toolsets request", request) {
        Ok(request) => request,
        Err(WireDecodeError::Version(mismatch)) => {
            return Err(ActivityError::Application(Box::new(version_mismatch(ctx.info(), mismatch))));
        }
        Err(_) => return Err(malformed("it is not a search for toolsets")),
    };
    let query = ToolsetQuery::new(request.names, request.user);
    let found = sources.find(&query).await.map_err(|error| failure(&error.to_string(), false))?;
    let reply = serde_json::to_value(FindToolsetsReply { version: WIRE_VERSION, found })
        .map_err(|error| failure(&error.to_string(), true))?;
    let bytes = reply.to_string().len();
    if bytes > MOST_BYTES {
        let message = format!("the descriptions of the selected tools are {bytes} bytes, the limit is {MOST_BYTES}");
        return Err(failure(&message, true));
    }
    Ok(reply)
}

fn failure(message: &str, is_permanent: bool) -> ActivityError {
    let failure = ApplicationFailure::builder(message.to_owned())
        .type_name(TOOLSET_SOURCE_ERROR.to_owned())
        .non_retryable(is_permanent)
        .build();
    ActivityError::Application(Box::new(failure))
}
