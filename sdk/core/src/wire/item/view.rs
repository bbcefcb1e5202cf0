//! A typed view of an item: of the kinds that the loop knows, and of the text of messages.

use std::borrow::Cow;

use serde_json::Value;

use super::Item;
use crate::wire::native_call::NativeKind;

/// A typed view of an item; see [`Item::view`].
#[derive(Clone, Debug, PartialEq)]
pub enum ItemView<'a> {
    /// A message with its role and its `content` (a string or a list of parts).
    Message {
        /// Role of the message: `user`, `assistant`, `system`, `developer`.
        role: &'a str,
        /// The content member, unchanged.
        content: &'a Value,
    },
    /// A call of a function tool or of a handoff.
    FunctionCall(FunctionCall<'a>),
    /// The output of a function call.
    FunctionCallOutput {
        /// Id of the call that it answers.
        call_id: &'a str,
        /// The output: a string or a list of content parts.
        output: &'a Value,
    },
    /// A call of a tool that the provider defines and the run executes: a shell, a patch, a
    /// computer, a custom tool.
    NativeCall {
        /// Kind of the call.
        kind: NativeKind,
        /// The call as one of a function: its arguments are the parts of the item that its tool
        /// receives.
        call: FunctionCall<'a>,
    },
    /// The output of such a call.
    NativeCallOutput {
        /// Id of the call that it answers.
        call_id: &'a str,
        /// The output, in the form of its kind.
        output: &'a Value,
    },
    /// Reasoning of the model.
    Reasoning,
    /// A call that a provider executed itself (`web_search_call`, `mcp_call`, ...): recorded, never
    /// executed here.
    HostedCall {
        /// Type of the item.
        kind: &'a str,
    },
    /// An item of any other kind, known only by its name (empty if it has none).
    Other {
        /// Type of the item.
        kind: &'a str,
    },
}

/// The parts of a `function_call` item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCall<'a> {
    /// Name of the function, as the model wrote it.
    pub name: &'a str,
    /// Id that links the output to the call.
    pub call_id: &'a str,
    /// Arguments as the model wrote them: JSON text, not yet checked. Servers that send an object
    /// instead of a string are supported.
    pub arguments: Cow<'a, str>,
    /// Tool namespace, if the provider sent one.
    pub namespace: Option<&'a str>,
}

const HOSTED_CALLS: [&str; 5] =
    ["file_search_call", "web_search_call", "code_interpreter_call", "image_generation_call", "mcp_call"];

impl Item {
    /// Returns a typed view of the item.
    pub fn view(&self) -> ItemView<'_> {
        const NULL: &Value = &Value::Null;
        match self.kind() {
            "message" => ItemView::Message {
                role: self.str("role").unwrap_or("assistant"),
                content: self.get("content").unwrap_or(NULL),
            },
            "function_call" => ItemView::FunctionCall(FunctionCall {
                name: self.str("name").unwrap_or_default(),
                call_id: self.call_id().unwrap_or_default(),
                arguments: match self.get("arguments") {
                    None | Some(Value::Null) => Cow::Borrowed(""),
                    Some(Value::String(text)) => Cow::Borrowed(text),
                    Some(other) => Cow::Owned(other.to_string()),
                },
                namespace: self.str("namespace"),
            }),
            "function_call_output" => ItemView::FunctionCallOutput {
                call_id: self.call_id().unwrap_or_default(),
                output: self.get("output").unwrap_or(NULL),
            },
            "reasoning" => ItemView::Reasoning,
            kind if HOSTED_CALLS.contains(&kind) => ItemView::HostedCall { kind },
            kind => self.native_view().unwrap_or(ItemView::Other { kind }),
        }
    }

    /// Returns the view of a call that the provider defines, or of its output; `None` for others.
    fn native_view(&self) -> Option<ItemView<'_>> {
        const NULL: &Value = &Value::Null;
        let call_id = self.call_id().unwrap_or_default();
        if let Some(kind) = NativeKind::of_call(self.kind()) {
            let name = kind.tool().or_else(|| self.str("name")).unwrap_or_default();
            let arguments = Cow::Owned(kind.arguments(self).to_string());
            return Some(ItemView::NativeCall {
                kind,
                call: FunctionCall { name, call_id, arguments, namespace: None },
            });
        }
        NativeKind::of_output(self.kind())?;
        Some(ItemView::NativeCallOutput { call_id, output: self.get("output").unwrap_or(NULL) })
    }

    /// Returns `true` for a message without a refusal whose text is empty or white space.
    #[doc(hidden)]
    pub fn is_blank_message(&self) -> bool {
        self.refusal().is_none() && self.text().is_some_and(|text| text.trim().is_empty())
    }

    /// Returns the text of a message: all its `output_text`, `input_text` and `text` parts joined,
    /// or its string content.
    ///
    /// `None` if the item is not a message.
    pub fn text(&self) -> Option<String> {
        let ItemView::Message { content, .. } = self.view() else { return None };
        Some(match content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts
                .iter()
                .filter(|part| matches!(part["type"].as_str(), Some("output_text" | "input_text" | "text")))
                .filter_map(|part| part["text"].as_str())
                .collect(),
            _ => String::new(),
        })
    }

    /// Returns the refusal in a message: its refusal parts joined; `None` if it has none.
    pub fn refusal(&self) -> Option<String> {
        let ItemView::Message { content: Value::Array(parts), .. } = self.view() else { return None };
        let refusal: String =
            parts.iter().filter(|part| part["type"] == "refusal").filter_map(|part| part["refusal"].as_str()).collect();
        Some(refusal).filter(|refusal| !refusal.is_empty())
    }
}
