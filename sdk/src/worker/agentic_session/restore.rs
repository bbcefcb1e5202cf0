//! What an attempt finds in the heartbeat of the one before it.

use serde_json::Value;
use temporalio_sdk::activities::ActivityContext;

use super::{error::CheckpointError, proposal, store::Storage};
use crate::wire::{SessionCheckpoint, decode, session_checkpoint::SESSION_FORMAT};

/// What there is to go on from.
pub(super) struct Restored {
    pub(super) checkpoint: SessionCheckpoint,
    pub(super) is_resumed: bool,
}

/// Reads the checkpoint of the attempt before. What cannot be read is told as a warning, and the session begins anew: an activity that
/// nobody can run any more would be worse.
///
/// # Errors
/// [`CheckpointError::Store`] when the checkpoint is in a store that does not give it. It may the next time.
pub(super) async fn restore(ctx: &ActivityContext, storage: &Storage) -> Result<Restored, CheckpointError> {
    let fresh = Restored { checkpoint: SessionCheckpoint::new(), is_resumed: false };
    let details = match ctx.heartbeat_details().deserialize::<Value>() {
        Ok(None | Some(Value::Null)) => return Ok(fresh),
        Ok(Some(details)) => details,
        Err(error) => {
            warn(ctx, &error.to_string());
            return Ok(fresh);
        }
    };
    match read(storage.fetch(details).await?) {
        Ok(checkpoint) => Ok(Restored { checkpoint, is_resumed: true }),
        Err(why) => {
            warn(ctx, &why);
            Ok(fresh)
        }
    }
}

/// Reads a checkpoint, ours or that of the proposal.
///
/// # Errors
/// Why it is none.
fn read(details: Value) -> Result<SessionCheckpoint, String> {
    if details.get("format").and_then(Value::as_str) == Some(SESSION_FORMAT) {
        let checkpoint: SessionCheckpoint = decode("session checkpoint", details).map_err(|error| error.to_string())?;
        return if checkpoint.origins.len() == checkpoint.results.len() {
            Ok(checkpoint)
        } else {
            Err("it has results of which it does not say where they come from".to_owned())
        };
    }
    proposal::read(details)
}

fn warn(ctx: &ActivityContext, why: &str) {
    tracing::warn!(
        activity = ctx.info().activity_type,
        attempt = ctx.info().attempt,
        why,
        "the heartbeat of the attempt before holds no checkpoint that this build reads: the session begins anew"
    );
}

#[cfg(test)]
mod tests;
