use std::sync::{Arc, Mutex};

use rstest::rstest;
use serde_json::json;

use super::*;

/// Reads the deltas of a message; returns the message and the deltas.
fn read(deltas: Value) -> (Value, Vec<ModelDelta>) {
    let sent: Arc<Mutex<Vec<ModelDelta>>> = Arc::default();
    let sink = Arc::clone(&sent);
    let handle = ModelDeltas::new(move |delta| sink.lock().expect("not poisoned").push(delta));
    let mut chunks = ChatChunks::new(Layout::Joined);
    for delta in deltas.as_array().expect("a list") {
        let chunk = json!({"id": "c1", "choices": [{"index": 0, "delta": delta}]});
        chunks.read("", &chunk.to_string(), &handle).expect("a chunk");
    }
    chunks.read("", DONE, &handle).expect("the end");
    let body = Value::Object(chunks.body().expect("a body"));
    let sent = std::mem::take(&mut *sent.lock().expect("not poisoned"));
    (body["choices"][0]["message"].clone(), sent)
}

fn message(deltas: Value) -> Value {
    read(deltas).0
}

fn text(index: u32, delta: &str) -> ModelDelta {
    ModelDelta::Text { index, delta: delta.to_owned() }
}

fn part(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
}

/// The id, name and arguments of each call.
fn calls(parts: &[Value]) -> Vec<(Value, Value, Value)> {
    let deltas: Vec<Value> = parts.iter().map(|part| json!({"tool_calls": [part]})).collect();
    let message = message(Value::Array(deltas));
    let calls = message["tool_calls"].as_array().expect("calls");
    let parts =
        |call: &Value| (call["id"].clone(), call["function"]["name"].clone(), call["function"]["arguments"].clone());
    calls.iter().map(parts).collect()
}

#[rstest]
#[case::by_index(
    &[
        part(Some(0), Some("a"), Some("f"), ""),
        part(Some(1), Some("b"), Some("g"), "{}"),
        part(Some(0), None, None, "{}"),
    ],
    &[("a", "f", "{}"), ("b", "g", "{}")]
)]
#[case::whole_calls_without_an_index(
    &[part(None, Some("a"), Some("f"), "{}"), part(None, Some("b"), Some("f"), "{}")],
    &[("a", "f", "{}"), ("b", "f", "{}")]
)]
#[case::parts_without_an_index(
    &[
        part(None, Some("a"), Some("f"), "{"),
        part(None, None, None, "}"),
        part(None, Some("b"), Some("g"), "{"),
        part(None, Some("a"), None, "!"),
        part(None, Some("b"), None, "}"),
    ],
    &[("a", "f", "{}!"), ("b", "g", "{}")]
)]
#[case::one_index_for_all(
    &[
        part(Some(0), Some("a"), Some("f"), "{"),
        part(Some(0), None, None, "}"),
        part(Some(0), Some("b"), Some("f"), "{"),
        part(Some(0), None, None, "}"),
    ],
    &[("a", "f", "{}"), ("b", "f", "{}")]
)]
#[case::an_id_for_each_part(
    &[part(Some(0), Some("a"), Some("f"), "{"), part(Some(0), Some("b"), None, "}")],
    &[("a", "f", "{}")]
)]
#[case::a_name_in_each_part(
    &[
        part(Some(0), Some("a"), Some("f"), "{"),
        part(Some(0), Some("a"), Some("f"), "}"),
        part(Some(0), None, Some(""), ""),
    ],
    &[("a", "f", "{}")]
)]
#[case::a_name_in_parts(
    &[part(Some(0), Some("a"), Some("get_"), ""), part(Some(0), None, Some("time"), "{}")],
    &[("a", "get_time", "{}")]
)]
#[case::one_index_and_no_id_for_whole_calls(
    &[part(Some(0), Some(""), Some("f"), "{\"a\":\"}\"}"), part(Some(0), Some(""), Some("g"), "{}")],
    &[("", "f", "{\"a\":\"}\"}"), ("", "g", "{}")]
)]
#[case::one_index_and_one_id_for_all(
    &[
        part(Some(0), Some("a"), Some("f"), "{\"b\":"),
        part(Some(0), Some("a"), Some("f"), "{}}"),
        part(Some(0), Some("a"), Some("f"), " "),
        part(Some(0), Some("a"), Some("f"), "{}"),
    ],
    &[("a", "f", "{\"b\":{}} "), ("a", "f", "{}")]
)]
#[case::one_index_with_the_name_first(
    &[
        part(Some(0), Some(""), Some("f"), "{}"),
        part(Some(0), Some(""), Some("g"), ""),
        part(Some(0), None, None, "{}"),
    ],
    &[("", "f", "{}"), ("", "g", "{}")]
)]
#[case::equal_calls_of_one_index(
    &[part(Some(0), Some(""), Some("f"), "{}"), part(Some(0), Some(""), Some("f"), "{}")],
    &[("", "f", "{}"), ("", "f", "{}")]
)]
#[case::a_call_repeated_at_its_end(
    &[
        part(Some(0), Some("a"), Some("f"), "{"),
        part(Some(0), None, None, "}"),
        part(Some(0), None, Some("f"), "{}"),
    ],
    &[("a", "f", "{}")]
)]
#[case::one_id_without_an_index(
    &[
        part(None, Some("a"), Some("f"), "{}"),
        part(None, Some("a"), Some("g"), "{"),
        part(None, Some("a"), None, "}"),
    ],
    &[("a", "f", "{}"), ("a", "g", "{}")]
)]
#[case::in_the_order_of_the_index(
    &[part(Some(1), Some("b"), Some("g"), "{}"), part(Some(0), Some("a"), Some("f"), "{}")],
    &[("a", "f", "{}"), ("b", "g", "{}")]
)]
fn the_parts_of_calls_are_joined(#[case] parts: &[Value], #[case] expected: &[(&str, &str, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(id, name, arguments)| (json!(id), json!(name), json!(arguments))).collect();
    assert_eq!(calls(parts), expected);
}

