//! The remote tools of a run without Temporal.

use crate::{
    drive::{ToolEffect, ToolEffectError},
    remote,
    resources::Resources,
    tool::{ActivityBody, RemoteBinding},
};

impl Resources {
    /// Returns the body that runs a call of a remote tool.
    ///
    /// # Errors
    /// [`ToolEffectError::Host`] if there is no such transport.
    pub(super) fn remote_body(
        &self,
        binding: &RemoteBinding,
        call: &ToolEffect<'_>,
    ) -> Result<ActivityBody, ToolEffectError> {
        let target = call.remote.clone().expect("the call of a remote tool has its target");
        match self.transports.get(binding.transport()) {
            Some(streams) => Ok(remote::body(streams, target)),
            None => {
                let message = format!(
                    "there is no transport {:?} of remote tools; add it with Resources::named_tool_streams(..)",
                    binding.transport()
                );
                Err(ToolEffectError::Host(message.into()))
            }
        }
    }
}
