//! The page as a whole: its files, and the words that they may not have.

use std::{collections::BTreeSet, path::Path};

use super::FILES;

/// Names of the paths of the page, as its own files write them.
fn served() -> BTreeSet<&'static str> {
    FILES.iter().map(|(path, ..)| path.trim_start_matches('/')).collect()
}

#[test]
fn every_file_of_the_page_is_served() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/page");
    let files = std::fs::read_dir(folder).expect("the folder of the page");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a name in UTF-8"));
    let names: BTreeSet<String> =
        names.filter(|name| Path::new(name).extension().is_none_or(|end| end != "rs")).collect();
    let expected: BTreeSet<String> =
        served().into_iter().map(|name| if name.is_empty() { "index.html" } else { name }.to_owned()).collect();
    assert_eq!(names, expected);
}

#[test]
fn the_page_loads_only_files_that_are_served() {
    for (path, _, content) in FILES {
        let marks: &[&str] = if path == "/" { &["src=\"", "href=\""] } else { &["from \"./"] };
        let loads = marks.iter().flat_map(|mark| content.split(mark).skip(1));
        for rest in loads.filter(|rest| !rest.starts_with('#')) {
            let name = rest.split('"').next().unwrap_or_default();
            assert!(served().contains(name), "{path} loads {name:?}");
        }
    }
}

#[test]
fn the_page_makes_no_html_of_text_and_has_no_inline_script() {
    for (path, _, content) in FILES {
        for word in
            ["innerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "new Function", "javascript:"]
        {
            assert!(!content.contains(word), "{path} has {word}");
        }
        assert!(!content.contains("<script>") && !content.contains(" onclick=\""), "{path} has an inline script");
    }
}

#[test]
fn pure_files_touch_no_document() {
    let is_pure = |content: &str| content.contains("Everything in this file is pure.");
    let pure: Vec<_> = FILES.into_iter().filter(|(_, _, content)| is_pure(content)).collect();
    assert!(pure.len() > 4, "{pure:?}");
    for (path, _, content) in pure {
        for word in ["document.", "window.", "fetch(", "\"./dom.js\"", "\"./api.js\""] {
            assert!(!content.contains(word), "{path} has {word}");
        }
    }
}
