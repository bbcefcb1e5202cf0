use serde_json::json;

use super::{code, fenced, plain, quoted};

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

#[test]
fn links_images_and_html_in_a_quotation_are_shown_and_load_nothing() {
    assert_eq!(quoted("see [the docs](http://evil)"), "> see [the docs\\](http://evil)\n\n");
    assert_eq!(quoted("![x](http://evil/?q=1)"), "> \\![x\\](http://evil/?q=1)\n\n");
    assert_eq!(quoted("[x][y]\n[y]: http://evil"), "> [x\\][y]\n> [y\\]: http://evil\n\n");
    assert_eq!(quoted("<img src=x> </p> <!-- 1 < 2"), "> \\<img src=x> \\</p> \\<!-- 1 < 2\n\n");
    assert_eq!(quoted("\\![x] \\\\![x]"), "> \\![x] \\\\\\![x]\n\n");
    assert_eq!(quoted("**bold** and `code`, a[0]"), "> **bold** and `code`, a[0]\n\n");
}

#[test]
fn a_carriage_return_does_not_lead_out_of_a_quotation() {
    assert_eq!(quoted("one\r# two\r\nthree"), "> one\n> # two\n> three\n\n");
}

#[test]
fn names_and_reasons_are_no_markdown() {
    assert_eq!(plain("find_book"), "find_book");
    assert_eq!(plain("x** [a](http://evil) `b"), "x\\*\\* \\[a\\](http://evil) \\`b");
    assert_eq!(plain("one\n# two\u{1b}[31m"), "one \\# two \\[31m");
}
