//! The messages between the process that calls a device and the one that holds it, as JSON.

use serde::{Deserialize, Serialize};

use crate::remote::message::{CallMessage, ToolOutputDeltaMessage, ToolResultMessage};

/// A request to the process that holds a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum DeviceRequest {
    /// Makes a call, or tells what is known of it.
    Call(Box<CallRequest>),
    /// The device is connected elsewhere since.
    Takeover {
        /// Id of the new connection.
        connection: String,
    },
    /// The holder asks itself whether it still hears its channel.
    Ping,
    /// Nobody waits for the call any more.
    Cancel {
        /// Id of the connection that the request is for.
        connection: String,
        /// Id of the call.
        tool_use_id: String,
        /// The user for whom the call was made.
        user: String,
        /// The attempt that does not wait any more.
        #[serde(default)]
        attempt: u32,
    },
    /// A request of a later release.
    #[serde(other)]
    Other,
}

/// A call of a device's tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CallRequest {
    /// The call; its `tool` is the name of the device's tool alone.
    pub(super) call: CallMessage,
    /// Id of the connection that the request is for; any other ignores it.
    #[serde(default)]
    pub(super) connection: String,
    /// Channel for the replies; empty for a caller in the same process.
    #[serde(default)]
    pub(super) reply_to: String,
    /// The log whose replies the caller has; empty = none.
    #[serde(default)]
    pub(super) log: String,
    /// Number of replies that the caller has.
    #[serde(default)]
    pub(super) after: u64,
    /// `true` if the call may have been made already.
    #[serde(default)]
    pub(super) again: bool,
    /// The attempt that makes the call, counted from 1.
    #[serde(default)]
    pub(super) attempt: u32,
    /// `true` if the call must not be made twice.
    #[serde(default)]
    pub(super) once: bool,
    /// The user for whom the call is made.
    #[serde(default)]
    pub(super) user: String,
    /// Longest time for the call, in milliseconds.
    pub(super) timeout_ms: u64,
}

/// A reply about a call, with its number; replies are counted from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct NumberedReply {
    /// Id of the log; each counts its replies for itself.
    #[serde(default)]
    pub(super) log: String,
    pub(super) at: u64,
    #[serde(flatten)]
    pub(super) reply: Reply,
}

/// A reply about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Reply {
    /// The request has arrived; it has the number 0.
    Accepted,
    /// Output of a call that has not ended.
    OutputDelta(ToolOutputDeltaMessage),
    /// The result of the call, which ends it.
    Result(Box<ToolResultMessage>),
    /// The connection of the device is lost, which ends the call.
    Gone,
    /// A reply of a later release.
    #[serde(other)]
    Other,
}

impl Reply {
    /// Returns `true` if no reply comes after this one.
    pub(super) fn is_last(&self) -> bool {
        matches!(self, Self::Result(_) | Self::Gone)
    }
}
