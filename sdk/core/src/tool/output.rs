//! Conversion of a function's return value into the output for the model: the string itself, or
//! compact JSON, never Debug output.
//!
//! A tool may return a value or a `Result`. Both may implement `Serialize`, so a plain trait cannot
//! distinguish them; the macro calls `(&returned).tool_kind()`, and method resolution finds the
//! method of `Result` first.
//!
//! # Design
//! **Tool outputs are JSON.** A string is used as it is, any other value becomes its compact JSON:
//! models read JSON, and the output does not change with a derive. A `ToolDef` built by hand may
//! also return content parts (`ToolOutput::Content`: text, images, files), which the provider gets
//! as they are.

use serde::Serialize;
use serde_json::Value;

use super::error::ToolError;
use crate::wire::ToolOutput;

/// Converts a value into the string that the model gets: a string is used as it is, any other value
/// becomes its compact JSON.
///
/// # Errors
/// An error if the value cannot be written as JSON (for example a map whose keys are not strings).
pub fn text_of<T: Serialize + ?Sized>(value: &T) -> Result<String, ToolError> {
    Ok(match serde_json::to_value(value)? {
        Value::String(text) => text,
        value => value.to_string(),
    })
}

/// Selects the conversion of `Result<T, E>`.
pub trait ResultKind {
    /// Returns the conversion.
    fn tool_kind(&self) -> OfResult {
        OfResult
    }
}

impl<T, E> ResultKind for Result<T, E> {}

/// Selects the conversion of any other value.
pub trait ValueKind {
    /// Returns the conversion.
    fn tool_kind(&self) -> OfValue {
        OfValue
    }
}

impl<T> ValueKind for &T {}

/// Converts a function's return value of type `Result<T, E>`.
#[derive(Clone, Copy, Debug)]
pub struct OfResult;

impl OfResult {
    /// Returns the output, or the failure.
    ///
    /// # Errors
    /// The error that the function returned, or an error if the value cannot be written as JSON.
    pub fn into_output<T: ToolReturn, E: ErrorReturn>(self, returned: Result<T, E>) -> Result<ToolOutput, ToolError> {
        returned.map_err(ErrorReturn::into_tool_error)?.into_output()
    }
}

/// Converts a function's return value that is not a `Result`.
#[derive(Clone, Copy, Debug)]
pub struct OfValue;

impl OfValue {
    /// Returns the output.
    ///
    /// # Errors
    /// An error if the value cannot be written as JSON.
    pub fn into_output<T: ToolReturn>(self, returned: T) -> Result<ToolOutput, ToolError> {
        returned.into_output()
    }
}

/// A value that a tool may return: any type that implements `Serialize`. Content parts need a
/// `ToolDef` built by hand: here they would become a JSON string.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not serialisable",
    note = "derive `serde::Serialize` for it, or return a `String`"
)]
pub trait ToolReturn {
    /// Converts the value into the output that the model gets.
    ///
    /// # Errors
    /// An error if the value cannot be written as JSON.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> ToolReturn for T {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        text_of(&self).map(ToolOutput::Text)
    }
}

/// An error that a tool may return: a [`ToolError`], or any type that converts into one.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with `{Self}`",
    label = "`{Self}` is not an error",
    note = "return `Result<_, ToolError>`: `?` converts any `std::error::Error`, `ToolError::failed(message)` a string"
)]
pub trait ErrorReturn {
    /// Converts the error into the failure of the tool.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> ErrorReturn for E {
    fn into_tool_error(self) -> ToolError {
        self.into()
    }
}

#[cfg(test)]
mod tests;
