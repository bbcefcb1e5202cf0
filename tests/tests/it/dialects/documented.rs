//! Requests of the providers' own documentation, and the same requests with one mistake.
//!
//! `tests/apis/*/requests.json` says where each request is documented. A refusal of one of them is a
//! mistake of the checker, or of the page.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::rules::{Api, refusals};

const FILES: [(Api, &str); 7] = [
    (Api::Anthropic, include_str!("../../../apis/anthropic/requests.json")),
    (Api::Responses, include_str!("../../../apis/responses/requests.json")),
    (Api::Chat, include_str!("../../../apis/chat/requests.json")),
    (Api::AzureChat, include_str!("../../../apis/azure/requests.json")),
    (Api::Gemini, include_str!("../../../apis/gemini/requests.json")),
    (Api::Xai, include_str!("../../../apis/xai/requests.json")),
    (Api::Compatible, include_str!("../../../apis/compatible/requests.json")),
];

/// The fewest requests of an API.
const MIN_REQUESTS: usize = 3;

/// A request that a provider documents.
struct Documented {
    api: Api,
    name: String,
    /// The page or the file with the request.
    source: String,
    /// The path of the URL.
    path: String,
    body: Value,
}

impl Documented {
    fn from_entry(api: Api, entry: &Value) -> Self {
        let text = |member: &str| entry[member].as_str().expect("an entry has a name, a source and a path").to_owned();
        let path = text("path");
        // The two forms on Azure share a file.
        let api = match api {
            Api::AzureChat if path.contains("/responses") => Api::AzureResponses,
            api => api,
        };
        Self { api, name: text("name"), source: text("source"), path, body: entry["body"].clone() }
    }

    /// Returns the model or the deployment that the path names, empty if the body names it.
    fn model_in_path(&self) -> &str {
        let names = [("/models/", ':'), ("/deployments/", '/')];
        let name = names.into_iter().find_map(|(before, after)| {
            let (_, rest) = self.path.split_once(before)?;
            rest.split(after).next()
        });
        name.unwrap_or_default()
    }

    /// Returns the slugs of the rules that `body` breaks when it is sent like this request.
    fn broken_rules(&self, body: &Value) -> Vec<&'static str> {
        refusals(self.api, self.model_in_path(), body).iter().map(|refusal| refusal.rule).collect()
    }
}

fn documented() -> Vec<Documented> {
    let entries = FILES.into_iter().flat_map(|(api, file)| {
        let entries: Vec<Value> = serde_json::from_str(file).expect("a file of requests is a list of entries");
        entries.into_iter().map(move |entry| Documented::from_entry(api, &entry))
    });
    entries.collect()
}

#[test]
fn documented_requests_break_no_rule() {
    let requests = documented();
    let refused = requests.iter().filter_map(|request| {
        let found = refusals(request.api, request.model_in_path(), &request.body);
        (!found.is_empty()).then_some((&request.name, &request.source, found))
    });
    assert_eq!(refused.collect::<Vec<_>>(), []);
}

#[test]
fn every_api_has_documented_requests() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for request in documented() {
        *counts.entry(format!("{:?}", request.api)).or_default() += 1;
    }
    assert_eq!(counts.len(), 8, "{counts:?}");
    assert!(counts.values().all(|count| *count >= MIN_REQUESTS), "{counts:?}");
}

#[test]
fn documented_requests_have_names_and_addresses() {
    let mut names = BTreeSet::new();
    for request in documented() {
        assert!(request.source.starts_with("https://"), "{}: {}", request.name, request.source);
        assert!(request.path.starts_with('/'), "{}: {}", request.name, request.path);
        assert!(names.insert((format!("{:?}", request.api), request.name.clone())), "{} is there twice", request.name);
    }
}

/// A mistake made in a documented request, and the rule that it breaks.
struct Mistake {
    api: Api,
    name: &'static str,
    make: fn(&mut Value),
    rule: &'static str,
}

