//! The order of function calls and responses in Gemini's contents.

use serde_json::Value;

use crate::dialects::rules::gemini::{member, repeated};
use crate::dialects::rules::report::{Report, child, is_given};

pub(crate) const RULES: &[&str] = &[
    "gemini/response-count",
    "gemini/response-turn",
    "gemini/call-turn",
    "gemini/response-object",
    "gemini/args-object",
    "gemini/thought-signature",
];

/// The first major version that requires thought signatures.
const SIGNED_FROM: u32 = 3;

/// A content and its place.
pub(crate) struct Content<'a> {
    /// The JSON pointer of the content.
    pub(crate) at: String,
    /// The content.
    pub(crate) value: &'a Value,
}

impl<'a> From<(String, &'a Value)> for Content<'a> {
    fn from((at, value): (String, &'a Value)) -> Self {
        Self { at, value }
    }
}

impl<'a> Content<'a> {
    /// Iterates the parts with their pointers.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (String, &'a Value)> + use<'a> {
        repeated(&self.value["parts"], &child(&self.at, "parts"))
    }

    fn is_model(&self) -> bool {
        self.value["role"] == "model"
    }

    /// Lists the parts with a function call.
    fn calls(&self) -> Vec<(String, &'a Value)> {
        self.parts().filter(|(_, part)| is_given(call(part))).collect()
    }

    /// Lists the parts with a function response.
    fn responses(&self) -> Vec<(String, &'a Value)> {
        self.parts().filter(|(_, part)| is_given(response(part))).collect()
    }

    fn begins_turn(&self) -> bool {
        let has_text = self.parts().any(|(_, part)| part["text"].is_string());
        !self.is_model() && has_text && self.responses().is_empty()
    }
}

/// Reports the rules of calls and responses that the contents break.
pub(crate) fn check(report: &mut Report, major: Option<u32>, contents: &[Content<'_>]) {
    for (index, content) in contents.iter().enumerate() {
        let previous = index.checked_sub(1).and_then(|previous| contents.get(previous));
        check_turn(report, content, previous, contents.get(index + 1));
        check_objects(report, content);
    }
    if major.is_some_and(|major| major >= SIGNED_FROM) {
        let start = contents.iter().rposition(Content::begins_turn).unwrap_or(0);
        for content in contents[start..].iter().filter(|content| content.is_model()) {
            check_signature(report, content);
        }
    }
}

fn check_turn(report: &mut Report, content: &Content<'_>, previous: Option<&Content<'_>>, next: Option<&Content<'_>>) {
    let calls = content.calls().len();
    if calls > 0 && previous.is_none_or(Content::is_model) {
        let detail = "the call comes first or after a content of the model";
        report.refuse("gemini/call-turn", content.at.clone(), detail);
    }
    if let Some(next) = next.filter(|_| calls > 0) {
        let responses = next.responses().len();
        if responses != calls {
            let detail = format!("{calls} calls are followed by {responses} responses");
            report.refuse("gemini/response-count", next.at.clone(), detail);
        }
    }
    let follows_calls = previous.is_some_and(|previous| !previous.calls().is_empty());
    if !content.responses().is_empty() && !follows_calls {
        let detail = "the content before has no call";
        report.refuse("gemini/response-turn", content.at.clone(), detail);
    }
}

fn check_objects(report: &mut Report, content: &Content<'_>) {
    for (at, part) in content.responses() {
        let value = &response(part)["response"];
        if !value.is_object() {
            let detail = format!("the response is {value}");
            report.refuse("gemini/response-object", at, detail);
        }
    }
    for (at, part) in content.calls() {
        let args = &call(part)["args"];
        if is_given(args) && !args.is_object() {
            report.refuse("gemini/args-object", at, format!("the args are {args}"));
        }
    }
}

/// Checks the signature of the first call; further calls of the content have none.
fn check_signature(report: &mut Report, content: &Content<'_>) {
    let Some((at, part)) = content.calls().into_iter().next() else {
        return;
    };
    if !is_given(member(part, "thoughtSignature", "thought_signature")) {
        let detail = "the first call of the content has no thoughtSignature";
        report.refuse("gemini/thought-signature", at, detail);
    }
}

fn call(part: &Value) -> &Value {
    member(part, "functionCall", "function_call")
}

fn response(part: &Value) -> &Value {
    member(part, "functionResponse", "function_response")
}
