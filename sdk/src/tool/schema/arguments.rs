//! Parses the argument string of a tool call.

use serde_json::{Map, Value};

use super::validate::{Issue, Validate, validate};
use crate::wire::error_debug;

/// The arguments that a model wrote for a tool do not fit.
///
/// The text is exactly that of the Agents SDK, with a capital letter, for those who pass it on to a model; a run tells the model
/// only that the tool failed. It never repeats the arguments: they may be private. What is wrong in detail is in
/// [`issues`](Self::issues).
///
/// # Retries
/// Not by Temporal: the same arguments fail again. The model may write better ones.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("Invalid JSON input for tool {tool}{}", kind.suffix())]
#[non_exhaustive]
pub struct InvalidArguments {
    /// Name of the tool.
    pub tool: String,
    /// What kind of mistake it is.
    pub kind: InvalidArgumentsKind,
    /// What violates the schema; empty unless the kind is [`Violation`](InvalidArgumentsKind::Violation).
    pub issues: Vec<Issue>,
}

error_debug!(struct InvalidArguments { tool, kind, issues });

/// In what way arguments do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidArgumentsKind {
    /// The string is not JSON.
    NotJson,
    /// It is JSON, but not an object.
    NotAnObject,
    /// It is an object that the schema does not allow.
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
/// An empty string counts as `{}`. Pass the schema that the author gave to let optional members be missing, or the
/// strict one to insist on all of them.
///
/// # Errors
/// [`InvalidArguments`] if the string is not JSON, not an object, or violates the schema.
///
/// # Source
/// Agents SDK, `FunctionTool` invocation.
pub fn parse_arguments(tool: &str, arguments: &str, schema: &Value) -> Result<Map<String, Value>, InvalidArguments> {
    parse_arguments_with(validate, tool, arguments, schema)
}

/// Parses arguments like [`parse_arguments`], with another check against the schema.
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
