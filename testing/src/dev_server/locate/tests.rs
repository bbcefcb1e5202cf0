//! Tests of the search order, with empty files in place of binaries.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::Places;

fn binary(directory: &Path) -> PathBuf {
    let path = directory.join(format!("temporal{}", std::env::consts::EXE_SUFFIX));
    fs::write(&path, "").unwrap();
    #[cfg(unix)]
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    path
}

#[test]
fn the_named_binary_comes_before_path() {
    let (named, on_path) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = binary(named.path());
    binary(on_path.path());
    let places = Places { explicit: Some(expected.clone().into()), path: Some(on_path.path().into()), cache: None };
    assert_eq!(places.search().unwrap(), expected);
}

#[test]
fn a_named_binary_that_is_not_there_is_an_error() {
    let on_path = tempfile::tempdir().unwrap();
    binary(on_path.path());
    let places = Places { explicit: Some("/nowhere/temporal".into()), path: Some(on_path.path().into()), cache: None };
    let error = places.search().unwrap_err();
    assert_eq!(error.tried, ["TEMPORAL_CLI: /nowhere/temporal is not an executable file"]);
}

#[test]
fn the_first_directory_of_path_that_has_it_wins() {
    let directories = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let expected = binary(directories[1].path());
    binary(directories[2].path());
    let places = Places {
        path: Some(std::env::join_paths(directories.iter().map(tempfile::TempDir::path)).unwrap()),
        ..Places::default()
    };
    assert_eq!(places.search().unwrap(), expected);
}

#[test]
fn an_error_says_what_was_tried_and_what_to_do() {
    let error = Places::default().search().unwrap_err();
    assert_eq!(
        error.to_string().replace(".exe", ""),
        "no temporal CLI; tried in this order: TEMPORAL_CLI: not set; PATH: no temporal; \
         cache: no home directory and TEMPORAL_AGENTS_CACHE is not set; \
         set TEMPORAL_CLI to a temporal binary, or install Python with pip"
    );
}
