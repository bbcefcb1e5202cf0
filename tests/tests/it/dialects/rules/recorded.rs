//! Recorded refusals, as the APIs write them.
//!
//! A local mock server answers with them. `tests/apis/*/refusals.json` says for each rule where the refusal
//! was found and whether the whole body, the message or nothing is quoted.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::dialects::rules::Api;

/// The refusal that was recorded for a rule.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// The slug of the rule.
    pub(crate) rule: String,
    /// The HTTP status.
    pub(crate) status: u16,
    /// The JSON body.
    pub(crate) body: Value,
    /// The page or the issue with the refusal or the rule.
    pub(crate) source: String,
    /// How much of the body is quoted from the source.
    pub(crate) quoted: Quoted,
}

/// How much of a recorded refusal is quoted from its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoted {
    /// The whole body.
    Body,
    /// Only the message; the envelope is as documented.
    Message,
    /// Nothing: the rule is documented, and its refusal was not found.
    Nothing,
}

static RECORDED: LazyLock<Vec<Recorded>> = LazyLock::new(|| {
    let files = [
        include_str!("../../../../apis/anthropic/refusals.json"),
        include_str!("../../../../apis/openai/refusals.json"),
        include_str!("../../../../apis/responses/refusals.json"),
        include_str!("../../../../apis/chat/refusals.json"),
        include_str!("../../../../apis/azure/refusals.json"),
        include_str!("../../../../apis/gemini/refusals.json"),
        include_str!("../../../../apis/xai/refusals.json"),
        include_str!("../../../../apis/compatible/refusals.json"),
    ];
    files
        .into_iter()
        .flat_map(|file| {
            let entries: Vec<Value> = serde_json::from_str(file).expect("a recorded file is a list of entries");
            entries.iter().map(Recorded::from_entry).collect::<Vec<_>>()
        })
        .collect()
});

impl Recorded {
    fn from_entry(entry: &Value) -> Self {
        let text = |member: &str| entry[member].as_str().expect("an entry has a rule and a source").to_owned();
        let status = entry["status"].as_u64().and_then(|status| status.try_into().ok());
        let quoted = match &entry["quoted"] {
            Value::Bool(true) => Quoted::Body,
            Value::Bool(false) => Quoted::Nothing,
            _ => Quoted::Message,
        };
        Self {
            rule: text("rule"),
            status: status.expect("an entry has a status"),
            body: entry["body"].clone(),
            source: text("source"),
            quoted,
        }
    }
}

/// Returns all recorded refusals.
pub(crate) fn recorded() -> &'static [Recorded] {
    &RECORDED
}

/// Returns the status and the JSON body with which the API refuses a body that breaks the rule.
///
/// # Panics
///
/// Panics if the rule is not one of [`crate::dialects::rules::rules`].
pub(crate) fn refusal_body(api: Api, rule: &str) -> (u16, Value) {
    let recorded = RECORDED.iter().find(|recorded| recorded.rule == rule).expect("every rule has a recorded refusal");
    // Rules of OpenAI that hold elsewhere come in the envelope of the server.
    let is_openai = rule.starts_with("chat/") || rule.starts_with("openai/");
    let message = &recorded.body["error"]["message"];
    let body = match api {
        Api::Xai if is_openai => {
            json!({"code": "Client specified an invalid argument", "error": message})
        }
        Api::Compatible if is_openai => json!({
            "error": {
                "message": message,
                "type": "BadRequestError",
                "param": null,
                "code": recorded.status,
            }
        }),
        _ => recorded.body.clone(),
    };
    (recorded.status, body)
}
