use rstest::rstest;
use serde_json::{Value, json};

use super::find_results;
use crate::http::agui::AguiMessage;

fn messages(json: &Value) -> Vec<AguiMessage> {
    serde_json::from_value(json.clone()).expect("messages")
}

fn user() -> Value {
    json!({"role": "user", "content": "hi"})
}

fn calls(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "pick", "arguments": "{}"}});
    json!({"role": "assistant", "toolCalls": ids.iter().map(call).collect::<Vec<_>>()})
}

fn result(call_id: &str, text: &str) -> Value {
    json!({"role": "tool", "toolCallId": call_id, "content": text})
}

/// Returns the results of these questions, as pairs of id and text.
fn found(json: Value, questions: &[&str]) -> Vec<(String, String)> {
    find_results(&messages(&json), questions).into_iter().map(|(id, text)| (id.to_owned(), text)).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
}

#[rstest]
#[case::behind_their_calls(json!([user(), calls(&["c1"]), result("c1", "red"), calls(&["c2"]), result("c2", "blue")]))]
#[case::behind_all_calls(json!([user(), calls(&["c1"]), calls(&["c2"]), result("c2", "blue"), result("c1", "red")]))]
#[case::behind_a_message_of_both(json!([user(), calls(&["c1", "c2"]), result("c1", "red"), result("c2", "blue")]))]
#[case::before_their_calls(json!([result("c2", "blue"), user(), result("c1", "red"), calls(&["c1", "c2"])]))]
#[case::without_their_calls(json!([user(), result("c1", "red"), result("c2", "blue")]))]
#[case::among_others(json!([
    user(), result("x", "foreign"), calls(&["c1"]), result("c1", "red"), calls(&["s"]), result("s", "server"),
    calls(&["c2"]), result("c2", "blue"), {"role": "assistant", "content": "a nested run says"},
]))]
fn results_are_found_wherever_they_stand(#[case] json: Value) {
    assert_eq!(found(json, &["c1", "c2"]), pairs(&[("c1", "red"), ("c2", "blue")]));
}

#[test]
fn the_last_result_of_a_call_counts() {
    let json = json!([user(), calls(&["c1"]), result("c1", ""), result("c1", "red"), result("c1", "blue")]);
    assert_eq!(found(json, &["c1"]), pairs(&[("c1", "blue")]));
}

#[test]
fn a_result_before_a_repeated_call_is_old() {
    let earlier = [user(), calls(&["c1"]), result("c1", "old"), user(), calls(&["c1"])];
    assert_eq!(found(json!(earlier), &["c1#2"]), []);
    let answered: Vec<Value> = earlier.into_iter().chain([result("c1", "new")]).collect();
    assert_eq!(found(json!(answered), &["c1#2"]), pairs(&[("c1#2", "new")]));
}

#[test]
fn results_of_foreign_calls_are_not_used() {
    let json = json!([user(), calls(&["c1"]), result("c11", "a"), result("c", "b"), result("x/c1", "c")]);
    assert_eq!(found(json, &["c1"]), []);
}

#[test]
fn parts_of_a_result_are_one_text() {
    let parts = json!([{"type": "text", "text": "re"}, {"type": "binary"}, {"type": "text", "text": "d"}]);
    let message = json!({"role": "tool", "toolCallId": "c1", "content": parts});
    assert_eq!(found(json!([message]), &["c1"]), pairs(&[("c1", "red")]));
}

#[rstest]
#[case::number("c1#2", "c1")]
#[case::slash("functions~1pick~0", "functions/pick~")]
#[case::nested("o/c1", "c1")]
#[case::nested_with_a_number("o/c1#3", "c1")]
#[case::nested_in_full("o/c1", "o/c1")]
#[case::nested_made_distinct("o/c1", "1-tool-0/c1")]
#[case::nested_with_a_slash("o/f~1c1", "1-tool-0/f/c1")]
#[case::made_distinct("c1", "c1#2")]
fn ids_of_the_stream_name_their_questions(#[case] question: &str, #[case] shown: &str) {
    assert_eq!(found(json!([result(shown, "red")]), &[question]), pairs(&[(question, "red")]));
}

#[rstest]
#[case::of_the_nested_call("1-tool-0/c1", "c1")]
#[case::of_the_outer_call("c1", "c1#2")]
fn calls_of_one_id_have_their_own_results(#[case] nested: &str, #[case] outer: &str) {
    let both = json!([result(outer, "outer"), result(nested, "inner")]);
    assert_eq!(found(both, &["o/c1", "c1"]), pairs(&[("o/c1", "inner"), ("c1", "outer")]));
}

#[test]
fn a_nested_call_does_not_use_an_outer_result() {
    let json = json!([user(), calls(&["c1"]), result("c1", "server"), calls(&["o"]), calls(&["1-tool-1/c1"])]);
    assert_eq!(found(json, &["o/c1"]), []);
}

/// A generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).expect("a small limit")).expect("below a small limit")
    }

    fn shuffle(&mut self, messages: &mut [Value]) {
        for last in (1..messages.len()).rev() {
            messages.swap(last, self.below(last + 1));
        }
    }
}

#[test]
fn any_order_of_messages_has_the_last_results() {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1_000_u64);
    for seed in 1..=seeds {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let ids: Vec<String> = (0..=random.below(4)).map(|number| format!("c{number}")).collect();
        let mut made: Vec<Value> = ids.iter().map(|id| calls(&[id])).collect();
        made.push(json!({"role": "assistant", "content": "wait"}));
        let mut results = vec![result("foreign", "foreign"), json!({"role": "tool", "content": "nameless"})];
        for _ in 0..random.below(8) {
            results.push(result(&ids[random.below(ids.len())], &format!("text {}", random.below(100))));
        }
        // A call that is made again under its id is known by the place of its results.
        let mut json = Vec::new();
        if random.below(2) == 0 {
            let all: Vec<&str> = ids.iter().map(String::as_str).collect();
            json.extend([user(), calls(&all)]);
            json.extend(ids.iter().map(|id| result(id, "old")));
            random.shuffle(&mut made);
            random.shuffle(&mut results);
            json.push(user());
            json.extend(made);
            json.extend(results);
        } else {
            json.extend(made.into_iter().chain(results).chain([user()]));
            random.shuffle(&mut json);
        }
        let last =
            |id: &String| json.iter().rfind(|message| message["toolCallId"] == **id && message["content"] != "old");
        let expected: Vec<_> = ids
            .iter()
            .filter_map(|id| Some((id.clone(), last(id)?["content"].as_str().expect("a text").to_owned())))
            .collect();
        let questions: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(found(json!(json), &questions), expected, "seed {seed}: {json:#?}");
    }
}