const MISTAKES: &[Mistake] = &[
    Mistake {
        api: Api::Anthropic,
        name: "parallel_results_with_error",
        make: |body| remove(body, "/messages/2/content/1"),
        rule: "anthropic/tool-use-unanswered",
    },
    Mistake {
        api: Api::Anthropic,
        name: "enabled_thinking_with_tools",
        make: |body| remove(body, "/messages/1/content/0"),
        rule: "anthropic/thinking-first",
    },
    Mistake {
        api: Api::Anthropic,
        name: "hidden_thinking_sent_back",
        make: |body| remove(body, "/messages/1/content/0/signature"),
        rule: "anthropic/thinking-unsigned",
    },
    Mistake {
        api: Api::Anthropic,
        name: "strict_tool_and_output_format",
        make: |body| remove(body, "/tools/0/input_schema/additionalProperties"),
        rule: "anthropic/strict-additional-properties",
    },
    Mistake {
        api: Api::Anthropic,
        name: "paused_compaction",
        make: |body| body["messages"][1]["content"] = json!("You said hello."),
        rule: "anthropic/prefill-unsupported",
    },
    Mistake {
        api: Api::Anthropic,
        name: "compaction_on_demand",
        make: |body| remove(body, "/compaction"),
        rule: "anthropic/prefill-unsupported",
    },
    Mistake {
        api: Api::Anthropic,
        name: "paused_server_tool",
        make: |body| repeat_first(body, "/tools"),
        rule: "anthropic/tool-name-duplicate",
    },
    Mistake {
        api: Api::Responses,
        name: "encrypted_reasoning_with_call",
        make: |body| remove(body, "/input/1/encrypted_content"),
        rule: "responses/reasoning-not-persisted",
    },
    Mistake {
        api: Api::Responses,
        name: "parallel_calls",
        make: |body| remove(body, "/input/5"),
        rule: "responses/call-unanswered",
    },
    Mistake {
        api: Api::Responses,
        name: "structured_output",
        make: |body| remove(body, "/text/format/schema/required/1"),
        rule: "openai/strict-required",
    },
    Mistake {
        api: Api::Chat,
        name: "image",
        make: |body| body["max_tokens"] = json!(300),
        rule: "chat/max-tokens-unsupported",
    },
    Mistake {
        api: Api::Chat,
        name: "tool_round_trip",
        make: |body| remove(body, "/messages/2"),
        rule: "chat/tool-calls-unanswered",
    },
    Mistake {
        api: Api::AzureChat,
        name: "structured_output",
        make: |body| body["response_format"]["json_schema"]["schema"]["properties"]["date"]["format"] = json!("date"),
        rule: "azure/strict-keyword",
    },
    Mistake {
        api: Api::AzureResponses,
        name: "responses_function_output",
        make: |body| remove(body, "/previous_response_id"),
        rule: "responses/output-without-call",
    },
    Mistake {
        api: Api::Gemini,
        name: "objects_in_place_of_lists",
        make: |body| body["contents"]["parts"]["text"] = json!(""),
        rule: "gemini/part-empty",
    },
    Mistake {
        api: Api::Gemini,
        name: "calls_in_two_steps",
        make: |body| remove(body, "/contents/3/parts/0/thoughtSignature"),
        rule: "gemini/thought-signature",
    },
    Mistake {
        api: Api::Gemini,
        name: "parallel_calls_with_one_signature",
        make: |body| remove(body, "/contents/2/parts/1"),
        rule: "gemini/response-count",
    },
    Mistake {
        api: Api::Gemini,
        name: "json_schema_of_parameters",
        make: |body| body["contents"][2]["role"] = json!("assistant"),
        rule: "gemini/role",
    },
    Mistake {
        api: Api::Xai,
        name: "structured_output",
        make: |body| body["response_format"]["json_schema"]["schema"]["$defs"]["Currency"]["enum"] = json!([]),
        rule: "xai/schema-empty-union",
    },
    Mistake {
        api: Api::Compatible,
        name: "deepseek_thinking_with_calls",
        make: |body| remove(body, "/messages/1/reasoning_content"),
        rule: "compatible/deepseek-reasoning",
    },
    Mistake {
        api: Api::Compatible,
        name: "mistral_tool_round_trip",
        make: |body| repeat_first(body, "/messages"),
        rule: "compatible/mistral-user-after-tool",
    },
];

/// Removes the member or the element at the pointer.
fn remove(body: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer begins with a slash");
    match body.pointer_mut(parent).expect("the parent exists") {
        Value::Array(elements) => drop(elements.remove(name.parse().expect("an index"))),
        Value::Object(members) => drop(members.shift_remove(name).expect("the member exists")),
        other => panic!("{other} has no members"),
    }
}

/// Appends the first element of the list at the pointer once more.
fn repeat_first(body: &mut Value, pointer: &str) {
    let list = body.pointer_mut(pointer).and_then(Value::as_array_mut).expect("a list");
    list.push(list[0].clone());
}

#[test]
fn mistakes_in_documented_requests_are_named() {
    let requests = documented();
    for mistake in MISTAKES {
        let same = |request: &&Documented| request.api == mistake.api && request.name == mistake.name;
        let request = requests.iter().find(same).expect("the request is documented");
        let mut body = request.body.clone();
        (mistake.make)(&mut body);
        assert_eq!(request.broken_rules(&body), [mistake.rule], "{:?} {}", mistake.api, mistake.name);
    }
}
