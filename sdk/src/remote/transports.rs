//! The transports of remote tools that a process has, by name.

use std::{collections::BTreeMap, sync::Arc};

use super::transport::Streams;

/// The transports of a process, by name.
#[derive(Clone, Default)]
pub(crate) struct ToolTransports(BTreeMap<String, Arc<dyn Streams>>);

impl ToolTransports {
    pub(crate) fn add(&mut self, name: String, streams: Arc<dyn Streams>) {
        self.0.insert(name, streams);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn Streams>> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Arc<dyn Streams>)> {
        self.0.iter().map(|(name, streams)| (&**name, streams))
    }
}
