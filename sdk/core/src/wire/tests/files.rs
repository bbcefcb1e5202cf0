//! Reads golden files, compares with them, writes the missing ones.

use std::{
    fmt::Debug,
    fs,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::wire::WIRE_VERSION;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/wire")
}

/// Compares a value with its golden file, in both directions and byte for byte.
pub(super) fn check<T>(name: &str, built: &T)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let path = root().join(format!("v{WIRE_VERSION}/{name}.json"));
    let written = pretty(built);
    let golden = golden(&path, &written);
    if let Some(difference) = difference(&golden, &written) {
        panic!("{name}: {difference}");
    }
    let read: T = serde_json::from_str(&golden).unwrap_or_else(|error| panic!("{name} cannot be read: {error}"));
    assert_eq!(&read, built, "{name}: what is read is what was written");
    assert_eq!(pretty(&read), golden, "{name}: what is read is written as it was");
}

/// Compares the values of a message, each with its golden file.
pub(super) fn check_all<T>(message: &str, values: &[(&str, T)])
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    for (which, value) in values {
        check(&format!("{message}-{which}"), value);
    }
}

/// Returns the advice and the first line that differs; `None` if the JSON is that of the golden
/// file.
pub(super) fn difference(golden: &str, written: &str) -> Option<String> {
    if golden == written {
        return None;
    }
    let mut golden_lines = golden.lines();
    let mut written_lines = written.lines();
    let mut number = 1;
    let (golden, now) = loop {
        match (golden_lines.next(), written_lines.next()) {
            (Some(golden), Some(now)) if golden == now => number += 1,
            (golden, now) => break (golden.unwrap_or("(the end)"), now.unwrap_or("(the end)")),
        }
    };
    Some(format!(
        "the wire shape changed: bump WIRE_VERSION and add a new golden file, never edit one\n\
         line {number}\n  golden: {golden}\n  now:    {now}"
    ))
}

/// Every golden file of every version.
pub(super) fn every_file() -> Vec<(PathBuf, Value)> {
    let list = |directory: PathBuf| -> Vec<PathBuf> {
        let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
        paths.sort();
        paths
    };
    let files = list(root()).into_iter().flat_map(list);
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, json)
    };
    files.map(read).collect()
}

fn golden(path: &Path, written: &str) -> String {
    if !path.exists() && std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().expect("golden files lie in a directory")).expect("writable");
        fs::write(path, written).expect("writable");
    }
    fs::read_to_string(path).unwrap_or_else(|error| {
        panic!("{}: {error}; UPDATE_GOLDEN=1 writes the golden files of a new version", path.display())
    })
}

fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("messages are JSON");
    text.push('\n');
    text
}
