use serde_json::json;

use super::{code, fenced, quoted};

#[test]
fn every_line_is_quoted() {
    assert_eq!(quoted("one\n\n# two"), "> one\n>\n> # two\n\n");
    assert_eq!(quoted(""), "> *(empty)*\n\n");
}

#[test]
fn backticks_in_a_text_do_not_end_its_code() {
    assert_eq!(code("ls"), "`ls`");
    assert_eq!(code("a `b` c"), "``a `b` c``");
    assert_eq!(code("`b`"), "`` `b` ``");
    assert_eq!(code("two\nlines"), "`two lines`");
    assert_eq!(fenced(&json!("x ``` y")), "````json\n\"x ``` y\"\n````\n\n");
}
