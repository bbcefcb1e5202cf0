//! Tests of hashes.

use std::fs;

use super::sha256;

#[test]
fn the_hash_is_the_known_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("abc");
    fs::write(&path, "abc").unwrap();
    let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(&path).unwrap(), known);
}
