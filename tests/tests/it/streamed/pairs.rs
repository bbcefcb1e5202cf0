//! The two forms of one answer become the same response, wherever the bytes of the stream are cut.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use proptest::prelude::*;
use serde_json::{Value, json};
use temporal_agents::{
    provider::{ModelDelta, ModelDeltas, OpenAiApi},
    wire::Item,
};
use tokio::runtime::Runtime;

use super::{
    hello_with, model,
    server::{Answer, Server},
    streamed,
};

/// An answer in both forms.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) api: OpenAiApi,
    pub(crate) name: String,
    pub(crate) whole: Value,
    pub(crate) stream: Vec<u8>,
}

static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let mut pairs = pairs_of("responses", OpenAiApi::Responses);
    pairs.extend(pairs_of("chat", OpenAiApi::ChatCompletions));
    pairs
});

/// The pairs of an API, in `tests/apis/`.
pub(crate) fn pairs_of(directory: &str, api: OpenAiApi) -> Vec<Pair> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("apis").join(directory).join("answers");
    let files = std::fs::read_dir(directory).expect("the directory is in the repository");
    let paths = files.map(|file| file.expect("a readable directory").path());
    let mut wholes: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect();
    wholes.sort();
    let pair = |path: PathBuf| Pair {
        api,
        name: path.display().to_string(),
        whole: serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON"),
        stream: std::fs::read(path.with_extension("sse")).expect("the other half of the pair"),
    };
    wholes.into_iter().map(pair).collect()
}

/// Settings with which everything of an answer is kept.
fn settings() -> Value {
    json!({"preserve_raw_usage": true})
}

#[tokio::test]
async fn both_forms_of_an_answer_become_the_same_response() -> anyhow::Result<()> {
    assert!(PAIRS.len() > 20, "{}", PAIRS.len());
    for Pair { api, name, whole, stream } in &*PAIRS {
        let server = Server::start([Answer::json("200 OK", whole), Answer::stream(stream)])?;
        let model = model(&server, *api).await?;
        let called = model.call(hello_with(settings())).await?;
        let (outcome, deltas) = streamed(&model, hello_with(settings())).await;
        let response = outcome.map_err(|error| anyhow::anyhow!("{name}: {error:?}"))?;
        assert_eq!(serde_json::to_value(&response)?, serde_json::to_value(&called)?, "{name}");
        assert_eq!(response.raw_usage.as_ref(), Some(&whole["usage"]), "{name}");
        assert_eq!(response.request_id.as_deref(), Some("req_1"), "{name}");
        assert_deltas_become_items(name, &deltas, &response.output);
        let sent = server.requests();
        let mut plain = sent[1].clone();
        let asked = plain.as_object_mut().expect("an object");
        assert_eq!(asked.remove("stream"), Some(json!(true)), "{name}");
        let options = asked.remove("stream_options");
        let expected = (*api == OpenAiApi::ChatCompletions).then(|| json!({"include_usage": true}));
        assert_eq!((options, &plain), (expected, &sent[0]), "{name}");
    }
    Ok(())
}

/// Checks that the parts of each item, joined, are in the item of that position.
pub(crate) fn assert_deltas_become_items(name: &str, deltas: &[ModelDelta], output: &[Item]) {
    let mut joined: BTreeMap<(u32, &str), String> = BTreeMap::new();
    for delta in deltas {
        let (index, kind, part) = match delta {
            ModelDelta::Text { index, delta } => (*index, "text", delta),
            ModelDelta::Refusal { index, delta } => (*index, "refusal", delta),
            ModelDelta::Reasoning { index, delta } => (*index, "reasoning", delta),
            ModelDelta::ToolArguments { index, call_id, name: tool, delta } => {
                let item = output.get(*index as usize).unwrap_or_else(|| panic!("{name}: no item {index}"));
                // A call of a kind that only the server knows keeps its own members.
                let members = if item.kind() == "custom" { ["id", "custom"] } else { ["call_id", "name"] };
                for (member, value) in members.into_iter().zip([call_id, tool]) {
                    let expected = item.get(member).map(|value| if value.is_object() { &value["name"] } else { value });
                    let expected = expected.and_then(Value::as_str);
                    assert!(value.is_none() || value.as_deref() == expected, "{name}: {delta:?} of {item:?}");
                }
                (*index, "arguments", delta)
            }
            other => panic!("{name}: {other:?}"),
        };
        assert!(!part.is_empty(), "{name}: an empty part");
        joined.entry((index, kind)).or_default().push_str(part);
    }
    for ((index, kind), text) in joined {
        let item = output[index as usize].to_value();
        let found = match kind {
            // Anthropic reports at the end that a text was a refusal.
            "text" => [texts(&item["content"], "text"), texts(&item["content"], "refusal")].concat().concat(),
            "refusal" => texts(&item["content"], "refusal").concat(),
            "arguments" => {
                let places = [&item["arguments"], &item["input"], &item["custom"]["input"]];
                places.iter().filter_map(|place| place.as_str()).collect()
            }
            _ => reasoning(&item),
        };
        // A provider may write the white space of JSON anew.
        let json = |text: &str| serde_json::from_str::<Value>(text).ok().filter(|_| kind == "arguments");
        let is_equal = text == found || json(&text).is_some_and(|value| json(&found) == Some(value));
        assert!(is_equal, "{name}: the {kind} of item {index} is {text:?} in parts: {item}");
    }
}

