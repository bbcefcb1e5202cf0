//! Parses the argument string of a tool call.

use serde_json::{Map, Value};

use super::validate::{Issue, Validate, validate};
use crate::wire::error_debug;

/// The error of tool arguments that do not fit.
///
/// The message is exactly that of the Agents SDK, with a capital letter, for code that sends it to
/// a model; a run tells the model only that the tool failed. It never repeats the arguments: they
/// may be private. The violations in detail are in [`issues`](Self::issues).
///
/// # Retries
/// Not retried by Temporal: the same arguments fail again. The model may write better ones.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("Invalid JSON input for tool {tool}{}", kind.suffix())]
#[non_exhaustive]
pub struct InvalidArguments {
    /// Name of the tool.
    pub tool: String,
    /// The kind of the error.
    pub kind: InvalidArgumentsKind,
    /// The violations of the schema; empty unless the kind is
    /// [`Violation`](InvalidArgumentsKind::Violation).
    pub issues: Vec<Issue>,
}

error_debug!(struct InvalidArguments { tool, kind, issues });

/// The kind of an error in arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidArgumentsKind {
    /// The string is not JSON.
    NotJson,
    /// It is JSON, but not an object.
    NotAnObject,
    /// It is an object that violates the schema.
    Violation,
}

impl InvalidArgumentsKind {
    fn suffix(self) -> &'static str {
        match self {
            Self::NotAnObject => ": expected a JSON object",
            Self::NotJson | Self::Violation => "",
        }
    }
}

/// Parses the arguments of a tool call and checks them against the schema of the tool.
///
/// An empty string counts as `{}`. Pass the schema that the author supplied to allow optional
/// members to be missing, or the strict one to require all of them.
///
/// # Errors
/// [`InvalidArguments`] if the string is not JSON, not an object, or violates the schema.
///
/// # Source
/// Agents SDK, `FunctionTool` invocation.
pub fn parse_arguments(tool: &str, arguments: &str, schema: &Value) -> Result<Map<String, Value>, InvalidArguments> {
    parse_arguments_with(validate, tool, arguments, schema)
}

/// Parses arguments like [`parse_arguments`], with another function for the check against the
/// schema.
pub(crate) fn parse_arguments_with(
    validate: Validate,
    tool: &str,
    arguments: &str,
    schema: &Value,
) -> Result<Map<String, Value>, InvalidArguments> {
    let invalid = |kind, issues| InvalidArguments { tool: tool.to_owned(), kind, issues };

    let text = if arguments.is_empty() { "{}" } else { arguments };
    let parsed: Value = serde_json::from_str(text).map_err(|_| invalid(InvalidArgumentsKind::NotJson, Vec::new()))?;
    let checked = validate(schema, &parsed);
    let Value::Object(members) = parsed else {
        return Err(invalid(InvalidArgumentsKind::NotAnObject, Vec::new()));
    };
    match checked {
        Ok(()) => Ok(members),
        Err(issues) => Err(invalid(InvalidArgumentsKind::Violation, issues)),
    }
}

#[cfg(test)]
mod tests;
