use super::{cursor, number_of};

#[test]
fn a_cursor_is_that_of_one_task() {
    let of_task = cursor("0123456789abcdef", 7);
    assert_eq!(of_task, "p1.89abcdef.7");
    assert_eq!(number_of(&of_task, "0123456789abcdef"), Ok(Some(7)));
    assert_eq!(number_of(&of_task, "fedcba9876543210"), Ok(None));
}

#[test]
fn other_strings_are_no_cursors() {
    for other in ["", "1.abc.1.0", "p1.", "p1.89abcdef", "p1.89abcdef.x", "p1.89abcdef.-1", "p2.89abcdef.1"] {
        assert!(number_of(other, "0123456789abcdef").is_err(), "{other}");
    }
}