#[test]
fn arguments_that_are_no_string_stay_what_they_are() {
    let whole = json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}});
    let (message, deltas) = read(json!([{"tool_calls": [whole]}]));
    let expected = json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]);
    assert_eq!(message["tool_calls"], expected);
    assert!(matches!(&deltas[..], [ModelDelta::ToolArguments { delta, .. }] if delta == "{\"a\":1}"), "{deltas:?}");
}

#[test]
fn deltas_have_the_positions_of_the_items() {
    let call =
        |index, arguments: &str| json!([part(Some(index), arguments.is_empty().then_some("a"), Some("f"), arguments)]);
    let (_, deltas) = read(json!([
        {"reasoning_content": "hm"}, {"content": "hi"}, {"reasoning_content": "!"},
        {"tool_calls": call(0, "")}, {"tool_calls": call(0, "{}")}, {"content": "more"}, {"tool_calls": call(1, "1")},
    ]));
    let arguments = |index, call_id: Option<&str>, delta: &str| ModelDelta::ToolArguments {
        index,
        call_id: call_id.map(str::to_owned),
        name: Some("f".to_owned()),
        delta: delta.to_owned(),
    };
    let reasoning = |delta: &str| ModelDelta::Reasoning { index: 0, delta: delta.to_owned() };
    assert_eq!(
        deltas,
        [
            reasoning("hm"),
            text(0, "hi"),
            reasoning("!"),
            arguments(1, Some("a"), "{}"),
            text(0, "more"),
            arguments(2, None, "1"),
        ]
    );
}

