//! The key of a device: its owner and its name.

use sha2::{Digest, Sha256};
use temporal_agents_core::wire::remote_call::RemoteTarget;

use super::frame::is_name;

/// The key of a device. Names are scoped to their owner: two users may each have a `laptop`.
///
/// # Design
/// **Different keys have different channels.** The owner is an arbitrary string, so channels have
/// its digest: an owner whose text contains `:` cannot reach the channels of another device, and
/// every name of a channel has a valid length and valid characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DeviceKey {
    owner: String,
    name: String,
}

impl DeviceKey {
    pub(super) fn new(owner: impl Into<String>, name: impl Into<String>) -> Self {
        Self { owner: owner.into(), name: name.into() }
    }

    /// Returns the key of the device that a call is for: the device of the run's user.
    pub(super) fn from_target(target: &RemoteTarget) -> Self {
        Self::new(target.user.clone().unwrap_or_default(), &*target.toolset)
    }

    /// The owner, as the process that holds the device has authenticated them.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// The name, unique among the devices of the owner.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if a device can have this key.
    pub(super) fn is_valid(&self) -> bool {
        is_name(&self.name)
    }

    /// Returns the part of a channel's name that stands for the device.
    pub(super) fn channel_part(&self) -> String {
        format!("{:x}:{}", Sha256::digest(&self.owner), self.name)
    }
}
