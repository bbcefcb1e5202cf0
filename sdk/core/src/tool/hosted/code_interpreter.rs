//! The code interpreter: Python in a container of the provider.

use super::{HostedTool, builder, texts};

/// A tool that runs Python in a container; created by [`HostedTool::code_interpreter`].
#[derive(Clone, Debug, PartialEq)]
pub struct CodeInterpreter(pub(super) HostedTool);

builder!(CodeInterpreter);

impl CodeInterpreter {
    /// Uses this existing container instead of a new one.
    #[must_use]
    pub fn container(self, id: impl Into<String>) -> Self {
        self.set("container", id.into())
    }

    /// Adds these files of the provider to the new container.
    #[must_use]
    pub fn file_ids(self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with_container_option("file_ids", texts(ids))
    }

    /// Sets the memory limit of the new container: `1g`, `4g`, `16g` or `64g`.
    #[must_use]
    pub fn memory_limit(self, limit: impl Into<String>) -> Self {
        self.with_container_option("memory_limit", limit.into())
    }

    fn with_container_option(self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        Self(self.0.with_in("container", "type", "auto").with_in("container", key, value))
    }
}