/// The members of this name in a list of parts.
fn texts(parts: &Value, member: &str) -> Vec<String> {
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(|part| part[member].as_str()).map(str::to_owned).collect()
}

/// The reasoning in an item, wherever its API keeps it.
fn reasoning(item: &Value) -> String {
    let data = &item["provider_data"];
    let own = ["reasoning_content", "reasoning"].iter().find_map(|name| data[name].as_str()).map(str::to_owned);
    let content = item["content"].as_array().into_iter().flatten();
    let thinking = content.flat_map(|part| texts(&part["thinking"], "text"));
    let mut all: Vec<String> = own.into_iter().chain(thinking).chain(texts(&item["summary"], "text")).collect();
    if item["type"] == "reasoning" {
        all.extend(texts(&item["content"], "text"));
    }
    all.concat()
}

#[tokio::test]
async fn a_text_arrives_in_its_parts() -> anyhow::Result<()> {
    for pair in PAIRS.iter().filter(|pair| pair.name.ends_with("/text.json")) {
        let server = Server::start([Answer::stream(&pair.stream)])?;
        let (_, deltas) = streamed(&model(&server, pair.api).await?, hello_with(settings())).await;
        assert!(deltas.len() > 8, "{deltas:?}");
        assert!(deltas.iter().all(|delta| matches!(delta, ModelDelta::Text { index: 0, .. })), "{deltas:?}");
    }
    Ok(())
}

/// A server of all cases, so that a case is one call.
static CUT: LazyLock<(Runtime, Server)> = LazyLock::new(|| {
    let server = Server::start([]).expect("a free port");
    (Runtime::new().expect("a runtime"), server)
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_places_of_the_cuts_do_not_matter(
        pair in prop::sample::select(&**PAIRS),
        places in prop::collection::vec(0..10_000usize, 1..40),
    ) {
        let (runtime, server) = &*CUT;
        let cut = Answer::stream(&pair.stream).cut(&places);
        server.answer([Answer::stream(&pair.stream), cut]);
        let (uncut, cut) = runtime.block_on(async {
            let model = model(server, pair.api).await.expect("a model");
            (streamed(&model, hello_with(settings())).await, streamed(&model, hello_with(settings())).await)
        });
        prop_assert_eq!(cut.0.expect("a response"), uncut.0.expect("a response"));
        prop_assert_eq!(cut.1, uncut.1);
    }
}

#[tokio::test]
async fn every_byte_may_be_a_chunk() -> anyhow::Result<()> {
    for pair in PAIRS.iter() {
        let places: Vec<usize> = (0..pair.stream.len()).collect();
        let server = Server::start([Answer::stream(&pair.stream), Answer::stream(&pair.stream).cut(&places)])?;
        let model = model(&server, pair.api).await?;
        let (uncut, cut) =
            (streamed(&model, hello_with(settings())).await, streamed(&model, hello_with(settings())).await);
        assert_eq!((cut.0?, cut.1), (uncut.0?, uncut.1), "{}", pair.name);
    }
    Ok(())
}

#[tokio::test]
async fn the_events_of_the_provider_are_sent_to_those_who_want_them() -> anyhow::Result<()> {
    let pair = PAIRS.iter().find(|pair| pair.name.ends_with("hosted_tools.json")).expect("it is there");
    let server = Server::start([Answer::stream(&pair.stream)])?;
    let sent: Arc<Mutex<Vec<ModelDelta>>> = Arc::default();
    let sink = Arc::clone(&sent);
    let deltas = ModelDeltas::new(move |delta| sink.lock().expect("not poisoned").push(delta)).with_native();
    model(&server, pair.api).await?.stream(hello_with(settings()), deltas).await?;
    let sent = sent.lock().expect("not poisoned");
    let native = sent.iter().filter_map(|delta| if let ModelDelta::Native(event) = delta { Some(event) } else { None });
    let stream = String::from_utf8(pair.stream.clone())?;
    let events: Vec<Value> =
        stream.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
    assert_eq!(native.cloned().collect::<Vec<_>>(), events);
    assert!(sent.iter().any(|delta| matches!(delta, ModelDelta::Text { index: 2, .. })), "{sent:?}");
    Ok(())
}
