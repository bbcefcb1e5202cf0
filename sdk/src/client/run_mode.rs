//! The mode of runs in the environment.

use std::{env, ffi::OsString, str::FromStr};

use crate::wire::RunMode;

/// Name of the environment variable with the mode.
const VARIABLE: &str = "AGENT_RUNNER_MODE";

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
        Self::of_variable(env::var_os(VARIABLE))
    }

    fn of_variable(value: Option<OsString>) -> Result<Self, UnknownRunMode> {
        match value.filter(|mode| !mode.is_empty()) {
            None => Ok(Self::InProcess),
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
