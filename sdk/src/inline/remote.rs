//! The remote tools of a run without Temporal.

use temporal_agents_core::{
    drive::{ToolEffect, ToolEffectError},
    tool::{ActivityBody, RemoteBinding},
};

use crate::resources::Resources;

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
        if let Some(transport) = self.transports.get(binding.transport()) {
            return Ok(transport.body(target));
        }
        let transport = binding.transport();
        let message = format!(
            "there is no transport {transport:?} of remote tools; add it with Resources::named_tool_streams(..)"
        );
        Err(ToolEffectError::Host(message.into()))
    }
}
