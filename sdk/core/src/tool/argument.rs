//! The bound on types that a tool can have as an argument.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// A type that a tool can have as an argument: it has a schema for the model to read, and is
/// deserialized from the model's JSON.
///
/// Not implemented by hand: every type that derives `Deserialize` and `JsonSchema` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "the model cannot write this type",
    note = "this type, and every type in it, needs `#[derive(serde::Deserialize, schemars::JsonSchema)]` and must own \
            its data",
    note = "a value that the worker supplies has the type `State<{Self}>`"
)]
pub trait ToolArgument: DeserializeOwned + JsonSchema + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + 'static> ToolArgument for T {}