#[rstest]
#[case::text(json!({"content": "late"}))]
#[case::reasoning(json!({"reasoning_content": "late"}))]
#[case::a_member_of_the_server(json!({"mood": "calm"}))]
fn an_item_that_begins_before_a_call_ends_the_deltas(#[case] late: Value) {
    let call = |arguments: &str| json!([part(Some(0), Some("a"), Some("f"), arguments)]);
    let (message, deltas) = read(json!([
        {"role": "assistant", "content": ""},
        {"tool_calls": call("{")},
        late,
        {"content": "more"},
        {"tool_calls": call("}")},
    ]));
    assert_eq!(deltas.len(), 1, "{deltas:?}");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn a_call_whose_predecessors_may_still_begin_has_no_deltas() {
    let begin = |index| part(Some(index), Some("a"), Some("f"), "{}");
    let (_, deltas) = read(json!([{"tool_calls": [begin(1)]}, {"tool_calls": [begin(0)]}]));
    assert!(matches!(&deltas[..], [ModelDelta::ToolArguments { index: 0, .. }]), "{deltas:?}");
}

#[rstest]
#[case::strings(json!([{"x": "a"}, {"x": "b"}]), json!({"x": "ab"}))]
#[case::null(json!([{"x": null}, {"x": "b"}, {"x": null}]), json!({"x": "b"}))]
#[case::empty(json!([{"x": "", "content": ""}]), json!({"content": ""}))]
#[case::whole_strings(json!([{"role": "user"}, {"role": "user"}, {"role": ""}]), json!({"role": "user"}))]
#[case::objects(
    json!([{"x": {"a": "1", "type": "t"}}, {"x": {"a": "2", "type": "t"}}]),
    json!({"x": {"a": "12", "type": "t"}})
)]
#[case::lists_by_index(
    json!([{"x": [{"index": 0, "t": "a"}]}, {"x": [{"index": 1, "t": "b"}, {"index": 0, "t": "c"}]}]),
    json!({"x": [{"index": 0, "t": "ac"}, {"index": 1, "t": "b"}]})
)]
#[case::lists_without_an_index(json!([{"x": [{"a": 1}]}, {"x": [{"a": 1}]}]), json!({"x": [{"a": 1}, {"a": 1}]}))]
#[case::numbers(json!([{"x": 1}, {"x": 2}]), json!({"x": 2}))]
#[case::content_of_both_kinds(
    json!([
        {"content": "a"},
        {"content": [{"type": "text", "text": "b"}, {"type": "image", "url": "u"}]},
        {"content": "c"},
        {"content": []},
    ]),
    json!({"content": [{"type": "text", "text": "ab"}, {"type": "image", "url": "u"}, {"type": "text", "text": "c"}]})
)]
fn members_are_merged(#[case] deltas: Value, #[case] expected: Value) {
    assert_eq!(message(deltas), expected);
}

#[test]
fn a_stream_is_whole_with_its_end_or_a_reason_to_finish() {
    let silent = ModelDeltas::new(drop);
    let read = |chunks: &[&str]| {
        let mut reading = ChatChunks::new(Layout::Joined);
        for chunk in chunks {
            reading.read("", chunk, &silent).expect("a chunk");
        }
        reading.body().map(Value::Object)
    };
    let unfinished = r#"{"choices": [{"delta": {"content": "a"}, "finish_reason": null}]}"#;
    let finished = r#"{"choices": [{"delta": {}, "finish_reason": "stop"}]}"#;
    assert_eq!(read(&[unfinished]), None);
    assert!(read(&[unfinished, finished]).is_some());
    assert!(read(&[unfinished, " [DONE]"]).is_some());
    assert_eq!(read(&["[DONE]"]), Some(json!({})));
    assert_eq!(read(&[]), None);
}

#[test]
fn what_is_kept_is_counted() {
    let mut reading = ChatChunks::new(Layout::Joined);
    let text = "x".repeat(1000);
    let chunk = json!({
        "model": "m",
        "choices": [{"index": 0, "delta": {
            "content": text, "y": [text], "tool_calls": [{"index": 0, "function": {"arguments": text}}],
        }, "logprobs": {"content": [text]}}],
    });
    for round in 1..=100 {
        reading.read("", &chunk.to_string(), &ModelDeltas::new(drop)).expect("a chunk");
        assert!((round * 4000..round * 4200 + 1200).contains(&reading.kept()), "{}", reading.kept());
    }
}

#[rstest]
#[case::calls(|round| part(Some(round), None, None, ""), 1_000)]
#[case::parts(|_| part(Some(0), None, None, "{"), 64)]
#[case::members(|round| json!({"index": 0, (format!("m{round}")): [1, 2, 3, 4, 5, 6, 7, 8]}), 256)]
fn what_a_small_part_of_a_call_takes_is_counted(#[case] part: fn(u64) -> Value, #[case] bytes: usize) {
    let mut reading = ChatChunks::new(Layout::Joined);
    for round in 0..1_000 {
        let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [part(round)]}}]});
        reading.read("", &chunk.to_string(), &ModelDeltas::new(drop)).expect("a chunk");
    }
    assert!(reading.kept() >= 1_000 * bytes, "{}", reading.kept());
}

