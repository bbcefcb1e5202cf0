use super::{Cursor, Origin, Position};

fn position(execution: &str, event: i64, index: usize) -> Position {
    Position { execution: execution.to_owned(), event, index }
}

#[test]
fn a_cursor_is_read_as_it_was_written() {
    let workflow = Cursor([(vec![], position("6e1f-a", 12, 3))].into());
    assert_eq!(workflow.to_string(), "1.6e1f-a.12.3");
    assert_eq!(Cursor::parse("1.6e1f-a.12.3"), Ok(workflow.clone()));

    let mut with_children = workflow;
    let of_child = Origin::new("0190c7a2-5d3e-7c4e-a4b9-7a4d0f1c2b3d", 9);
    with_children.0.insert(vec![of_child.clone()], position("77", 0, 0));
    with_children.0.insert(vec![of_child, Origin::new("77", 14)], position("78", 5, 1));
    assert_eq!(with_children.to_string(), "1.6e1f-a.12.3~0f1c2b3d-9.77.0.0~0f1c2b3d-9_77-14.78.5.1");
    assert_eq!(Cursor::parse(&with_children.to_string()), Ok(with_children));
}

#[test]
fn a_string_that_is_not_a_cursor_is_refused_with_a_reason() {
    for (text, reason) in [
        ("", "it has no version"),
        ("2.a.1.0", "it has a version that this release does not read"),
        ("1.a.1", "a position has not three parts"),
        ("1.a.1.0.0", "a position has not three parts"),
        ("1..1.0", "an execution is not a run id"),
        ("1.a/b.1.0", "an execution is not a run id"),
        ("1.a.x.0", "an event is not a number"),
        ("1.a.1.-1", "an index is not a number"),
        ("1.a.1.0~9", "a child has no position"),
        ("1.a.1.0~x.b.1.0", "the origin of a child is not an execution and an event"),
        ("1.a.1.0~abcdefghi-1.b.1.0", "the origin of a child is not an execution and an event"),
    ] {
        assert_eq!(Cursor::parse(text), Err(reason), "{text}");
    }
}
