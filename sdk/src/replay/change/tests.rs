use super::{ReplayChange, issues_in_words};

#[test]
fn a_change_names_turn_tool_and_agent() {
    let change = ReplayChange::new(Some(1), Some("desk"), Some("order"), "it is gone");
    assert_eq!(change.to_string(), "turn 1, tool `order` of agent `desk`: it is gone");
    assert_eq!(ReplayChange::new(Some(2), Some("desk"), None, "x").to_string(), "turn 2, agent `desk`: x");
    assert_eq!(ReplayChange::new(None, None, None, "x").to_string(), "x");
}

#[test]
fn issues_read_as_authors_say_them() {
    let issues = "details: missing, allowed: {\"type\":\"boolean\"}; city: unknown, allowed: [\"town\"]; a.b: fails type, allowed: \"integer\"";
    let expected = "`details` is required; `city` is not a parameter; `a.b` fails type, allowed: \"integer\"";
    assert_eq!(issues_in_words(issues), expected);
}
