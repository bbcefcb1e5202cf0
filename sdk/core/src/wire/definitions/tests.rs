use serde_json::json;

use super::*;

fn definitions(instructions: &str, schema: Value) -> Definitions {
    let output = OutputSpec { name: "report".to_owned(), schema: schema.into(), strict: true };
    Definitions { instructions: Some(instructions.to_owned()), output: Some(output), ..Definitions::default() }
}

fn digested(definitions: &Definitions) -> Digest {
    Digest::of_value(&json!(definitions))
}

#[test]
fn a_digest_that_is_remembered_is_the_one_of_these_definitions() {
    let (schema, other) = (json!({"type": "object", "title": "a"}), json!({"type": "object", "title": "b"}));
    // More definitions than are cached, twice, so that they are found, forgotten and computed
    // again.
    let texts: Vec<String> = (0..MAX_CACHED_DIGESTS + 3).map(|number| format!("instructions {number}")).collect();
    for text in texts.iter().chain(texts.iter().rev()) {
        for schema in [&schema, &other, &schema] {
            let definitions = definitions(text, schema.clone());
            assert_eq!(definitions.digest(), digested(&definitions));
        }
    }
    assert_eq!(DIGEST_CACHE.with_borrow(Vec::len), MAX_CACHED_DIGESTS);
}

#[test]
fn the_order_of_members_is_not_in_the_digest() {
    let schema: Value = serde_json::from_str(r#"{"title": "a", "type": "object"}"#).expect("JSON");
    let turned: Value = serde_json::from_str(r#"{"type": "object", "title": "a"}"#).expect("JSON");
    assert_eq!(definitions("x", schema).digest(), digested(&definitions("x", turned)));
}

#[test]
fn long_instructions_are_digested_and_not_kept() {
    let long = definitions(&"x".repeat(MAX_CACHED_INSTRUCTIONS_BYTES + 1), json!({}));
    assert_eq!(long.digest(), digested(&long));
    assert_eq!(DIGEST_CACHE.with_borrow(Vec::len), 0);
}
