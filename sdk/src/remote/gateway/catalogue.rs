//! Toolsets by name, by tag and by words.
//!
//! # Design
//! **A registration replaces the one before it**, whichever provider it is from: all providers of a
//! toolset offer the same tools. While a new version is deployed, the registration read last
//! counts, and providers of both versions get calls, so versions of one toolset must be compatible.
//! An incompatible version is a toolset of another name.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    limits::MAX_TOOLSETS,
    search,
    toolset::{RegistrationError, Toolset, shown},
};

/// Toolsets by name: at most 1,000, each within the limits of [`Toolset`]. Copies share the
/// toolsets.
///
/// ```
/// use serde_json::json;
/// use temporal_agents::{remote::gateway::{Catalogue, Toolset}, wire::RemoteTool};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let read = RemoteTool::new("read", "Reads a file.", json!({"type": "object"}));
/// let mut catalogue = Catalogue::default();
/// catalogue.register(Toolset::new("files", "1.2.0").tags(["project"]).tools([read]))?;
/// assert_eq!(catalogue.list(&["project"]).len(), 1);
/// assert_eq!(catalogue.search("READ file")[0].name, "files");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    toolsets: BTreeMap<String, Arc<Toolset>>,
}

impl Catalogue {
    /// Adds a toolset, or replaces that of the same name.
    ///
    /// # Errors
    /// [`RegistrationError`], which names the toolset, the tool, and what to do. The catalogue is
    /// unchanged.
    pub fn register(&mut self, toolset: Toolset) -> Result<(), RegistrationError> {
        toolset.check()?;
        if self.toolsets.len() >= MAX_TOOLSETS && !self.toolsets.contains_key(&toolset.name) {
            let problem = format!("the catalogue has {MAX_TOOLSETS} toolsets, the limit; unregister another one");
            return Err(RegistrationError::Toolset { toolset: shown(&toolset.name), problem });
        }
        self.toolsets.insert(toolset.name.clone(), Arc::new(toolset));
        Ok(())
    }

    /// Removes the toolset of this name; returns `false` if there is none.
    pub fn unregister(&mut self, name: &str) -> bool {
        self.toolsets.remove(name).is_some()
    }

    /// Returns the toolsets that have all these tags, by name. A tag is compared exactly.
    pub fn list(&self, tags: &[&str]) -> Vec<&Toolset> {
        let has = |toolset: &Toolset, tag: &str| toolset.tags.iter().any(|own| own == tag);
        self.toolsets().filter(|toolset| tags.iter().all(|tag| has(toolset, tag))).collect()
    }

    /// Returns the toolset of this name.
    pub fn get(&self, name: &str) -> Option<&Toolset> {
        self.toolsets.get(name).map(|toolset| &**toolset)
    }

    /// Returns the toolsets in which each word of the query is a part of a name, a tag or a
    /// description, of the toolset or of a tool; without regard to case. A query without words
    /// finds all. Words after the 16th are ignored.
    ///
    /// Each word counts by its best place: 8 for the name of the toolset, 4 for that of a tool, 2
    /// for a tag, 1 for a description. The toolset with the greatest sum is first; equal ones are
    /// in the order of their names.
    pub fn search(&self, query: &str) -> Vec<&Toolset> {
        search::ranked(query, self.toolsets())
    }

    /// Returns a shared copy of the toolset of this name.
    pub(super) fn shared(&self, name: &str) -> Option<Arc<Toolset>> {
        self.toolsets.get(name).map(Arc::clone)
    }

    fn toolsets(&self) -> impl Iterator<Item = &Toolset> {
        self.toolsets.values().map(|toolset| &**toolset)
    }
}

#[cfg(test)]
mod tests;
