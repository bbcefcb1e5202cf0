//! The results of replaying many histories.

use std::fmt;

use super::ReplayError;

/// The results of replaying many histories. `Display` writes a line with the counts, and then one
/// line per history that does not replay.
///
/// ```text
/// 2 of 3 histories replay with this build; 1 would break:
/// - chat-7 (run 0198..): turn 1, tool `order` of agent `desk`: the run now fails: ..
/// ```
///
/// [`into_result`](Self::into_result) converts a report with failures to an error, for `?` in a
/// `main` or a test; `Debug` has the same output as `Display`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub struct ReplayReport {
    /// All histories, in the order in which they were listed.
    pub checked: Vec<CheckedHistory>,
}

/// The result of replaying one history.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckedHistory {
    /// The id of the workflow, or the name of the file.
    pub name: String,
    /// The run id of the execution, if the history comes from a server.
    pub run_id: Option<String>,
    /// The result of the replay.
    pub result: Result<(), CheckFailure>,
}

/// The reason for which a history fails the check.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckFailure {
    /// The history does not replay.
    #[error(transparent)]
    Replay(ReplayError),
    /// The history cannot be read: it no longer exists, or the file does not contain one.
    #[error("the history cannot be read: {0}")]
    History(Box<dyn std::error::Error + Send + Sync>),
}

impl ReplayReport {
    /// Returns `true` if all histories replay.
    pub fn is_ok(&self) -> bool {
        self.checked.iter().all(|checked| checked.result.is_ok())
    }

    /// Returns the histories that do not replay, with the reasons.
    pub fn broken(&self) -> impl Iterator<Item = (&CheckedHistory, &CheckFailure)> {
        self.checked.iter().filter_map(|checked| Some((checked, checked.result.as_ref().err()?)))
    }

    /// Returns the report, as an error if a history does not replay.
    ///
    /// # Errors
    /// The report itself.
    pub fn into_result(self) -> Result<Self, Self> {
        if self.is_ok() { Ok(self) } else { Err(self) }
    }
}

impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, broken) = (self.checked.len(), self.broken().count());
        if broken == 0 {
            return write!(f, "all of {all} histories replay with this build");
        }
        write!(f, "{} of {all} histories replay with this build; {broken} would break:", all - broken)?;
        for (CheckedHistory { name, run_id, .. }, failure) in self.broken() {
            let run = run_id.as_ref().map(|run_id| format!(" (run {run_id})")).unwrap_or_default();
            let why = match failure {
                // The SDK's message is useful only if no change explains the failure.
                CheckFailure::Replay(error) => error.change().map_or_else(|| error.to_string(), ToString::to_string),
                CheckFailure::History(_) => failure.to_string(),
            };
            write!(f, "\n- {name}{run}: {why}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
