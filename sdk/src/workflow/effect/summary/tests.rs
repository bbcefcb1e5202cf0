use super::{MAX_SUMMARY_BYTES, one_line};

#[test]
fn a_summary_is_one_line_that_the_server_accepts() {
    assert_eq!(one_line("desk · turn 1".to_owned()), "desk · turn 1");
    assert_eq!(one_line("a\nb\u{0}".to_owned()), "a b ");
    let long = one_line("é".repeat(1_000));
    assert!(long.len() <= MAX_SUMMARY_BYTES && long.ends_with('\u{2026}'), "{long}");
}
