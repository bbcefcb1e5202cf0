//! The activity that records items: history then contains its input, and this worker remembers the
//! items.

use serde_json::Value;
use temporal_agents_core::wire::{WireDecodeError, conversation::RecordRequest, decode, failure::MALFORMED_REQUEST};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

use crate::{activity::model_failure::version_mismatch, conversations::ConversationCache};

/// Adds the items to the conversation that this worker remembers.
pub(crate) fn run(
    conversations: &ConversationCache,
    ctx: &ActivityContext,
    request: Value,
) -> Result<Value, ActivityError> {
    let failure = match decode::<RecordRequest>("record request", request) {
        Ok(RecordRequest { version: _, items }) => {
            conversations.recorded(ctx.info(), &items);
            return Ok(Value::Null);
        }
        Err(WireDecodeError::Version(mismatch)) => version_mismatch(ctx.info(), mismatch),
        Err(error) => {
            ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build()
        }
    };
    Err(ActivityError::Application(Box::new(failure)))
}
