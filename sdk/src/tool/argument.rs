//! What the model may write: the type of a tool's argument.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// The type of an argument: it has a schema, for the model to read, and is made from the model's JSON.
///
/// Nobody implements it by hand; the two derives do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a tool",
    label = "the model cannot write this type",
    note = "it, and every type in it, needs `#[derive(serde::Deserialize, schemars::JsonSchema)]` \
            and owns what it holds",
    note = "what the worker supplies is taken as `State<{Self}>`"
)]
pub trait ToolArgument: DeserializeOwned + JsonSchema + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + 'static> ToolArgument for T {}