#[test]
fn empty_reason_to_finish_is_no_end() {
    let deltas = ModelDeltas::new(drop);
    let read = |reasons: &[&str]| {
        let mut chunks = ChatChunks::new(Layout::Joined);
        for reason in reasons {
            let chunk = json!({"choices": [{"index": 0, "delta": {"content": "1"}, "finish_reason": reason}]});
            chunks.read("", &chunk.to_string(), &deltas).expect("a chunk");
        }
        chunks.body().map(|body| body["choices"][0]["finish_reason"].clone())
    };
    assert_eq!(read(&["", ""]), None);
    assert_eq!(read(&["", "stop", ""]), Some(json!("stop")));
}

/// How a server tells the parts of parallel calls apart.
#[derive(Clone, Copy, Debug)]
enum Numbering {
    /// An index, and an id in the first part.
    Index,
    /// An index only.
    IndexWithoutIds,
    /// Whole calls of the index 0, with one id for all.
    OneIndex,
    /// An id in each part.
    Ids,
}

/// The parts of calls in their order; `turns` interleaves those of servers that number them.
fn parts(arguments: &[String], numbering: Numbering, turns: &[usize]) -> Vec<Value> {
    let id = |call: usize| format!("id_{call}");
    let halves = |call: usize| arguments[call].split_at(arguments[call].len() / 2);
    let name = |call: usize| format!("f{call}");
    match numbering {
        Numbering::OneIndex => {
            (0..arguments.len()).map(|call| part(Some(0), Some("same"), Some(&name(call)), &arguments[call])).collect()
        }
        Numbering::Index | Numbering::IndexWithoutIds | Numbering::Ids => {
            let mut begun = vec![0; arguments.len()];
            let mut parts = Vec::new();
            // Each call has two parts. Calls begin in their order where nothing numbers them.
            let order = turns.iter().map(|turn| turn % arguments.len());
            let rest = (0..arguments.len()).flat_map(|call| [call, call]);
            let first = (0..arguments.len()).filter(|_| matches!(numbering, Numbering::Ids));
            for call in first.chain(order).chain(rest) {
                let (start, end) = halves(call);
                let (text, is_first) = match begun[call] {
                    0 => (start, true),
                    1 => (end, false),
                    _ => continue,
                };
                begun[call] += 1;
                let index = u64::try_from(call).expect("a small number");
                let id = id(call);
                let name = is_first.then(|| name(call));
                parts.push(match numbering {
                    Numbering::Ids => part(None, Some(&id), name.as_deref(), text),
                    Numbering::Index => part(Some(index), is_first.then_some(&*id), name.as_deref(), text),
                    _ => part(Some(index), None, name.as_deref(), text),
                });
            }
            parts
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(512))]

    #[test]
    fn parallel_calls_are_joined_in_any_order(
        texts in proptest::collection::vec("[a-z{}\\[\\]\"\\\\é ]{0,12}", 1..5),
        turns in proptest::collection::vec(0..5_usize, 0..12),
        numbering in proptest::sample::select(vec![
            Numbering::Index, Numbering::IndexWithoutIds, Numbering::OneIndex, Numbering::Ids,
        ]),
    ) {
        let arguments: Vec<String> = texts.iter().map(|text| json!({"a": [text, {"b": 1}]}).to_string()).collect();
        let arguments: Vec<String> =
            arguments.into_iter().map(|text| text.chars().filter(char::is_ascii).collect()).collect();
        let joined: Vec<_> = calls(&parts(&arguments, numbering, &turns))
            .into_iter()
            .map(|(_, name, arguments)| (name, arguments))
            .collect();
        let expected: Vec<_> = arguments
            .iter()
            .enumerate()
            .map(|(call, arguments)| (json!(format!("f{call}")), json!(arguments)))
            .collect();
        proptest::prop_assert_eq!(joined, expected);
    }
}
