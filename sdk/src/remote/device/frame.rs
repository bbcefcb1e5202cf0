//! The texts between a device and its gateway, as JSON; over a WebSocket for example.
//!
//! | from | text |
//! |---|---|
//! | device | `{"type": "hello", "device": "laptop", "tools": [..]}`, first |
//! | gateway | `{"type": "call", "tool_use_id": "..", "tool": "run", "payload": {..}, ..}` |
//! | device | `{"type": "output_delta", "tool_use_id": "..", "stream": "stdout", "delta": ".."}` |
//! | device | `{"type": "result", "tool_use_id": "..", "result_json": .., "error": {..}}` |
//! | gateway | `{"type": "cancel", "tool_use_id": ".."}` |

use serde::{Deserialize, Serialize};
use temporal_agents_core::{
    tool::schema,
    wire::{GateMode, RemoteTool, SelectedToolset, size::encoded_len},
};

use super::{DEVICES, key::DeviceKey};
use crate::remote::message::{CallMessage, ToolOutputDeltaMessage, ToolResultMessage};

/// Most tools of a device.
const MOST_TOOLS: usize = 128;

/// Most bytes of an announcement: each process that calls the device reads it.
const LONGEST_HELLO: usize = 1 << 20;

/// Longest name of a device, in bytes.
const LONGEST_NAME: usize = 40;

/// A device, with the tools that it has announced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Device {
    /// Its name, unique among the devices of its owner: letters, digits, `_` and `-`.
    pub name: String,
    /// The user to whom it belongs.
    pub owner: String,
    /// Its tools.
    pub tools: Vec<RemoteTool>,
    /// Who decides about calls of its tools, where that is stricter than the gate of the run. If it
    /// is absent, the gate decides; in a run without a gate, a person decides about each call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<GateMode>,
}

/// A device is not connected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device is refused: {reason}")]
#[non_exhaustive]
pub struct DeviceRefused {
    /// The reason, for the device.
    pub reason: String,
}

impl Device {
    /// Reads the announcement of a device, its first text, of 1 MiB at most. The owner is the user
    /// whom the gateway process has authenticated.
    ///
    /// # Errors
    /// [`DeviceRefused`].
    pub fn announced(hello: &str, owner: impl Into<String>) -> Result<Self, DeviceRefused> {
        let refused = |reason: String| DeviceRefused { reason };
        check_length(hello.len()).map_err(refused)?;
        match serde_json::from_str(hello).map_err(|error| refused(format!("not a \"hello\": {error}")))? {
            FromDevice::Hello { device, tools, mode } => {
                let device = Self { name: device, owner: owner.into(), tools, mode };
                device.check().map_err(refused)?;
                Ok(device)
            }
            _ => Err(refused("its first text must be of type \"hello\"".to_owned())),
        }
    }

    /// Checks the device; returns the reason for which it is refused.
    pub(super) fn check(&self) -> Result<(), String> {
        check_length(encoded_len(self).map_err(|error| error.to_string())?)?;
        if !is_name(&self.name) {
            return Err(format!(
                "{:?} is not a name of 1 to {LONGEST_NAME} letters, digits, `_` and `-`",
                self.name.chars().take(LONGEST_NAME).collect::<String>()
            ));
        }
        if self.tools.len() > MOST_TOOLS {
            return Err(format!("it has {} tools, the limit is {MOST_TOOLS}", self.tools.len()));
        }
        for tool in &self.tools {
            for schema in [Some(&tool.payload_schema), tool.result_schema.as_ref()].into_iter().flatten() {
                schema::measure(schema).map_err(|error| format!("tool {:?}: {error}", tool.name))?;
            }
        }
        Ok(())
    }

    /// Returns its tools for a run that has selected it.
    pub(super) fn selected(self) -> SelectedToolset {
        let toolset = SelectedToolset::of_device(self.name, DEVICES, self.tools);
        SelectedToolset { mode: self.mode, ..toolset }
    }

    /// Returns its key.
    pub(super) fn key(&self) -> DeviceKey {
        DeviceKey::new(&*self.owner, &*self.name)
    }

    /// Returns the tool of this name.
    pub(super) fn tool(&self, name: &str) -> Option<&RemoteTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

fn check_length(bytes: usize) -> Result<(), String> {
    if bytes <= LONGEST_HELLO {
        return Ok(());
    }
    Err(format!("its announcement has {bytes} bytes, the limit is {LONGEST_HELLO}"))
}

/// Returns `true` if a device can have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.bytes().all(is_taken)
}

/// A text of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum FromDevice {
    /// The first text: the device announces itself and its tools.
    Hello {
        /// Name of the device.
        device: String,
        /// Its tools.
        tools: Vec<RemoteTool>,
        /// Who decides about calls of its tools, where that is stricter than the gate of the run.
        /// If it is absent, the gate decides; in a run without a gate, a person decides about each
        /// call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<GateMode>,
    },
    /// Output of a call that has not ended.
    OutputDelta(ToolOutputDeltaMessage),
    /// The result of a call.
    Result(ToolResultMessage),
    /// A text of a later release, which is ignored.
    #[serde(other)]
    Other,
}

/// A text for a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToDevice {
    /// A call, whose `tool` is the name of the device's tool alone.
    Call(Box<CallMessage>),
    /// Nobody waits for this call any more.
    Cancel {
        /// Id of the call.
        tool_use_id: String,
    },
    /// A text of a later release, which is ignored.
    #[serde(other)]
    Other,
}

/// A device that is connected, as other processes know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Id of the connection.
    pub(super) connection: String,
    #[serde(flatten)]
    pub(super) device: Device,
}
