use super::{Place, Role};

fn place(id: &str) -> Option<(&str, Role)> {
    Place::of(id).map(|place| (place.run, place.role))
}

#[test]
fn an_id_tells_run_turn_and_role() {
    assert_eq!(place("k3x9q2ab-1-model"), Some(("k3x9q2ab", Role::Model { turn: 1 })));
    assert_eq!(place("k3x9q2ab-12-model-full"), Some(("k3x9q2ab", Role::Model { turn: 12 })));
    assert_eq!(place("k3x9q2ab-3-model-definitions"), Some(("k3x9q2ab", Role::Model { turn: 3 })));
    assert_eq!(place("k3x9q2ab-3-model-full-retry-2"), Some(("k3x9q2ab", Role::Model { turn: 3 })));
    assert_eq!(place("k3x9q2ab-2-tool-0-asked-1-retry-12"), Some(("k3x9q2ab", Role::Tool { turn: 2, index: 0 })));
    assert_eq!(place("k3x9q2ab-2-tool-0"), Some(("k3x9q2ab", Role::Tool { turn: 2, index: 0 })));
    assert_eq!(place("k3x9q2ab-1-tool-0-3-model"), Some(("k3x9q2ab-1-tool-0", Role::Model { turn: 3 })));
    assert_eq!(place("k3x9q2ab-1-tool-0-3-tool-1"), Some(("k3x9q2ab-1-tool-0", Role::Tool { turn: 3, index: 1 })));
    assert_eq!(place("k3x9q2ab-4-summary"), Some(("k3x9q2ab-4-summary", Role::Model { turn: 4 })));
    let listing = Some(("k3x9q2ab", Role::McpList { turn: 2 }));
    assert_eq!(place("k3x9q2ab-2-mcp-0"), listing);
    assert_eq!(place("k3x9q2ab-2-resume-mcp-1-again-1-retry-2"), listing);
    assert_eq!(place("k3x9q2ab-mcp-session-0"), Some(("k3x9q2ab", Role::Aside)));
    assert_eq!(place("k3x9q2ab-session-0"), Some(("k3x9q2ab", Role::Aside)));
    assert_eq!(place("k3x9q2ab-session-0-1"), Some(("k3x9q2ab", Role::Aside)));
    assert_eq!(place("k3x9q2ab-input-guardrail-2"), Some(("k3x9q2ab", Role::Aside)));
    assert_eq!(place("k3x9q2ab-input-guardrail-3-0-1-1"), Some(("k3x9q2ab", Role::Aside)));
    assert_eq!(place("k3x9q2ab-output-guardrail-3-0-1"), Some(("k3x9q2ab", Role::Aside)));
    let judge = "k3x9q2ab-output-guardrail-3-0-1";
    assert_eq!(place("k3x9q2ab-output-guardrail-3-0-1-2-model"), Some((judge, Role::Model { turn: 2 })));
    assert_eq!(Place::parent(judge), Some("k3x9q2ab"));
    assert_eq!(
        place("k3x9q2ab-input-guardrail-1-1-model"),
        Some(("k3x9q2ab-input-guardrail-1", Role::Model { turn: 1 }))
    );
}

#[test]
fn an_id_of_another_kind_has_no_place() {
    for id in ["", "1", "model", "my-activity", "k3x9q2ab-x-model", "k3x9q2ab-1-tool-x", "invoice-7"] {
        assert_eq!(place(id), None, "{id}");
    }
}

#[test]
fn a_run_inside_a_run_knows_its_parent() {
    assert_eq!(Place::parent("k3x9q2ab"), None);
    assert_eq!(Place::parent("k3x9q2ab-1-tool-0"), Some("k3x9q2ab"));
    assert_eq!(Place::parent("k3x9q2ab-1-tool-0-2-tool-1"), Some("k3x9q2ab-1-tool-0"));
    assert_eq!(Place::parent("k3x9q2ab-4-summary"), Some("k3x9q2ab"));
    assert_eq!(Place::parent("k3x9q2ab-output-guardrail-1"), Some("k3x9q2ab"));
}
