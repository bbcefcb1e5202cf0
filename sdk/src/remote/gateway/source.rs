//! The catalogue as a source of toolsets that a run selects.

use futures::{FutureExt, future::BoxFuture};
use temporal_agents_core::{
    tool::{BoxError, remote_toolset::DEFAULT_TRANSPORT},
    wire::SelectedToolset,
};

use super::Gateway;
use crate::remote::{ToolsetQuery, ToolsetSource};

impl ToolsetSource for Gateway {
    /// Returns the toolsets that are registered and healthy. Their tools are called over the
    /// transport `streams`.
    fn find<'a>(&'a self, query: &'a ToolsetQuery) -> BoxFuture<'a, Result<Vec<SelectedToolset>, BoxError>> {
        async move {
            let catalogue = self.catalogue();
            let named = query.names.iter().filter_map(|name| catalogue.get(name));
            let healthy = named.filter(|toolset| self.health(&toolset.name).is_ok());
            let selected = |toolset: &super::Toolset| {
                SelectedToolset::of_provider(&*toolset.name, DEFAULT_TRANSPORT, toolset.tools.iter().cloned())
            };
            Ok(healthy.map(selected).collect())
        }
        .boxed()
    }
}
