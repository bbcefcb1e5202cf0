//! Each rule with one body that breaks it and one that breaks nothing.

mod anthropic;
mod azure;
mod chat;
mod compatible;
mod gemini;
mod openai_schema;
mod responses;
mod sources;
mod walk;
mod xai;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::dialects::rules::{Api, refusals_after, rules};

/// A rule with a body that breaks it and a body that is fine.
struct Case {
    rule: &'static str,
    api: Api,
    model: &'static str,
    breaks: Value,
    holds: Value,
    answers: Vec<Value>,
}

impl Case {
    fn new(rule: &'static str, api: Api, breaks: Value, holds: Value) -> Self {
        let model = match api {
            Api::Anthropic => "claude-sonnet-4-5",
            Api::Gemini => "gemini-3-pro-preview",
            Api::Xai => "grok-4-1-fast-reasoning",
            Api::Compatible => "qwen3",
            _ => "gpt-4.1",
        };
        Self { rule, api, model, breaks, holds, answers: Vec::new() }
    }

    fn model(mut self, model: &'static str) -> Self {
        self.model = model;
        self
    }

    fn after(mut self, answer: Value) -> Self {
        self.answers.push(answer);
        self
    }
}

/// Sets members of the body by pointer; null leaves the member out.
fn with(mut body: Value, edits: &[(&str, Value)]) -> Value {
    for (pointer, value) in edits {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer begins with a slash");
        let parent = body.pointer_mut(parent).expect("the parent exists");
        match parent {
            Value::Array(elements) => {
                elements[name.parse::<usize>().expect("an index")] = value.clone();
            }
            _ if value.is_null() => {
                parent.as_object_mut().expect("an object").shift_remove(name);
            }
            _ => parent[name] = value.clone(),
        }
    }
    body
}

fn cases() -> Vec<Case> {
    [
        anthropic::cases(),
        openai_schema::cases(),
        responses::cases(),
        chat::cases(),
        azure::cases(),
        gemini::cases(),
        xai::cases(),
        compatible::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn breaking_bodies_are_refused_by_their_rule() {
    for case in cases() {
        let found = refusals_after(case.api, case.model, &case.breaks, &case.answers);
        let slugs: BTreeSet<&str> = found.iter().map(|refusal| refusal.rule).collect();
        assert!(slugs.contains(case.rule), "{}: {found:?} in {}", case.rule, case.breaks);
    }
}

#[test]
fn fine_bodies_are_not_refused() {
    for case in cases() {
        let found = refusals_after(case.api, case.model, &case.holds, &case.answers);
        assert_eq!(found, [], "{}: {}", case.rule, case.holds);
    }
}

#[test]
fn refusals_point_into_the_body_or_at_a_missing_member() {
    for case in cases() {
        for refusal in refusals_after(case.api, case.model, &case.breaks, &case.answers) {
            let parent = refusal.at.rsplit_once('/').map_or("", |(parent, _)| parent);
            let is_there = case.breaks.pointer(parent).is_some();
            assert!(is_there, "{}: {:?}", case.rule, refusal.at);
        }
    }
}

#[test]
fn every_rule_has_a_case() {
    let tested: BTreeSet<&str> = cases().iter().map(|case| case.rule).collect();
    let known: BTreeSet<&str> = rules().into_iter().collect();
    assert_eq!(tested, known);
    assert_eq!(rules().len(), known.len());
}

#[test]
fn empty_model_stands_for_the_model_of_the_body() {
    let body = json!({
        "model": "o3",
        "max_tokens": 10,
        "messages": [{"role": "user", "content": "Hello"}],
    });
    let found = crate::dialects::rules::refusals(Api::Chat, "", &body);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rule, "chat/max-tokens-unsupported");
    assert_eq!(found[0].at, "/max_tokens");
}

#[test]
fn bodies_of_any_shape_are_judged_without_panic() {
    let apis = [
        Api::Anthropic,
        Api::Responses,
        Api::Chat,
        Api::AzureResponses,
        Api::AzureChat,
        Api::Gemini,
        Api::Xai,
        Api::Compatible,
    ];
    let odd = [json!(null), json!(true), json!(-1.5), json!("é\u{1f600}"), json!([[]]), json!({"type": 1})];
    // The bodies that break limits of size add time and no shape.
    let small = cases().into_iter().filter(|case| case.breaks.to_string().len() < 4000);
    for case in small {
        for value in &odd {
            let members = case.breaks.as_object().expect("a body is an object");
            for name in members.keys() {
                let mut body = case.breaks.clone();
                body[name] = value.clone();
                let nested = json!([value, {"role": "assistant", "content": value, "parts": value}]);
                let mut inner = case.breaks.clone();
                inner[name] = nested;
                for api in apis {
                    let _ = refusals_after(api, case.model, &body, std::slice::from_ref(value));
                    let _ = refusals_after(api, case.model, &inner, &case.answers);
                }
            }
        }
    }
}
