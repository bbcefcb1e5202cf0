//! The activity that finds the toolsets and devices which were selected for a run, when it begins.
//!
//! Its reply is the record of the run: the tools of each of them, as they were then. Nothing asks
//! for them again.

use serde::{Deserialize, Serialize};

use super::{
    toolset::SelectedToolset,
    version::{Versioned, WireVersion},
};

/// Type of the activity that finds toolsets.
pub const FIND_TOOLSETS_ACTIVITY: &str = "agents.find_toolsets";
/// Failure type of a source that cannot be asked now; it is retried.
pub const TOOLSET_SOURCE_ERROR: &str = "ToolsetSourceError";

/// A request to find toolsets by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindToolsetsRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// Their names, each once.
    pub names: Vec<String>,
    /// The user who must own a device; absent = nobody in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// The toolsets that were found. A name that is missing was not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindToolsetsReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The toolsets, in the order of their names in the request.
    pub found: Vec<SelectedToolset>,
}

impl Versioned for FindToolsetsReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
