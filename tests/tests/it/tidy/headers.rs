//! Every file says first what it is.

use super::{read, sources};

#[test]
fn every_file_starts_with_its_header() {
    let mut without = Vec::new();
    for directory in ["sdk/src", "sdk/core/src", "macros/src", "testing/src", "examples/src"] {
        for file in sources(directory) {
            if !read(directory, &file).starts_with("//! ") {
                without.push(format!("{directory}/{}", file.display()));
            }
        }
    }
    assert!(without.is_empty(), "no `//!` header on the first line:\n{}", without.join("\n"));
}
