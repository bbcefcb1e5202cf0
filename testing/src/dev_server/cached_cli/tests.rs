//! Tests with small text files in place of binaries.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use super::CachedCli;

fn stored(directory: &Path, content: &str) -> CachedCli {
    let cached = CachedCli::new(directory, "1.0.0", None);
    let workspace = cached.workspace().unwrap();
    let fetched = workspace.path().join("temporal");
    fs::write(&fetched, content).unwrap();
    cached.store(&fetched).unwrap();
    cached
}

fn touch(path: &Path) {
    let tomorrow = SystemTime::now() + Duration::from_hours(24);
    fs::File::options().write(true).open(path).unwrap().set_modified(tomorrow).unwrap();
}

#[test]
fn a_stored_binary_is_found_and_nothing_else_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let cached = stored(&directory.path().join("new"), "binary");
    let found = cached.verified().unwrap();
    assert_eq!(fs::read_to_string(&found).unwrap(), "binary");
    assert_eq!(fs::read_dir(found.parent().unwrap()).unwrap().count(), 2);
}

#[test]
fn an_empty_cache_says_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let reason = CachedCli::new(directory.path(), "1.0.0", None).verified().unwrap_err();
    assert!(reason.contains("temporal-1.0.0"), "{reason}");
}

#[test]
fn a_truncated_binary_is_refused_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let cached = stored(directory.path(), "binary");
    fs::write(cached.binary(), "bin").unwrap();
    assert!(cached.verified().unwrap_err().contains("does not match its record"));
    stored(directory.path(), "binary").verified().unwrap();
}

#[test]
fn a_changed_binary_of_the_same_length_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let cached = stored(directory.path(), "binary");
    fs::write(cached.binary(), "yranib").unwrap();
    touch(&cached.binary());
    cached.verified().unwrap_err();
}

#[test]
fn a_binary_with_another_time_but_the_same_content_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let cached = stored(directory.path(), "binary");
    touch(&cached.binary());
    cached.verified().unwrap();
    assert_eq!(cached.read_record().unwrap().modified, super::stamp(&cached.binary()).unwrap().1);
}

#[test]
fn a_binary_without_a_record_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let cached = stored(directory.path(), "binary");
    fs::remove_file(cached.record()).unwrap();
    cached.verified().unwrap_err();
}

#[test]
fn a_binary_whose_record_fits_is_refused_where_another_one_is_pinned() {
    let directory = tempfile::tempdir().unwrap();
    stored(directory.path(), "binary").verified().unwrap();
    let pinned = CachedCli::new(directory.path(), "1.0.0", Some("ba7816bf"));
    let reason = pinned.verified().unwrap_err();
    assert!(reason.ends_with("expected the pinned ba7816bf"), "{reason}");
}

#[test]
fn a_fetched_binary_that_is_not_the_pinned_one_is_not_stored() {
    let directory = tempfile::tempdir().unwrap();
    let pinned = CachedCli::new(directory.path(), "1.0.0", Some("ba7816bf"));
    let workspace = pinned.workspace().unwrap();
    let fetched = workspace.path().join("temporal");
    fs::write(&fetched, "binary").unwrap();
    pinned.store(&fetched).unwrap_err();
    assert!(!pinned.binary().exists());
}
