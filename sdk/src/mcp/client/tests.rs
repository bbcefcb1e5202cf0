use super::{Given, MAX_LOGGED_CHARS, shown};

#[test]
fn a_question_is_logged_on_one_line_without_what_the_server_was_given() {
    let mut given = Given::default();
    given.remember("sesame-open");
    let message = "Is sesame-open right?\n2026-01-01 ERROR forged\u{1b}[2J\u{202e}";
    assert_eq!(shown(message, &given), "Is [redacted] right?\\n2026-01-01 ERROR forged\\u{1b}[2J\\u{202e}");
}

#[test]
fn a_question_is_logged_as_far_as_a_line_goes() {
    let shown = shown(&"x".repeat(1_000_000), &Given::default());
    assert_eq!(shown, format!("{}..", "x".repeat(MAX_LOGGED_CHARS)));
}
