//! An agent that other agents call like a function.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{def::AgentDef, handoff::tool_name_of};
use crate::{
    tool::{Tool, ToolBinding, ToolDef, schema},
    wire::NewItem,
};

/// An agent as a tool: each call is a run of its own, and its final output is the tool's output.
///
/// The run shares the caller's context and counts into its usage; its items stay its own. It has
/// its own turn limit (default 10), its own guardrails, and none of the caller's hooks, session and
/// error handlers. Calls in it that need approval pause the caller's run, too.
///
/// ```
/// use temporal_agents::Agent;
///
/// let translator = Agent::new("translator").model("gpt-5").instructions("You translate to French.");
/// let writer = Agent::new("writer").model("gpt-5").tool(translator.as_tool().description("Translates to French.").max_turns(3));
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

/// Most model calls of a run of it, unless it says more.
const MOST_TURNS: u32 = 10;

/// A function that makes the tool's output of what the agent's run gave.
pub type ExtractOutput = Arc<dyn Fn(&AgentToolResult<'_>) -> String + Send + Sync>;

/// What the run of an agent used as a tool gave.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AgentToolResult<'a> {
    /// The final output: a string for plain text, else the parsed value.
    pub final_output: &'a Value,
    /// What happened in the run.
    pub new_items: &'a [NewItem],
    /// The agent that gave the output.
    pub last_agent: &'a str,
}

impl<'a> AgentToolResult<'a> {
    /// A run that ended like this.
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

    /// The name the model calls. Default: the agent's name in lower case, with `_` for what a name
    /// cannot have.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What the agent does, for the model that may call it. Default: nothing.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Most model calls of one run of it. Default 10.
    #[must_use]
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.max_turns = Some(max_turns);
        self
    }

    /// Makes the tool's output of the result. Default: the final output, or the latest text of the
    /// run where that is empty.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn extract_output(mut self, extract: impl Fn(&AgentToolResult<'_>) -> String + Send + Sync + 'static) -> Self {
        self.extract = Some(Arc::new(extract));
        self
    }

    /// The tool with this binding.
    pub(super) fn bound(&self, binding: ToolBinding) -> ToolDef {
        let name = self.name.clone().unwrap_or_else(|| tool_name_of(&self.agent.name));
        ToolDef::new(name, self.description.clone(), schema::schema_of::<AgentToolInput>(), binding)
    }

    /// The agent.
    pub fn agent(&self) -> &Arc<AgentDef> {
        &self.agent
    }

    /// Most model calls of one run of it.
    pub fn turn_limit(&self) -> Option<u32> {
        self.max_turns.or(Some(MOST_TURNS))
    }

    /// The same, where somebody has said it.
    pub(crate) fn given_turn_limit(&self) -> Option<u32> {
        self.max_turns
    }

    /// The function that makes the tool's output, where there is one.
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
