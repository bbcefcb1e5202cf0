//! The cache directory of fetched programs, and the hashes by which files are verified.
//!
//! The cache is `$TEMPORAL_AGENTS_CACHE`, or `temporal-agents` in the user's cache directory. It
//! must be as private as the home directory, in which it lies by default.

use std::{
    env::{self, consts},
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// The reason for which there is no cache.
pub(crate) const NO_CACHE: &str = "no home directory and TEMPORAL_AGENTS_CACHE is not set";

/// Returns the directory for fetched programs; `None` without a home directory.
pub(crate) fn directory() -> Option<PathBuf> {
    if let Some(chosen) = set("TEMPORAL_AGENTS_CACHE") {
        return std::path::absolute(chosen).ok();
    }
    let user_cache = match consts::OS {
        "windows" => set("LOCALAPPDATA").map(PathBuf::from),
        "macos" => env::home_dir().map(|home| home.join("Library/Caches")),
        _ => set("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|directory| directory.is_absolute())
            .or_else(|| env::home_dir().map(|home| home.join(".cache"))),
    };
    user_cache.map(|directory| directory.join("temporal-agents"))
}

/// Creates an empty directory in the cache, on the same file system, for downloads.
pub(crate) fn workspace(cache: &Path) -> io::Result<TempDir> {
    fs::create_dir_all(cache)?;
    TempDir::with_prefix_in("fetching-", cache)
}

/// Returns the value of a variable that is set and not empty.
pub(crate) fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the lowercase hexadecimal SHA-256 of a file.
pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    let mut hasher = HashWriter(Sha256::new());
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(format!("{:x}", hasher.0.finalize()))
}

/// Passes all bytes written to it to the hash; `sha2` implements this only with its `std` feature.
struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
