//! Runtime support for the expansion of `#[guardrail]`: conversions from functions to guardrails.
//!
//! A pure function receives the input or the output in the loop. A function in an activity receives
//! the input or output in the arguments of its activity, and returns its result as JSON.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    guardrail::{Check, CheckInput, CheckOutput, GuardrailContext, GuardrailInput, GuardrailOutput},
    output::read_output,
};
use crate::{
    tool::{ActivityBody, BoxError, ToolActivityOptions, ToolBinding, ToolContext, ToolDef, ToolError},
    wire::{Item, ToolOutput},
};

/// A pure function that checks an input.
pub(crate) type PureInput = fn(&GuardrailContext<'_>, &GuardrailInput<'_>) -> Result<GuardrailOutput, BoxError>;

/// A pure function that checks an output.
pub(crate) type PureOutput = fn(&GuardrailContext<'_>, &Value) -> Result<GuardrailOutput, BoxError>;

/// A function that checks, in an activity, the items of an input or an output.
pub(crate) type ActivityGuardrailFn<S> =
    for<'a> fn(&'a mut ToolContext, S) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

/// Returns the implementation of an input guardrail by a pure function.
pub fn pure_input(check: PureInput) -> Check<CheckInput> {
    Check::Pure(Arc::new(check))
}

/// Returns the implementation of an output guardrail by a pure function.
pub fn pure_output(check: PureOutput) -> Check<CheckOutput> {
    Check::Pure(Arc::new(check))
}

/// Returns the activity of an input guardrail.
pub fn input_activity(name: &str, description: &str, body: ActivityGuardrailFn<Vec<Item>>) -> ToolDef {
    in_activity(name, description, "input", body)
}

/// Returns the activity of an output guardrail.
pub fn output_activity(name: &str, description: &str, body: ActivityGuardrailFn<Value>) -> ToolDef {
    in_activity(name, description, "output", body)
}

fn in_activity<S: DeserializeOwned + 'static>(
    name: &str,
    description: &str,
    shown: &'static str,
    body: ActivityGuardrailFn<S>,
) -> ToolDef {
    let body: ActivityBody =
        Arc::new(move |ctx, mut arguments| match serde_json::from_value(arguments.remove(shown).unwrap_or_default()) {
            Ok(seen) => body(ctx, seen),
            Err(error) => Box::pin(std::future::ready(Err(error.into()))),
        });
    let parameters = json!({"type": "object", "properties": {"agent": {"type": "string"}, shown: {}}});
    let binding = ToolBinding::Activity { body, options: ToolActivityOptions::default() };
    ToolDef::new(name, description, parameters, binding).not_strict().for_guardrail()
}

/// Returns the context of a guardrail in an activity: the agent, and the keys of the run context
/// that the guardrail names.
pub fn guardrail_context(ctx: &ToolContext) -> GuardrailContext<'_> {
    GuardrailContext::new(&ctx.info().agent, ctx.run())
}

/// Returns an output as text: a string as it is, any other value as JSON.
pub fn output_text(output: &Value) -> String {
    output.as_str().map_or_else(|| output.to_string(), str::to_owned)
}

/// An error: the final output is not of the type that the guardrail takes.
#[derive(Debug, thiserror::Error)]
#[error("the final output is not a {expected}: {source}")]
pub struct OutputMismatch {
    expected: &'static str,
    source: serde_json::Error,
}

/// Returns the output as the type that the guardrail takes.
///
/// # Errors
/// The output is not of that type.
pub fn parse_output<T: GuardedOutput>(output: &Value) -> Result<T, OutputMismatch> {
    let expected = std::any::type_name::<T>();
    read_output(output).map_err(|source| OutputMismatch { expected, source })
}

/// A type as which an output guardrail can take the output.
///
/// Not for manual implementation: every type that derives `serde::Deserialize` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output that a guardrail checks",
    label = "cannot be deserialized from JSON",
    note = "derive `serde::Deserialize` for it, or take the output as `&str` or `&serde_json::Value`"
)]
pub trait GuardedOutput: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> GuardedOutput for T {}

/// A return type of pure guardrails.
#[diagnostic::on_unimplemented(
    message = "a guardrail cannot return `{Self}`",
    label = "not the result of a guardrail",
    note = "return `GuardrailOutput`, or `Result<GuardrailOutput, E>`; `GuardrailOutput::trip_if(..)` takes a `bool`"
)]
pub trait GuardrailReturn {
    /// Converts the value to the result of the guardrail.
    ///
    /// # Errors
    /// The function's own error.
    fn into_found(self) -> Result<GuardrailOutput, BoxError>;
}

impl GuardrailReturn for GuardrailOutput {
    fn into_found(self) -> Result<GuardrailOutput, BoxError> {
        Ok(self)
    }
}

impl<E: GuardrailFailure> GuardrailReturn for Result<GuardrailOutput, E> {
    fn into_found(self) -> Result<GuardrailOutput, BoxError> {
        self.map_err(GuardrailFailure::into_failure)
    }
}

/// An error type of pure guardrails.
#[diagnostic::on_unimplemented(
    message = "a pure guardrail cannot fail with `{Self}`",
    label = "`{Self}` is not an error",
    note = "return `Result<GuardrailOutput, E>` with any `E: std::error::Error`, or with a `String`"
)]
pub trait GuardrailFailure {
    /// Converts the error to a [`BoxError`].
    fn into_failure(self) -> BoxError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>> GuardrailFailure for E {
    fn into_failure(self) -> BoxError {
        self.into()
    }
}

/// A return type of guardrails in activities.
#[diagnostic::on_unimplemented(
    message = "a guardrail cannot return `{Self}`",
    label = "not the result of a guardrail",
    note = "return `GuardrailOutput`, or `Result<GuardrailOutput, ToolError>`; `GuardrailOutput::trip_if(..)` takes a \
            `bool`"
)]
pub trait ActivityReturn {
    /// Converts the value to the result of the guardrail, as JSON.
    ///
    /// # Errors
    /// The function's own error.
    fn into_output(self) -> Result<ToolOutput, ToolError>;
}

impl ActivityReturn for GuardrailOutput {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        Ok(serde_json::to_string(&self)?.into())
    }
}

impl<E: ActivityFailure> ActivityReturn for Result<GuardrailOutput, E> {
    fn into_output(self) -> Result<ToolOutput, ToolError> {
        self.map_err(ActivityFailure::into_failure)?.into_output()
    }
}

/// An error type of guardrails in activities.
#[diagnostic::on_unimplemented(
    message = "a guardrail in an activity cannot fail with `{Self}`",
    label = "`{Self}` is not an error",
    note = "return `Result<GuardrailOutput, ToolError>`: `?` converts any `std::error::Error`, \
            `ToolError::failed(message)` a string, `ToolError::transient(message)` a failure to retry"
)]
pub trait ActivityFailure {
    /// Converts the error to the failure of the activity.
    fn into_failure(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> ActivityFailure for E {
    fn into_failure(self) -> ToolError {
        self.into()
    }
}
