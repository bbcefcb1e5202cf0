//! Tools by name, for loops other than ours: checked when they are registered, dispatched, and
//! exported for a provider.
//!
//! | file | contents |
//! |---|---|
//! | here | the registry |
//! | `dispatch.rs` | calls |
//! | `export.rs` | definitions in the form of each provider |
//! | `mcp.rs` | the tools of MCP servers (feature `mcp`) |
//! | `error.rs` | errors |
//!
//! It is not a second tool system: it holds the [`ToolDef`]s that agents have, and a call is
//! processed like that of a run.

mod dispatch;
mod error;
mod export;
#[cfg(feature = "mcp")]
mod mcp;

use std::{collections::BTreeSet, fmt, time::Duration};

use temporal_agents_core::tool::{Tool, ToolDef, schema};

pub(super) use self::dispatch::Served;
pub use self::{
    dispatch::{Dispatch, DispatchResult},
    error::{DispatchError, RegisterError},
};
use crate::{inline::host::Patience, resources::Resources};

/// Tools by name, in the order of their registration: to call them by hand, in an activity or a
/// loop of your own, and to offer them to a model through any client. An agent that is built with
/// [`tools`](Self::tools) has the same tools.
///
/// ```
/// use serde_json::json;
/// use temporal_agents::{Agent, ToolError, tool, worker::ToolRegistry};
///
/// /// Adds two numbers.
/// #[tool(inline)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// The balance of an account.
/// #[tool(start_to_close = "5s")]
/// async fn balance(account: String) -> Result<i64, ToolError> {
///     Err(ToolError::tell_model(format!("there is no account {account}")))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = ToolRegistry::default().register(add)?.register(balance)?;
/// assert_eq!(registry.names().collect::<Vec<_>>(), ["add", "balance"]);
///
/// // The call of a model, and the output for it.
/// let sum = registry.dispatch("add", r#"{"a": 3, "b": 4}"#).await?;
/// assert_eq!((sum.text().as_str(), sum.is_error()), ("7", false));
/// let failed =
///     registry.dispatch("balance", json!({"account": "7"}).to_string()).call_id("call_1").await?;
/// assert_eq!((failed.text().as_str(), failed.is_error()), ("there is no account 7", true));
///
/// let request = json!({"model": "some-model", "tools": registry.to_openai()});
/// let clerk: Agent = Agent::new("clerk").model("gpt-5").tools(registry.tools());
/// # let _ = (request, clerk);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<ToolDef>,
    resources: Resources,
    patience: Patience,
}

impl ToolRegistry {
    /// Creates a registry without tools. Its tools use the states, the spill store, the environment
    /// variables and the MCP servers of these resources, not the model providers and session
    /// stores.
    pub fn new(resources: impl Into<Resources>) -> Self {
        Self { resources: resources.into().of_one_host(), ..Self::default() }
    }

    /// Adds a tool: anything that an agent accepts in `.tool(..)`.
    ///
    /// # Errors
    /// [`RegisterError`], if the registry has a tool of this name, or the definition is invalid.
    pub fn register(self, tool: impl Tool) -> Result<Self, RegisterError> {
        self.register_all([tool.definition()])
    }

    /// Adds tools, in this order: a set, `register_all(Desk::tools())`, or [those of an MCP
    /// server](temporal_agents_core::tool::McpServer::tools_with_client).
    ///
    /// # Errors
    /// [`RegisterError`] of the first tool that cannot be added.
    pub fn register_all(mut self, tools: impl IntoIterator<Item = impl Tool>) -> Result<Self, RegisterError> {
        self.add_all(tools)?;
        Ok(self)
    }

    /// Adds a tool to an existing registry, like [`register`](Self::register); an error leaves the
    /// registry unchanged.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub fn add(&mut self, tool: impl Tool) -> Result<(), RegisterError> {
        self.add_all([tool.definition()])
    }

    /// Adds tools to an existing registry, like [`register_all`](Self::register_all); an error
    /// leaves the registry unchanged.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub fn add_all(&mut self, tools: impl IntoIterator<Item = impl Tool>) -> Result<(), RegisterError> {
        let tools: Vec<ToolDef> = tools.into_iter().map(|tool| tool.definition()).collect();
        let mut names: BTreeSet<&str> = self.names().collect();
        for tool in &tools {
            if !tool.issues().is_empty() {
                return Err(RegisterError::Invalid { tool: tool.name().to_owned(), issues: tool.issues().to_vec() });
            }
            if !names.insert(tool.name()) {
                return Err(RegisterError::Duplicate { tool: tool.name().to_owned() });
            }
        }
        for tool in &tools {
            let keywords = schema::unchecked(tool.accepts());
            if !keywords.is_empty() {
                tracing::warn!(tool = tool.name(), ?keywords, "arguments are not checked against these keywords");
            }
        }
        self.tools.extend(tools);
        Ok(())
    }

    /// Sets the pause before the first retry of a tool; it doubles with each retry. Default 1 s.
    #[must_use]
    pub fn first_pause(mut self, pause: Duration) -> Self {
        self.patience.first_pause = pause;
        self
    }

    /// Returns the tools, in the order of their registration, for
    /// [`Agent::tools`](temporal_agents_core::agent::Agent::tools). The runner or worker that runs the agent has states
    /// of its own.
    pub fn tools(&self) -> Vec<ToolDef> {
        self.tools.clone()
    }

    /// Returns an iterator over the tools, in the order of their registration.
    pub fn iter(&self) -> std::slice::Iter<'_, ToolDef> {
        self.tools.iter()
    }

    /// Returns the names of the tools, in the order of their registration.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(ToolDef::name)
    }

    /// Returns the tool of this name.
    pub fn get(&self, name: &str) -> Option<&ToolDef> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns `true` if the registry has no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl<'r> IntoIterator for &'r ToolRegistry {
    type Item = &'r ToolDef;
    type IntoIter = std::slice::Iter<'r, ToolDef>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRegistry")
            .field("tools", &self.names().collect::<Vec<_>>())
            .field("resources", &self.resources)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
