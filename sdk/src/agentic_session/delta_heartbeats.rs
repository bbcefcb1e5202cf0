//! Heartbeats that carry the deltas of open calls beside the checkpoint.
//!
//! # Design
//! **The checkpoint is never replaced.** Deltas are an additional member of the JSON object that
//! the server already has: `deltas`, a list of windows, one for each open call. A second payload
//! would not do, because builds without deltas read exactly one; an additional member they ignore.
//!
//! **A checkpoint that is being written goes first.** A heartbeat with deltas carries the
//! checkpoint that the server has. It is sent while no checkpoint is written, so that it cannot
//! arrive after a newer one.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use temporal_agents_core::wire::{
    delta_window::{DeltaWindow, SESSION_DELTAS},
    session_checkpoint::SESSION_FORMAT,
    size::{MOST_BYTES, encoded_len},
};
use temporalio_common::{data_converters::RawValue, protos::temporal::api::common::v1::Payload};
use tokio::time::sleep;

use super::writer::Writer;
use crate::deltas::WindowCarrier;

/// The maximum size of the windows in a heartbeat, in bytes of JSON.
const MAX_WINDOWS_BYTES: usize = 17_000;

/// The windows of a session's open calls, and the writer that sends them.
pub(super) struct DeltaHeartbeats {
    writer: Weak<Writer>,
    /// The latest one is the last.
    windows: Mutex<Vec<(String, DeltaWindow)>>,
}

impl DeltaHeartbeats {
    pub(super) fn new(writer: &Arc<Writer>) -> Self {
        Self { writer: Arc::downgrade(writer), windows: Mutex::default() }
    }

    /// Removes the window of a call that has ended.
    pub(super) fn end(&self, call: &str) {
        self.lock().retain(|(of, _)| of != call);
    }

    /// Replaces the window of a call; returns all windows as JSON, as far as they have room.
    fn set(&self, call: String, window: DeltaWindow) -> String {
        let mut windows = self.lock();
        windows.retain(|(of, _)| *of != call);
        windows.push((call, window));
        let mut left = MAX_WINDOWS_BYTES;
        let fits = |(_, window): &&(String, DeltaWindow)| {
            let bytes = encoded_len(window).unwrap_or(usize::MAX);
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        };
        let latest: Vec<&DeltaWindow> = windows.iter().rev().take_while(fits).map(|(_, window)| window).collect();
        serde_json::to_string(&latest).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, DeltaWindow)>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WindowCarrier for DeltaHeartbeats {
    fn carry(&self, call: String, window: DeltaWindow) -> BoxFuture<'_, ()> {
        async move {
            let windows = self.set(call, window);
            let Some(writer) = self.writer.upgrade() else { return };
            // In a task of its own: a request that is dropped may still arrive, after a newer one.
            let bytes = tokio::spawn(async move { writer.send_with_deltas(&windows).await }).await;
            sleep(pause_after(bytes.unwrap_or_default())).await;
        }
        .boxed()
    }
}

/// Returns the pause after a heartbeat of this size: each holds the checkpoint again, so that all
/// together send at most 1 MB a second.
fn pause_after(bytes: usize) -> Duration {
    Duration::from_micros(bytes as u64)
}

/// Returns a checkpoint of this crate with these windows; `None` if it is something else, or if it
/// has no room.
pub(super) fn with_deltas(checkpoint: &RawValue, windows: &str) -> Option<RawValue> {
    let [payload] = &*checkpoint.payloads else { return None };
    // Each checkpoint of this crate begins with its format.
    let begins = format!("{{\"format\":\"{SESSION_FORMAT}\",");
    let json = payload.data.strip_suffix(b"}").filter(|json| json.starts_with(begins.as_bytes()))?;
    let member = format!(",\"{SESSION_DELTAS}\":{windows}}}");
    if windows.is_empty() || json.len() + member.len() > MOST_BYTES {
        return None;
    }
    let data = [json, member.as_bytes()].concat();
    Some(RawValue::new(vec![Payload { data, ..payload.clone() }]))
}

/// Removes the deltas from a heartbeat of an earlier attempt. Returns `None` if it holds no
/// checkpoint of this crate.
pub(super) fn without_deltas(left: &RawValue) -> Option<RawValue> {
    let [payload] = &*left.payloads else { return None };
    let mut json: Value = serde_json::from_slice(&payload.data).ok()?;
    let members = json.as_object_mut()?;
    if members.get("format").and_then(Value::as_str) != Some(SESSION_FORMAT) {
        return None;
    }
    if members.remove(SESSION_DELTAS).is_none() {
        return Some(left.clone());
    }
    Some(RawValue::new(vec![Payload { data: json.to_string().into_bytes(), ..payload.clone() }]))
}

#[cfg(test)]
mod tests;
