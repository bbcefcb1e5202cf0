//! Python in a container of the provider.

use super::{HostedTool, builder, texts};

/// Python in a container; made by [`HostedTool::code_interpreter`].
#[derive(Clone, Debug, PartialEq)]
pub struct CodeInterpreter(pub(super) HostedTool);

builder!(CodeInterpreter);

impl CodeInterpreter {
    /// Uses this container, which is there already, instead of a new one.
    #[must_use]
    pub fn container(self, id: impl Into<String>) -> Self {
        self.set("container", id.into())
    }

    /// Puts these files of the provider into the new container.
    #[must_use]
    pub fn file_ids(self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.of_new_container("file_ids", texts(ids))
    }

    /// How much memory the new container has: `1g`, `4g`, `16g` or `64g`.
    #[must_use]
    pub fn memory_limit(self, limit: impl Into<String>) -> Self {
        self.of_new_container("memory_limit", limit.into())
    }

    fn of_new_container(self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        Self(self.0.with_in("container", "type", "auto").with_in("container", key, value))
    }
}
