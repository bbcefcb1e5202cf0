//! Parses the argument string of a tool call.
//!
//! All hosts and all kinds of tools read arguments here. What is returned is the copy for the
//! tool's body; the conversation, guardrails, hooks and people see what the model wrote.
//!
//! # Design
//! **Integers are written as integers for every tool, also for those of other servers.** A schema
//! that says `integer` accepts `3.0` and `3` as the same value, and every reader that follows the
//! schema reads the latter; servers with typed languages often refuse the former. Where the schema
//! does not ask for an integer, a server gets what the model wrote.

use serde_json::{Map, Value};

use super::validate::{Issue, Validate, validate, with_integers};
use crate::wire::{
    arguments::{ArgumentsUnread, read_arguments},
    error_debug,
};

/// The error of tool arguments that do not fit.
///
/// The message is exactly that of the Agents SDK, with a capital letter, for code that sends it to
/// a model. It never repeats the arguments: they may be private. The violations in detail are in
/// [`issues`](Self::issues).
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
    /// The violations; empty if the kind is [`NotJson`](InvalidArgumentsKind::NotJson).
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
    /// It is an object that violates the schema, or that is not of the type that the body takes.
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
/// An empty text and `null` count as `{}`. A number such as `3.0` is returned as the integer 3
/// where the schema asks for an integer, so that serde reads it as one. Pass the schema that the
/// author supplied to allow optional members to be missing, or the strict one to require all of
/// them.
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
pub fn parse_arguments_with(
    validate: Validate,
    tool: &str,
    arguments: &str,
    schema: &Value,
) -> Result<Map<String, Value>, InvalidArguments> {
    let invalid = |kind, issues| InvalidArguments { tool: tool.to_owned(), kind, issues };
    let members = read_arguments(arguments).map_err(|unread| match unread {
        ArgumentsUnread::NotJson => invalid(InvalidArgumentsKind::NotJson, Vec::new()),
        ArgumentsUnread::NotAnObject => {
            invalid(InvalidArgumentsKind::NotAnObject, vec![Issue::of_tool("", "type", &"object".into())])
        }
    })?;
    let members = Value::Object(members);
    validate(schema, &members).map_err(|issues| invalid(InvalidArgumentsKind::Violation, issues))?;
    match with_integers(schema, members) {
        Value::Object(members) => Ok(members),
        _ => unreachable!("an object stays an object"),
    }
}

#[cfg(test)]
mod tests;
