//! The place of a run: in workflows of Temporal, or in tasks of processes.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The place of a run. JSON: `"temporal"` or `"inprocess"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunMode {
    /// A workflow: it survives its workers.
    Temporal,
    /// A task of a process: a run that waits survives the process, one in progress fails with it.
    InProcess,
}

/// A mode that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a mode of runs; write \"temporal\" or \"inprocess\"")]
pub struct UnknownRunMode(String);

impl FromStr for RunMode {
    type Err = UnknownRunMode;

    fn from_str(mode: &str) -> Result<Self, UnknownRunMode> {
        match mode {
            "temporal" => Ok(Self::Temporal),
            "inprocess" => Ok(Self::InProcess),
            other => Err(UnknownRunMode(other.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_by_their_names() {
        assert_eq!("temporal".parse(), Ok(RunMode::Temporal));
        assert_eq!("inprocess".parse(), Ok(RunMode::InProcess));
        let unknown = "Temporal".parse::<RunMode>().expect_err("names are lowercase").to_string();
        assert_eq!(unknown, "\"Temporal\" is not a mode of runs; write \"temporal\" or \"inprocess\"");
    }
}
