//! Recorded refusals and rules belong together.

use std::collections::BTreeSet;

use serde_json::json;

use crate::dialects::rules::recorded::{Quoted, recorded, refusal_body};
use crate::dialects::rules::{Api, rules};

#[test]
fn every_rule_has_exactly_one_recorded_refusal() {
    let slugs: Vec<&str> = recorded().iter().map(|recorded| recorded.rule.as_str()).collect();
    let recorded: BTreeSet<&str> = slugs.iter().copied().collect();
    let known: BTreeSet<&str> = rules().into_iter().collect();
    assert_eq!(recorded, known);
    assert_eq!(slugs.len(), known.len());
}

#[test]
fn every_refusal_names_its_source() {
    for recorded in recorded() {
        let is_page = recorded.source.starts_with("https://");
        let is_issue = recorded.source.contains('#') || recorded.source.contains('/');
        assert!(is_page || is_issue, "{}: {:?}", recorded.rule, recorded.source);
        // A refusal whose words were not found is not the word of an issue.
        let is_quoted = recorded.quoted != Quoted::Nothing;
        assert!(is_quoted || recorded.body.is_object(), "{}", recorded.rule);
    }
}

#[test]
fn every_rule_is_described_in_the_table() {
    let table = include_str!("../../../../../apis/README.md");
    for rule in rules() {
        let (_, slug) = rule.split_once('/').expect("a slug names its API");
        assert!(table.contains(&format!("| {slug} |")), "{rule} is missing in the table");
    }
}

#[test]
fn shared_rules_come_in_the_envelope_of_the_server() {
    let (status, body) = refusal_body(Api::Xai, "chat/messages-empty");
    assert_eq!(status, 400);
    let envelope = json!({
        "code": "Client specified an invalid argument",
        "error": "[] is too short - 'messages'",
    });
    assert_eq!(body, envelope);
    let (_, body) = refusal_body(Api::Compatible, "chat/messages-empty");
    assert_eq!(body["error"]["type"], "BadRequestError");
    let (status, body) = refusal_body(Api::Responses, "responses/reasoning-not-persisted");
    assert_eq!(status, 404);
    assert_eq!(body["error"]["type"], "invalid_request_error");
}
