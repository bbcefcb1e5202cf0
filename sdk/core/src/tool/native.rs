//! Tools that a provider defines and the run executes: the model knows them, so they have no schema
//! of the author's.

use serde_json::{Map, Value, json};

use super::definition::ToolDef;
use crate::wire::{NativeKind, ToolSpec};

/// A tool that the provider's models know, and whose calls one of the author's tools makes, set
/// with [`Tool::native`](super::Tool::native).
///
/// The tool receives the parts of the call as arguments, and its output becomes the output of that
/// kind of call:
///
/// - [`shell`](Self::shell): `commands`, and `timeout_ms` and `max_output_length` if the model sets
///   them. The output is the text that the commands have written, or JSON, for example
///   `{"stdout": "", "stderr": "", "exit_code": 0}`, with any of these members, or a list of such
///   objects.
/// - [`local_shell`](Self::local_shell): `command` (a list), `env`, `timeout_ms`, `user`,
///   `working_directory`. The output is text.
/// - [`apply_patch`](Self::apply_patch): `type` (`create_file`, `update_file` or `delete_file`),
///   `path`, `diff`. The output is text.
/// - [`computer`](Self::computer): `action` or `actions`, and `pending_safety_checks`. The output
///   is an image: a content part with `image_url`, or the URL as text.
/// - [`custom`](Self::custom): `input`, a string. The output is text or content parts.
///
/// Everything else is as for other tools: the binding, the gate of the run, approvals, guardrails,
/// retries. A failure that the model is told of, and a rejection, have the form of a failed call. A
/// computer has no such form: its call must return an image, otherwise the run fails. Each call of
/// it with pending safety checks waits for a person, whose approval acknowledges them, whatever the
/// approval rule of the tool is.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// # use temporal_agents_macros::tool;
/// use temporal_agents::{Agent, Tool, tool, tool::NativeTool};
///
/// /// Runs commands in the sandbox.
/// #[tool]
/// async fn run_commands(commands: Vec<String>, timeout_ms: Option<u64>) -> String {
///     format!("{} commands, {timeout_ms:?}", commands.len())
/// }
///
/// let engineer: Agent = Agent::new("engineer")
///     .model("gpt-5.1")
///     .tool(run_commands.native(NativeTool::shell()).needs_approval());
/// ```
///
/// Only the Responses API has such tools: a call of a model with one fails elsewhere.
///
/// # Source
/// `ShellTool`, `LocalShellTool`, `ApplyPatchTool`, `ComputerTool` and `CustomTool` of the OpenAI
/// Agents SDK. Unlike there, a failure or a rejection of a local shell is told to the model, and
/// safety checks are acknowledged by a person.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeTool {
    kind: NativeKind,
    name: String,
    config: Map<String, Value>,
}

impl NativeTool {
    /// Creates the tool for commands in a shell of the caller.
    pub fn shell() -> Self {
        Self::of(NativeKind::Shell, json!({"type": "shell", "environment": {"type": "local"}}))
    }

    /// Creates the tool of earlier models for one program with arguments.
    pub fn local_shell() -> Self {
        Self::of(NativeKind::LocalShell, json!({"type": "local_shell"}))
    }

    /// Creates the tool for changes of files.
    pub fn apply_patch() -> Self {
        Self::of(NativeKind::ApplyPatch, json!({"type": "apply_patch"}))
    }

    /// Creates the tool for a graphical interface of this width and height in pixels; `environment`
    /// is `browser`, `mac`, `windows`, `ubuntu` or `linux`.
    pub fn computer(width: u32, height: u32, environment: &str) -> Self {
        let config = json!({
            "type": "computer_use_preview",
            "display_width": width,
            "display_height": height,
            "environment": environment,
        });
        Self::of(NativeKind::Computer, config)
    }

    /// Creates a tool that takes a string instead of JSON. `set("format", ..)` restricts it to a
    /// grammar.
    pub fn custom(name: impl Into<String>, description: impl Into<String>) -> Self {
        let (name, description): (String, String) = (name.into(), description.into());
        let config = json!({"type": "custom", "name": name, "description": description});
        Self { name, ..Self::of(NativeKind::Custom, config) }
    }

    /// Sets a member of the object that the provider receives.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config.insert(key.to_owned(), value.into());
        self
    }

    fn of(kind: NativeKind, config: Value) -> Self {
        let config = match config {
            Value::Object(config) => config,
            _ => Map::new(),
        };
        Self { kind, name: kind.tool().unwrap_or_default().to_owned(), config }
    }

    /// Returns the name of the tool.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kind of its calls.
    pub(super) fn kind(&self) -> NativeKind {
        self.kind
    }

    /// Returns the tool as the model sees it.
    pub(super) fn spec(&self) -> ToolSpec {
        ToolSpec::Hosted { name: self.name.clone(), config: self.config.clone() }
    }
}

impl ToolDef {
    /// Returns the tool in the place of one that the provider defines.
    pub(super) fn in_place_of(mut self, native: NativeTool) -> Self {
        self.set_native(native);
        self
    }
}

#[cfg(test)]
mod tests;
