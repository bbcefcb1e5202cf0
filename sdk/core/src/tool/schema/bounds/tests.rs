use rstest::rstest;
use serde_json::{Value, json};

use super::{TooLarge, measure};

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}))
}

#[rstest]
#[case::usual(json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}}))]
#[case::deepest(nested(64))]
#[case::not_a_schema(json!("x"))]
fn a_schema_within_the_bounds_is_taken(#[case] schema: Value) {
    assert_eq!(measure(&schema), Ok(()));
}

#[rstest]
#[case::long("bytes", json!({"description": "x".repeat(70_000)}))]
#[case::deep("levels", nested(65))]
#[case::wide("subschemas", json!({"anyOf": vec![json!({}); 4_001]}))]
#[case::of_references("references", json!({"anyOf": vec![json!({"$ref": "#"}); 1_001]}))]
fn a_schema_beyond_a_bound_is_refused_with_its_name(#[case] expected: &str, #[case] schema: Value) {
    let TooLarge { what, found, most } = measure(&schema).unwrap_err();
    assert_eq!((what, found > most), (expected, true));
}
