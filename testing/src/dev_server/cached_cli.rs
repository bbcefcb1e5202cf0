//! A fetched `temporal` binary in the cache directory, with a record by which it is verified.
//!
//! Beside the binary lies a JSON record of its SHA-256, length and modification time. A binary that
//! matches in length and time is used without a further check (hashing 150 MB at every start would
//! be noticeable); a binary that differs in one of them is hashed again, and used only if the hash
//! matches. So a truncated or replaced copy is detected and fetched again. If the SHA-256 of the
//! version is pinned, a record with a different hash is also refused. This does not protect against
//! a process that can write both files, including length and time: the cache directory must be as
//! private as the home directory, in which it lies by default.
//!
//! Both files are put into place by a rename: processes that fetch at the same time overwrite each
//! other's complete files with equal ones, and no process sees a partial file.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, TempDir};

use crate::child_server::cache::{self, sha256};

/// One version of the CLI in one cache directory, present or absent.
#[derive(Debug)]
pub(super) struct CachedCli {
    directory: PathBuf,
    name: String,
    /// The SHA-256 that the binary must have, if it is known beforehand.
    pinned: Option<&'static str>,
}

/// The recorded properties of the binary.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    sha256: String,
    length: u64,
    /// Modification time in nanoseconds since 1970.
    modified: u64,
}

impl CachedCli {
    pub(super) fn new(directory: &Path, version: &str, pinned: Option<&'static str>) -> Self {
        // Absolute, because programs that run in other directories write to it.
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        Self { directory, name: format!("temporal-{version}"), pinned }
    }

    fn binary(&self) -> PathBuf {
        self.directory.join(format!("{}{}", self.name, std::env::consts::EXE_SUFFIX))
    }

    fn record(&self) -> PathBuf {
        self.directory.join(format!("{}.json", self.name))
    }

    /// Returns the path of the binary if the binary matches its record, and otherwise the reason.
    pub(super) fn verified(&self) -> Result<PathBuf, String> {
        let binary = self.binary();
        let (length, modified) = stamp(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
        let record = self.read_record().map_err(|error| format!("{}: {error}", self.record().display()))?;
        self.check_pin(&record.sha256)?;
        if (record.length, record.modified) == (length, modified) {
            return Ok(binary);
        }
        let unlike = || format!("{} does not match its record", binary.display());
        if record.length != length || sha256(&binary).map_err(|error| error.to_string())? != record.sha256 {
            return Err(unlike());
        }
        let restamped = Record { modified, ..record };
        self.write_record(&restamped).map_err(|error| error.to_string())?;
        Ok(binary)
    }

    fn check_pin(&self, sha256: &str) -> Result<(), String> {
        match self.pinned {
            Some(pinned) if pinned != sha256 => {
                Err(format!("{} has SHA-256 {sha256}, expected the pinned {pinned}", self.binary().display()))
            }
            _ => Ok(()),
        }
    }

    /// Creates an empty directory on the same file system as the cache, for downloads.
    pub(super) fn workspace(&self) -> io::Result<TempDir> {
        cache::workspace(&self.directory)
    }

    /// Moves a binary from the [`workspace`](Self::workspace) to its path and writes its record.
    pub(super) fn store(&self, fetched: &Path) -> io::Result<PathBuf> {
        make_executable(fetched)?;
        let (length, modified) = stamp(fetched)?;
        let record = Record { sha256: sha256(fetched)?, length, modified };
        self.check_pin(&record.sha256).map_err(io::Error::other)?;
        // Moved, not copied: a file that this process had opened for writing could not be run while
        // another child process is forked.
        fs::rename(fetched, self.binary())?;
        self.write_record(&record)?;
        Ok(self.binary())
    }

    fn read_record(&self) -> io::Result<Record> {
        Ok(serde_json::from_slice(&fs::read(self.record())?)?)
    }

    fn write_record(&self, record: &Record) -> io::Result<()> {
        let mut file = NamedTempFile::new_in(&self.directory)?;
        serde_json::to_writer(&mut file, record)?;
        file.persist(self.record())?;
        Ok(())
    }
}

/// Returns the length of a file in bytes and its modification time in nanoseconds since 1970.
fn stamp(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::metadata(path)?;
    let since_epoch = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((metadata.len(), u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)))
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
