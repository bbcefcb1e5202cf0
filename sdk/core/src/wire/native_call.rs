//! Calls of tools that a provider defines and the caller of its API runs: shells, patches,
//! computers, custom tools. Each kind has an item of its own for the call, and one for the output.
//!
//! # Source
//! The items of the OpenAI Responses API, with the outputs that the OpenAI Agents SDK makes of
//! results, failures and rejections.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::item::{FunctionCall, ItemView};
use super::{
    item::{IS_ERROR, Item},
    tool_call::ToolOutput,
};

/// The kind of a call that the provider defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NativeKind {
    /// Commands for a shell: `shell_call`.
    Shell,
    /// A program with arguments: `local_shell_call`.
    LocalShell,
    /// A change of a file: `apply_patch_call`.
    ApplyPatch,
    /// Actions in a graphical interface: `computer_call`.
    Computer,
    /// A call with a string instead of JSON: `custom_tool_call`.
    Custom,
}

impl NativeKind {
    const ALL: [Self; 5] = [Self::Shell, Self::LocalShell, Self::ApplyPatch, Self::Computer, Self::Custom];

    /// Returns the kind of a call whose item has this `type`.
    pub(crate) fn of_call(item_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.call_type() == item_type)
    }

    /// Returns the kind of a call whose output has this `type`.
    pub(crate) fn of_output(item_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.output_type() == item_type)
    }

    /// Returns the `type` of the item of a call.
    pub(crate) fn call_type(self) -> &'static str {
        match self {
            Self::Shell => "shell_call",
            Self::LocalShell => "local_shell_call",
            Self::ApplyPatch => "apply_patch_call",
            Self::Computer => "computer_call",
            Self::Custom => "custom_tool_call",
        }
    }

    /// Returns the `type` of the item of an output.
    pub(crate) fn output_type(self) -> &'static str {
        match self {
            Self::Shell => "shell_call_output",
            Self::LocalShell => "local_shell_call_output",
            Self::ApplyPatch => "apply_patch_call_output",
            Self::Computer => "computer_call_output",
            Self::Custom => "custom_tool_call_output",
        }
    }

    /// Returns the name of the tool; that of a custom tool is in its call.
    pub(crate) fn tool(self) -> Option<&'static str> {
        match self {
            Self::Shell => Some("shell"),
            Self::LocalShell => Some("local_shell"),
            Self::ApplyPatch => Some("apply_patch"),
            Self::Computer => Some("computer_use_preview"),
            Self::Custom => None,
        }
    }

    /// Returns the members of a call that are the arguments of its tool, as a JSON object.
    pub(super) fn arguments(self, call: &Item) -> Value {
        let member = |name: &str| call.get(name).cloned();
        let object = |name: &str| member(name).unwrap_or_else(|| Value::Object(Map::new()));
        let members = |names: &[&str]| -> Value {
            names.iter().filter_map(|name| Some(((*name).to_owned(), member(name)?))).collect::<Map<_, _>>().into()
        };
        match self {
            Self::Shell | Self::LocalShell => object("action"),
            Self::ApplyPatch => object("operation"),
            Self::Computer => members(&["action", "actions", "pending_safety_checks"]),
            Self::Custom => members(&["input"]),
        }
    }

    /// Returns `true` if the output of a call is among the items of its response: the provider has
    /// made the call.
    pub(crate) fn is_answered_in(self, response: &[Item], call_id: &str) -> bool {
        response.iter().any(|item| item.kind() == self.output_type() && item.call_id() == Some(call_id))
    }

    /// Returns `true` if the arguments have safety checks that a person must acknowledge.
    pub(crate) fn has_safety_checks(self, arguments: &str) -> bool {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let checks = arguments.get("pending_safety_checks").and_then(Value::as_array);
        self == Self::Computer && checks.is_some_and(|checks| !checks.is_empty())
    }

    /// Returns `true` if the output for the model can hold this one.
    pub(crate) fn takes(self, output: &ToolOutput) -> bool {
        self != Self::Computer || screenshot(output).is_some()
    }

    /// Returns the item of the output of a call that the model made with these arguments;
    /// `has_failed` also for a call that was rejected.
    pub(crate) fn output(self, call_id: &str, arguments: &str, output: &ToolOutput, has_failed: bool) -> Item {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let mut item = Map::new();
        let mut set = |name: &str, value: Value| item.insert(name.to_owned(), value);
        set("type", self.output_type().into());
        set("call_id", call_id.into());
        match self {
            Self::Shell => {
                set("output", shell_output(output, has_failed));
                // The API requires the limit of the call in its output.
                if let Some(limit) = arguments.get("max_output_length").filter(|limit| !limit.is_null()) {
                    set("max_output_length", limit.clone());
                }
            }
            Self::ApplyPatch => {
                set("status", if has_failed { "failed" } else { "completed" }.into());
                set("output", output.to_text().into());
            }
            Self::LocalShell => {
                set("output", output.to_text().into());
            }
            Self::Custom => {
                set("output", output.clone().into_value());
            }
            Self::Computer => {
                let image = screenshot(output).unwrap_or_default();
                set("output", json!({"type": "computer_screenshot", "image_url": image}));
                // The call was made, so somebody has decided about them.
                if let Some(checks @ Value::Array(_)) = arguments.get("pending_safety_checks") {
                    set("acknowledged_safety_checks", checks.clone());
                }
            }
        }
        let item = Item::from(item);
        if has_failed { item.with(IS_ERROR, Value::Bool(true)) } else { item }
    }
}

