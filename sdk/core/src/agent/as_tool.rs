//! An agent that other agents call like a function.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{def::AgentDef, handoff::to_tool_name};
use crate::{
    tool::{Tool, ToolBinding, ToolDef, name::to_function_name, schema},
    wire::NewItem,
};

/// An agent as a tool: each call is a separate run, and its final output is the output of the tool.
///
/// The run shares the caller's run context, and its usage counts into the caller's usage; its items
/// are not added to the caller's. It has its own turn limit (default 10) and its own guardrails,
/// and none of the caller's hooks, session and error handlers. Calls in it that need approval also
/// pause the caller's run.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::Agent;
///
/// let translator =
///     Agent::new("translator").model("gpt-5").instructions("You translate to French.");
/// let writer = Agent::new("writer")
///     .model("gpt-5")
///     .tool(translator.as_tool().description("Translates to French.").max_turns(3));
/// # let _: Agent<String> = writer;
/// ```
#[derive(Clone)]
pub struct AgentTool {
    agent: Arc<AgentDef>,
    name: Option<String>,
    description: String,
    max_turns: Option<u32>,
    extract: Option<ExtractOutput>,
}

/// Default turn limit of a run of the agent, in model calls.
const DEFAULT_MAX_TURNS: u32 = 10;

/// A function that returns the output of the tool for the result of the agent's run.
pub type ExtractOutput = Arc<dyn Fn(&AgentToolResult<'_>) -> String + Send + Sync>;

/// The result of one run of an agent that is used as a tool.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AgentToolResult<'a> {
    /// The final output: a string for plain text, otherwise the parsed value.
    pub final_output: &'a Value,
    /// The items of the run, in order.
    pub new_items: &'a [NewItem],
    /// Name of the agent that returned the output.
    pub last_agent: &'a str,
}

impl<'a> AgentToolResult<'a> {
    /// Returns the result of a run that ended with this output, these items and this agent.
    pub fn new(final_output: &'a Value, new_items: &'a [NewItem], last_agent: &'a str) -> Self {
        Self { final_output, new_items, last_agent }
    }
}

/// The arguments of an agent used as a tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "AgentAsToolInput", description = "Default input schema for agent-as-tool calls.")]
struct AgentToolInput {
    input: String,
}

impl AgentTool {
    pub(super) fn new(agent: Arc<AgentDef>) -> Self {
        Self { agent, name: None, description: String::new(), max_turns: None, extract: None }
    }

    /// Sets the name that the model calls. Default: the agent's name in lower case, with `_` for
    /// each character that a tool name cannot have.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the description of the agent for the model that may call it. Default: empty.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the turn limit of one run of the agent, in model calls. Default: 10.
    #[must_use]
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.max_turns = Some(max_turns);
        self
    }

    /// Sets the function that returns the output of the tool for the result of a run. Default: the
    /// final output, or the last message of the run if that is empty.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn extract_output(mut self, extract: impl Fn(&AgentToolResult<'_>) -> String + Send + Sync + 'static) -> Self {
        self.extract = Some(Arc::new(extract));
        self
    }

    /// Returns the tool definition with this binding.
    pub(super) fn bound(&self, binding: ToolBinding) -> ToolDef {
        let name = self.name.clone().unwrap_or_else(|| to_function_name(&to_tool_name(&self.agent.name)));
        ToolDef::new(name, self.description.clone(), schema::schema_of::<AgentToolInput>(), binding)
    }

    /// The agent that the tool runs.
    pub fn agent(&self) -> &Arc<AgentDef> {
        &self.agent
    }

    /// The turn limit of one run of the agent, in model calls: the limit that was set, or the
    /// default.
    pub fn turn_limit(&self) -> Option<u32> {
        self.max_turns.or(Some(DEFAULT_MAX_TURNS))
    }

    /// The turn limit that [`max_turns`](Self::max_turns) set, if any.
    #[doc(hidden)]
    pub fn given_turn_limit(&self) -> Option<u32> {
        self.max_turns
    }

    /// The function that returns the output of the tool, if one was set.
    #[doc(hidden)]
    pub fn extractor(&self) -> Option<&ExtractOutput> {
        self.extract.as_ref()
    }
}

impl Tool for AgentTool {
    fn definition(&self) -> ToolDef {
        self.bound(ToolBinding::Agent(Arc::new(self.clone())))
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTool")
            .field("agent", &self.agent.name)
            .field("max_turns", &self.max_turns)
            .finish_non_exhaustive()
    }
}
