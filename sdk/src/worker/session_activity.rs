//! The activity that reads and writes the sessions of one store.

use std::sync::Arc;

use serde_json::Value;
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use super::{model_activity::version_mismatch, session::Session};
use crate::wire::{
    SessionOperation, SessionReply, SessionRequest, WIRE_VERSION, WireDecodeError, decode, failure::MALFORMED_REQUEST,
};

/// Reads or writes a session.
pub(super) async fn run(
    store: Arc<dyn Session>,
    ctx: Arc<ActivityContext>,
    request: Value,
) -> Result<SessionReply, ActivityError> {
    let request = match decode::<SessionRequest>("session request", request) {
        Ok(request) => request,
        Err(WireDecodeError::Version(mismatch)) => {
            return Err(ActivityError::Application(Box::new(version_mismatch(ctx.info(), mismatch))));
        }
        Err(error) => {
            let failure =
                ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build();
            return Err(ActivityError::Application(Box::new(failure)));
        }
    };
    let SessionRequest { version: _, session_id, operation } = request;
    let done = match operation {
        SessionOperation::Read { limit } => store.items(&session_id, limit).await,
        SessionOperation::Add { items, key } => {
            // A workflow that is reset writes anew, maybe other items, under the keys of its first run.
            let run = ctx.info().workflow_run_id.clone().unwrap_or_default();
            store.add(&session_id, items, &format!("{run}/{key}")).await.map(|()| Vec::new())
        }
    };
    match done {
        Ok(items) => Ok(SessionReply { version: WIRE_VERSION, items }),
        Err(error) => {
            let failure = ApplicationFailure::builder(error.to_string()).type_name("SessionError".to_owned()).build();
            Err(ActivityError::Application(Box::new(failure)))
        }
    }
}
