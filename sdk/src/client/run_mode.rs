//! The mode of runs in settings.

use std::str::FromStr;

use crate::wire::RunMode;

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
