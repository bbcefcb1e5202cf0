//! Tests of the record; fetching is left to the first start of a server.

use std::fs;

use super::{record, verify};

#[test]
fn an_installation_matches_its_record_until_a_file_is_cut_or_missing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("lib")).unwrap();
    fs::write(root.join("lib/a.so"), "library").unwrap();
    record(root, "bin", "abc").unwrap();
    verify(root, "abc").unwrap();
    assert!(verify(root, "def").unwrap_err().contains("another wheel"));
    fs::write(root.join("lib/a.so"), "lib").unwrap();
    assert!(verify(root, "abc").unwrap_err().contains("a.so does not match its record"));
    fs::remove_file(root.join("lib/a.so")).unwrap();
    assert!(verify(root, "abc").unwrap_err().contains("a.so does not match its record"));
}
