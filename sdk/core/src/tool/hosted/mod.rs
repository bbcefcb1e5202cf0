//! Tools that the provider runs, as objects of its Responses API: options that are not set are not
//! sent.

mod code_interpreter;
mod file_search;
mod image_generation;
mod mcp;
mod web_search;

use serde_json::{Map, Value};

pub use self::{
    code_interpreter::CodeInterpreter,
    file_search::FileSearch,
    image_generation::ImageGeneration,
    mcp::{HostedMcp, RequireApproval},
    web_search::{UserLocation, WebSearch},
};
use crate::wire::ToolSpec;

/// A tool that the provider runs during a model call; added with
/// [`Agent::hosted`](crate::agent::Agent::hosted).
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::{
///     Agent,
///     tool::{HostedTool, RequireApproval},
/// };
///
/// let researcher = Agent::new("researcher")
///     .model("gpt-5")
///     .hosted(
///         HostedTool::web_search().search_context_size("low").allowed_domains(["temporal.io"]),
///     )
///     .hosted(HostedTool::file_search(["vs_1"]).max_num_results(5))
///     .hosted(
///         HostedTool::mcp("crm", "https://crm.example/mcp")
///             .require_approval(RequireApproval::Always),
///     );
/// ```
///
/// The configuration is recorded in history with every call, so it must not hold a secret. Options
/// for which the builders have no method are set with `set`. The Chat Completions API has no such
/// tools: a call with one fails there.
///
/// # Source
/// The hosted tools of the OpenAI Agents SDK.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedTool {
    name: &'static str,
    config: Map<String, Value>,
}

impl HostedTool {
    /// Creates a tool that searches the web.
    pub fn web_search() -> WebSearch {
        WebSearch(Self::of("web_search", "web_search"))
    }

    /// Creates a tool that searches files in these vector stores of the provider.
    pub fn file_search(vector_store_ids: impl IntoIterator<Item = impl Into<String>>) -> FileSearch {
        let ids = texts(vector_store_ids);
        FileSearch(Self::of("file_search", "file_search").with("vector_store_ids", ids))
    }

    /// Creates a tool that runs Python in a container of the provider, a new one unless
    /// [another](CodeInterpreter::container) is named.
    pub fn code_interpreter() -> CodeInterpreter {
        let container = Value::Object(Map::from_iter([("type".to_owned(), "auto".into())]));
        CodeInterpreter(Self::of("code_interpreter", "code_interpreter").with("container", container))
    }

    /// Creates a tool that draws images.
    pub fn image_generation() -> ImageGeneration {
        ImageGeneration(Self::of("image_generation", "image_generation"))
    }

    /// Creates a tool with which the provider calls the tools of an MCP server at this address.
    pub fn mcp(server_label: impl Into<String>, server_url: impl Into<String>) -> HostedMcp {
        HostedMcp(Self::mcp_of(server_label).with("server_url", server_url.into()))
    }

    /// Creates a tool with which the provider calls the tools of one of its own connectors, for
    /// example `connector_gmail`.
    pub fn mcp_connector(server_label: impl Into<String>, connector_id: impl Into<String>) -> HostedMcp {
        HostedMcp(Self::mcp_of(server_label).with("connector_id", connector_id.into()))
    }

    fn mcp_of(server_label: impl Into<String>) -> Self {
        Self::of("hosted_mcp", "mcp").with("server_label", server_label.into())
    }

    fn of(name: &'static str, kind: &str) -> Self {
        Self { name, config: Map::from_iter([("type".to_owned(), kind.into())]) }
    }

    /// Returns the tool's name in tool choices and logs.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns the object that the provider gets.
    pub fn config(&self) -> &Map<String, Value> {
        &self.config
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.config.insert(key.to_owned(), value.into());
        self
    }

    /// Sets a member of an object in the configuration; the object is created if it does not exist.
    fn with_in(mut self, object: &str, key: &str, value: impl Into<Value>) -> Self {
        let inner = self.config.entry(object).or_insert_with(|| Value::Object(Map::new()));
        if !inner.is_object() {
            *inner = Value::Object(Map::new());
        }
        inner[key] = value.into();
        self
    }
}

impl From<HostedTool> for ToolSpec {
    fn from(HostedTool { name, config }: HostedTool) -> Self {
        Self::Hosted { name: name.to_owned(), config }
    }
}

fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Value {
    texts.into_iter().map(|text| Value::String(text.into())).collect()
}

/// Implements the methods and conversions that all builders have.
macro_rules! builder {
    ($name:ident) => {
        impl $name {
            /// Sets any member of the object that the provider gets, also one for which this
            /// builder has no method.
            #[must_use]
            pub fn set(self, key: &str, value: impl Into<serde_json::Value>) -> Self {
                Self(self.0.with(key, value))
            }
        }

        impl From<$name> for super::HostedTool {
            fn from(tool: $name) -> Self {
                tool.0
            }
        }
    };
}
use builder;

#[cfg(test)]
mod tests;
