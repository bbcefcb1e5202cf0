//! The place of a run: in workflows of Temporal, or in tasks of processes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The place of a run. JSON: `"temporal"` or `"inprocess"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunMode {
    /// A workflow: it survives its workers.
    Temporal,
    /// A task of a process: a run that waits survives the process, one in progress fails with it.
    InProcess,
}
