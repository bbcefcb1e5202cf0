//! What a tool is: a description for the model, and a body that runs in the workflow or in an activity.
//!
//! `#[tool]` turns a function into a [`Tool`]; [`ToolDef`] is the same by hand. Nothing here knows of the worker, so a
//! crate of tools compiles without it.

mod argument;
mod binding;
mod context;
mod definition;
mod error;
mod options;
mod output;
mod run_context;
pub mod schema;
mod state;

pub use argument::ToolArgument;
pub use binding::{ActivityBody, InlineBody, ToolBinding};
pub use context::{CallInfo, Heartbeat, ToolContext};
pub use definition::{ToolDef, ToolIssue};
pub use error::{ToolError, ToolErrorKind};
pub use options::ToolActivityOptions;
pub use output::{ResultKind, ValueKind, text_of};
pub use run_context::{ContextError, RunContext};
pub use state::{FromToolContext, State, StateMap, StateRequirement};

/// Something a model can call.
///
/// `#[tool]` implements it for a unit struct named like the function, so that `.tool(get_weather)` reads well. A
/// [`ToolDef`] is a tool, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "write `#[tool]` above the function, or build a `ToolDef` by hand"
)]
pub trait Tool {
    /// Everything there is to know of the tool: description, schema, body, options.
    fn definition(&self) -> ToolDef;
}

impl Tool for ToolDef {
    fn definition(&self) -> ToolDef {
        self.clone()
    }
}