/// Returns the call of an item of this response, if the run makes it: of a function, or of a tool
/// that the provider defines and has not run itself.
pub fn call_of<'i>(item: &'i Item, response: &[Item]) -> Option<FunctionCall<'i>> {
    match item.view() {
        ItemView::FunctionCall(call) => Some(call),
        ItemView::NativeCall { kind, call } => (!kind.is_answered_in(response, call.call_id)).then_some(call),
        _ => None,
    }
}

/// Returns the URL of the image in the output of a computer.
fn screenshot(output: &ToolOutput) -> Option<String> {
    match output {
        ToolOutput::Text(text) => {
            let is_url = text.starts_with("data:image/") || text.starts_with("https://");
            is_url.then(|| text.clone())
        }
        ToolOutput::Content(parts) => parts.iter().find_map(|part| part.get("image_url")?.as_str().map(str::to_owned)),
    }
}

/// Returns the `output` of a shell call: a list of `{"stdout", "stderr", "outcome"}`. A tool that
/// returns such a list, or one object of it, as JSON determines it; other text is what the commands
/// have written.
fn shell_output(output: &ToolOutput, has_failed: bool) -> Value {
    let text = output.to_text();
    if has_failed {
        return json!([chunk("", &text, json!({"type": "exit", "exit_code": 1}))]);
    }
    let chunks = match serde_json::from_str(&text) {
        Ok(Value::Array(chunks)) => chunks,
        Ok(object @ Value::Object(_)) => vec![object],
        _ => Vec::new(),
    };
    let read: Option<Vec<Value>> = chunks.iter().map(read_chunk).collect();
    match read {
        Some(chunks) if !chunks.is_empty() => Value::Array(chunks),
        _ => json!([chunk(&text, "", json!({"type": "exit", "exit_code": 0}))]),
    }
}

fn chunk(stdout: &str, stderr: &str, outcome: Value) -> Value {
    json!({"stdout": stdout, "stderr": stderr, "outcome": outcome})
}

/// Returns what one command has written; `None` if the value says no such thing.
fn read_chunk(value: &Value) -> Option<Value> {
    let members = value.as_object()?;
    let known = ["stdout", "stderr", "outcome", "exit_code"];
    if members.is_empty() || members.keys().any(|name| !known.contains(&&**name)) {
        return None;
    }
    let text = |name: &str| match members.get(name) {
        None => Some(""),
        Some(text) => text.as_str(),
    };
    let outcome = match (members.get("outcome"), members.get("exit_code")) {
        (Some(outcome), None) => outcome.clone(),
        (None, None) => json!({"type": "exit", "exit_code": 0}),
        (None, Some(code)) => json!({"type": "exit", "exit_code": code.as_i64()?}),
        (Some(_), Some(_)) => return None,
    };
    Some(chunk(text("stdout")?, text("stderr")?, outcome))
}

#[cfg(test)]
mod tests;
