//! Sources of the toolsets and devices that can be selected for a run.

use std::{collections::BTreeSet, fmt, sync::Arc};

use futures::future::BoxFuture;
use temporal_agents_core::{tool::BoxError, wire::SelectedToolset};

/// Finds the toolsets and devices that are selected for a run, when it begins.
///
/// It may read a database or ask a broker: in a workflow it is called in an activity, whose reply
/// is the record of the run.
pub trait ToolsetSource: Send + Sync + 'static {
    /// Returns those of the toolsets that are there: registered, or connected and owned by the
    /// user. It leaves out the others, also those that it does not know.
    ///
    /// # Errors
    /// The source cannot be asked now; a run asks again.
    fn find<'a>(&'a self, query: &'a ToolsetQuery) -> BoxFuture<'a, Result<Vec<SelectedToolset>, BoxError>>;
}

/// The toolsets that a run asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolsetQuery {
    /// Their names, each once.
    pub names: Vec<String>,
    /// The user for whom the run works; `None` = nobody in particular, who owns no device.
    pub user: Option<String>,
}

impl ToolsetQuery {
    /// Creates a query.
    pub fn new(names: Vec<String>, user: Option<String>) -> Self {
        Self { names, user }
    }
}

/// The sources of a process.
#[derive(Clone, Default)]
pub(crate) struct ToolsetSources(Vec<Arc<dyn ToolsetSource>>);

impl ToolsetSources {
    pub(crate) fn add(&mut self, source: impl ToolsetSource) {
        self.0.push(Arc::new(source));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks the sources one after another, each for what the ones before did not have. The toolsets
    /// are in the order of their names in the query.
    ///
    /// # Errors
    /// That of the first source that fails, or that there is none.
    pub(crate) async fn find(&self, query: &ToolsetQuery) -> Result<Vec<SelectedToolset>, BoxError> {
        if self.is_empty() {
            return Err("there is no source of toolsets; add one with Resources::toolset_source(..)".into());
        }
        let mut found: Vec<SelectedToolset> = Vec::new();
        for source in &self.0 {
            let known: BTreeSet<&str> = found.iter().map(|toolset| &*toolset.name).collect();
            let missing: Vec<String> = query.names.iter().filter(|name| !known.contains(&***name)).cloned().collect();
            if missing.is_empty() {
                break;
            }
            let asked = ToolsetQuery { names: missing, user: query.user.clone() };
            let of_source = source.find(&asked).await?;
            found.extend(of_source.into_iter().filter(|toolset| asked.names.contains(&toolset.name)));
        }
        found.sort_by_key(|toolset| query.names.iter().position(|name| *name == toolset.name));
        found.dedup_by(|later, earlier| later.name == earlier.name);
        Ok(found)
    }
}

impl fmt::Debug for ToolsetSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolsetSources").field(&self.0.len()).finish()
    }
}
