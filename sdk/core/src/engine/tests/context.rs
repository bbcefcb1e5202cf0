//! The values that a run carries beside its conversation: the run context and the results of
//! `patched`.

use rstest::rstest;

use super::*;

fn with_context(context: Value, patches: &[Value]) -> Value {
    let Value::Object(context) = context else { panic!("a context is an object") };
    let mut run = ByHand::begin(Beginning { context, ..beginning() }, Rules::default());
    let calls: Vec<Item> = (0..patches.len()).map(|index| call(&format!("c{index}"), "weather", "{}")).collect();
    run.turn(setup(), calls).unwrap();
    let done = |(index, patch): (usize, &Value)| ToolOutcome {
        context_patch: Some(patch.clone()),
        ..outcome(index, CallResult::Output("done".into()))
    };
    let outcomes = patches.iter().enumerate().map(done).collect();
    run.resolve(Resolution::ToolsRan(outcomes)).unwrap();
    Value::Object(run.engine.into_state().context)
}

// The examples of RFC 7396, appendix A, with an object as the target: the run context always is
// one.
#[rstest]
#[case(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}))]
#[case(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}))]
#[case(json!({"a": "b"}), json!({"a": null}), json!({}))]
#[case(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}))]
#[case(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}))]
#[case(json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]}))]
#[case(json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}}))]
#[case(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}))]
#[case(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}))]
#[case(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}))]
#[case::no_object(json!({"a": "b"}), json!(["c"]), json!({"a": "b"}))]
#[case::null(json!({"a": "b"}), json!(null), json!({"a": "b"}))]
fn a_patch_is_a_json_merge_patch(#[case] context: Value, #[case] patch: Value, #[case] result: Value) {
    assert_eq!(with_context(context, &[patch]), result);
}

#[test]
fn patches_apply_in_call_order() {
    let patches = [json!({"last": 1, "first": 1}), json!({"last": 2}), json!({"last": 3})];
    assert_eq!(with_context(json!({}), &patches), json!({"last": 3, "first": 1}));
}

#[test]
fn keys_keep_their_places() {
    let context = with_context(json!({"b": 1, "a": {"y": 1, "x": 1}}), &[json!({"c": 1, "a": {"y": 2}, "b": 2})]);
    assert_eq!(context.to_string(), r#"{"b":2,"a":{"y":2,"x":1},"c":1}"#);
}

#[test]
fn patched_is_asked_once_and_its_answer_is_part_of_the_state() {
    let mut run = ByHand::start();
    assert!(!run.engine.patched("corrected-rule", || false));
    run.prepare(setup());
    assert!(!run.engine.patched("corrected-rule", || panic!("it was asked before")));
    assert!(run.engine.patched("another-rule", || true));
}
