//! Where runs are: in workflows of Temporal, or in tasks of processes.

use std::{env, str::FromStr};

use serde::{Deserialize, Serialize};

/// Name of the environment variable with the mode.
const VARIABLE: &str = "AGENT_RUNNER_MODE";

/// The place of a run. JSON and `AGENT_RUNNER_MODE`: `"temporal"` or `"inprocess"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunMode {
    /// A workflow: it survives its workers.
    Temporal,
    /// A task of the process that starts it: it fails with that process.
    #[default]
    InProcess,
}

/// A mode that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE} is {0:?}; it may be \"temporal\" or \"inprocess\"")]
pub struct UnknownRunMode(String);

impl RunMode {
    /// Reads the mode from the environment variable `AGENT_RUNNER_MODE`. Without it, or if it is
    /// empty, the mode is [`InProcess`](Self::InProcess).
    ///
    /// # Errors
    /// The variable has another value.
    pub fn from_env() -> Result<Self, UnknownRunMode> {
        match env::var_os(VARIABLE).filter(|mode| !mode.is_empty()) {
            None => Ok(Self::default()),
            Some(mode) => mode.to_string_lossy().parse(),
        }
    }
}

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
mod tests;
