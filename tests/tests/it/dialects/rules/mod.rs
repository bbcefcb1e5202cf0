//! Checks the JSON body of a request against the rules of the real model APIs.
//!
//! The checker lists what an API refuses with a 400. It knows documentation, official SDKs and
//! quoted refusals only (see `tests/apis/README.md`), never the code under test. It reports a rule only where
//! a source supports it, so an empty list means "no known rule is broken".

mod anthropic;
mod anthropic_strict;
mod anthropic_thinking;
mod azure;
mod chat;
mod chat_messages;
mod compatible;
mod gemini;
mod gemini_turns;
mod names;
mod openai_models;
mod openai_schema;
pub(crate) mod recorded;
mod report;
mod responses;
mod schema_walk;
#[cfg(test)]
mod tests;
mod xai;

use serde_json::Value;

use crate::dialects::rules::report::Report;

/// The API, and thereby the dialect, that a request is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Api {
    /// Anthropic `POST /v1/messages`.
    Anthropic,
    /// OpenAI `POST /v1/responses`.
    Responses,
    /// OpenAI `POST /v1/chat/completions`.
    Chat,
    /// The Responses form on Azure OpenAI.
    AzureResponses,
    /// The Chat Completions form on Azure OpenAI.
    AzureChat,
    /// Gemini `POST /v1beta/models/{model}:generateContent`.
    Gemini,
    /// xAI's Chat Completions form.
    Xai,
    /// A server with the Chat Completions form: vLLM, SGLang, llama.cpp, DeepSeek, Mistral.
    Compatible,
}

/// A rule that the body breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The stable slug of the rule, e.g. `anthropic/text-blank`.
    pub(crate) rule: &'static str,
    /// The JSON pointer of the place in the body.
    pub(crate) at: String,
    /// What is wrong, with the values.
    pub(crate) detail: String,
}

/// Lists the rules that `body` breaks.
///
/// Gemini has its model in the URL, so `model` is a parameter. An empty `model` stands for the
/// `model` member of the body.
pub(crate) fn refusals(api: Api, model: &str, body: &Value) -> Vec<Refusal> {
    refusals_after(api, model, body, &[])
}

/// Lists the rules that `body` breaks, given the answers that the API gave before.
///
/// Some rules tie what is sent back to the answer that it came from. An answer is the JSON body of
/// a response: `{"output": [..]}` for Responses, `{"content": [..]}` for Anthropic. Answers of
/// other APIs are ignored.
pub(crate) fn refusals_after(api: Api, model: &str, body: &Value, answers: &[Value]) -> Vec<Refusal> {
    let model = match model {
        "" => body["model"].as_str().unwrap_or_default(),
        given => given,
    };
    let mut report = Report::default();
    match api {
        Api::Anthropic => anthropic::check(&mut report, model, body, answers),
        Api::Responses => {
            responses::check(&mut report, model, body, answers, &openai_schema::OPENAI);
        }
        Api::Chat => chat::check(&mut report, model, body, &openai_schema::OPENAI),
        Api::AzureResponses => {
            responses::check(&mut report, model, body, answers, &azure::LIMITS);
            azure::check_responses(&mut report, body);
        }
        Api::AzureChat => {
            chat::check(&mut report, model, body, &azure::LIMITS);
            azure::check_chat(&mut report, body);
        }
        Api::Gemini => gemini::check(&mut report, model, body),
        Api::Xai => xai::check(&mut report, model, body),
        Api::Compatible => compatible::check(&mut report, model, body),
    }
    report.into_refusals()
}

/// Lists the slugs of all rules that the checker knows.
pub(crate) fn rules() -> Vec<&'static str> {
    [
        anthropic::RULES,
        anthropic_strict::RULES,
        anthropic_thinking::RULES,
        openai_schema::RULES,
        responses::RULES,
        chat::RULES,
        chat_messages::RULES,
        azure::RULES,
        gemini::RULES,
        gemini_turns::RULES,
        xai::RULES,
        compatible::RULES,
    ]
    .concat()
}
