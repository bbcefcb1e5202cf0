//! From what a function returns to what the model gets: the string itself, or compact JSON, never Debug text.
//!
//! A tool may return a value or a `Result`. Both are `Serialize`, so a plain trait cannot tell them apart; the macro
//! asks the value for its kind (`(&returned).tool_kind()`), and method resolution finds `Result` first.
//!
//! # Design
//! **Tool outputs are JSON.** A string is itself, anything else its compact JSON: a model reads
//! JSON, and the text does not change with a derive. A `ToolDef` made by hand may also return
//! content parts (`ToolOutput::Content`: text, images, files), which the provider gets as they are.

use serde::Serialize;
use serde_json::Value;

use super::error::ToolError;
use crate::wire::ToolOutput;

/// The text a value becomes: a string is itself, anything else its compact JSON.
///
/// # Errors
/// When the value cannot be written as JSON (a map with keys that are no strings, say).
pub fn text_of<T: Serialize + ?Sized>(value: &T) -> Result<String, ToolError> {
    Ok(match serde_json::to_value(value)? {
        Value::String(text) => text,
        value => value.to_string(),
    })
}

/// Picks the conversion of `Result<T, E>`.
pub trait ResultKind {
    /// The conversion.
    fn tool_kind(&self) -> OfResult {
        OfResult
    }
}

impl<T, E> ResultKind for Result<T, E> {}

/// Picks the conversion of any other value.
pub trait ValueKind {
    /// The conversion.
    fn tool_kind(&self) -> OfValue {
        OfValue
    }
}

impl<T> ValueKind for &T {}

/// Converts what a function returned as `Result<T, E>`.
#[derive(Clone, Copy, Debug)]
pub struct OfResult;

impl OfResult {
    /// The output, or the failure.
    ///
    /// # Errors
    /// The function's own error.
    #[expect(clippy::unused_self, reason = "the value is what picks the conversion")]
    pub fn into_output<T: ToolReturn, E: ToolFailure>(self, returned: Result<T, E>) -> Result<ToolOutput, ToolError> {
        returned.map_err(ToolFailure::into_failure)?.into_output()
    }
}

/// Converts what a function returned as a plain value.
#[derive(Clone, Copy, Debug)]
pub struct OfValue;

impl OfValue {
    /// The output.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    #[expect(clippy::unused_self, reason = "the value is what picks the conversion")]
    pub fn into_output<T: ToolReturn>(self, returned: T) -> Result<ToolOutput, ToolError> {
        returned.into_output()
    }
}

/// A value a tool may return: anything that serialises. Content parts need a `ToolDef` by hand: here they would be JSON text.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not serialisable",
    note = "derive `serde::Serialize` for it, or return a `String`"
)]
pub trait ToolReturn {
    /// What the model gets.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> ToolReturn for T {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        text_of(&self).map(ToolOutput::Text)
    }
}

/// An error a tool may return: a [`ToolError`], or anything that becomes one.
#[diagnostic::on_unimplemented(
    message = "a tool cannot fail with `{Self}`",
    label = "`{Self}` is no error",
    note = "return `Result<_, ToolError>`: any `std::error::Error` becomes one by `?`, \
            a text by `ToolError::failed(text)`"
)]
pub trait ToolFailure {
    /// The failure of the tool.
    fn into_failure(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> ToolFailure for E {
    fn into_failure(self) -> ToolError {
        self.into()
    }
}

#[cfg(test)]
mod tests;
