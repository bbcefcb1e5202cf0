use serde_json::json;

use super::*;

fn context(value: Value) -> RunContext {
    match value {
        Value::Object(values) => RunContext::new(values),
        _ => unreachable!("tests give objects"),
    }
}

#[test]
fn a_patch_makes_exactly_what_was_set() {
    let mut ctx = context(json!({"cart": {"b": 2, "c": {"d": 1, "e": 2}}, "gone": 1, "kept": true}));
    ctx.set("cart", json!({"a": 1, "c": {"d": 1}})).unwrap();
    ctx.set("gone", Value::Null).unwrap();
    ctx.set("new", json!({"x": null, "y": [null]})).unwrap();
    assert_eq!(
        ctx.values(),
        json!({"cart": {"a": 1, "c": {"d": 1}}, "kept": true, "new": {"y": [null]}}).as_object().unwrap()
    );
    let patch = json!({"cart": {"b": null, "a": 1, "c": {"e": null}}, "gone": null, "new": {"y": [null]}});
    assert_eq!(ctx.patch(), Some(patch));
}

#[test]
fn nothing_set_is_no_patch() {
    assert_eq!(context(json!({"a": 1})).patch(), None);
}
