//! The agent itself.

use std::{collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use serde_json::{Map, Value};

use super::{
    as_tool::AgentTool,
    graph::Graph,
    guardrail::{InputGuardrail, OutputGuardrail},
    handoff::{Handoff, HandoffTarget, IntoHandoff},
    hooks::RunHooks,
    instructions::Instructions,
    into_guardrail::{IntoInputGuardrail, IntoOutputGuardrail},
    mcp_approval::AnswerApproval,
    output::{OutputDef, OutputType},
    tool_use::ToolUseBehavior,
};
use crate::{
    tool::{HostedTool, McpServer, Tool, ToolDef},
    wire::{ModelSettings, Prompt, ToolSpec},
};

/// An agent: a model with instructions, tools and colleagues. `O` is the type of its final answer.
///
/// ```
/// use temporal_agents::Agent;
///
/// let refunds = Agent::new("refunds").model("gpt-5").instructions("You give refunds.");
/// let triage = Agent::new("triage").model("gpt-5").instructions("You sort requests.").handoff(refunds);
/// # let _: Agent<String> = triage;
/// ```
pub struct Agent<O = String> {
    def: AgentDef,
    output: PhantomData<fn() -> O>,
}

/// An agent with its output type erased: what graphs are made of.
#[derive(Clone)]
#[non_exhaustive]
pub struct AgentDef {
    /// Its name, unique in its graph.
    pub name: String,
    /// What it is good for, for the agents that may hand off to it.
    pub handoff_description: Option<String>,
    /// What it is told.
    pub instructions: Instructions,
    /// A prompt template stored at the provider.
    pub prompt: Option<Prompt>,
    /// Its model; absent = the run's.
    pub model: Option<String>,
    /// How its model is asked.
    pub settings: ModelSettings,
    /// The tools it may call.
    pub tools: Vec<ToolDef>,
    /// The tools its provider runs for it.
    pub hosted_tools: Vec<ToolSpec>,
    /// The MCP servers whose tools it may call, too.
    pub mcp_servers: Vec<Arc<McpServer>>,
    /// The agents it may hand off to.
    pub handoffs: Vec<Handoff>,
    /// The shape of its final answer; absent = plain text.
    pub output: Option<OutputDef>,
    /// Whether `tool_choice` is dropped once the agent has used a tool. Default true.
    pub reset_tool_choice: bool,
    /// Whether the outputs of its tools end the run.
    pub tool_use: ToolUseBehavior,
    /// Checks of the input, where the run starts with this agent.
    pub input_guardrails: Vec<InputGuardrail>,
    /// Checks of the final output, where it is this agent's.
    pub output_guardrails: Vec<OutputGuardrail>,
    /// What hears of this agent's part of a run.
    pub hooks: Option<Arc<dyn RunHooks>>,
    /// What answers approval requests of hosted MCP servers at once, by server label.
    pub answers_approvals: BTreeMap<String, AnswerApproval>,
    /// The agents of the graph that it was found in: its handoffs may name them.
    pub(super) found_among: Vec<Arc<AgentDef>>,
}

impl Agent {
    /// An agent of this name that answers in plain text.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            def: AgentDef {
                name: name.into(),
                handoff_description: None,
                instructions: Instructions::None,
                prompt: None,
                model: None,
                settings: ModelSettings::default(),
                tools: Vec::new(),
                hosted_tools: Vec::new(),
                mcp_servers: Vec::new(),
                handoffs: Vec::new(),
                output: None,
                reset_tool_choice: true,
                tool_use: ToolUseBehavior::default(),
                input_guardrails: Vec::new(),
                output_guardrails: Vec::new(),
                hooks: None,
                answers_approvals: BTreeMap::new(),
                found_among: Vec::new(),
            },
            output: PhantomData,
        }
    }
}

impl<O> Agent<O> {
    /// What the agent is told: a text, or [`Instructions::computed`] at each turn.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<Instructions>) -> Self {
        self.def.instructions = instructions.into();
        self
    }

    /// A prompt template stored at the provider, used beside or instead of instructions.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.def.prompt = Some(prompt);
        self
    }

    /// The model's name, as the worker's provider knows it.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.def.model = Some(model.into());
        self
    }

    /// How the model is asked.
    #[must_use]
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.def.settings = settings;
        self
    }

    /// A tool the agent may call.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.def.tools.push(tool.definition());
        self
    }

    /// Tools the agent may call, in this order: all of a set, `tools(Desk::tools())`.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Tool>) -> Self {
        self.def.tools.extend(tools.into_iter().map(|tool| tool.definition()));
        self
    }

    /// A tool the provider runs: `hosted(HostedTool::web_search())`.
    #[must_use]
    pub fn hosted(mut self, tool: impl Into<HostedTool>) -> Self {
        self.def.hosted_tools.push(tool.into().into());
        self
    }

    /// A tool the provider runs, as its API takes it, for those that [`hosted`](Self::hosted) has
    /// no form of: `hosted_tool("web_search", json!({"type": "web_search"}))`.
    ///
    /// The configuration is recorded in history with every call, so a header or a token has no
    /// place in it.
    #[must_use]
    pub fn hosted_tool(mut self, name: impl Into<String>, config: Value) -> Self {
        let config = match config {
            Value::Object(config) => config,
            other => Map::from_iter([("type".to_owned(), other)]),
        };
        self.def.hosted_tools.push(ToolSpec::Hosted { name: name.into(), config });
        self
    }

    /// An MCP server whose tools the agent may call; the model finds them before the agent's own.
    #[must_use]
    pub fn mcp_server(mut self, server: McpServer) -> Self {
        self.def.mcp_servers.push(Arc::new(server));
        self
    }

    /// An agent this one may hand off to: the agent itself, or a [`Handoff`] with its options.
    #[must_use]
    pub fn handoff(mut self, handoff: impl IntoHandoff) -> Self {
        self.def.handoffs.push(handoff.into_handoff());
        self
    }

    /// What the agent is good for, for the agents that may hand off to it.
    #[must_use]
    pub fn handoff_description(mut self, description: impl Into<String>) -> Self {
        self.def.handoff_description = Some(description.into());
        self
    }

    /// Keeps `tool_choice` after a tool was used; a required tool can then be called for ever.
    #[must_use]
    pub fn keep_tool_choice(mut self) -> Self {
        self.def.reset_tool_choice = false;
        self
    }

    /// Whether the outputs of its tools end the run. Default: the model sees them and goes on.
    #[must_use]
    pub fn tool_use_behavior(mut self, behavior: ToolUseBehavior) -> Self {
        self.def.tool_use = behavior;
        self
    }

    /// A check of the input of runs that start with this agent: a function with
    /// `#[guardrail(input)]`, or an [`InputGuardrail`] by hand.
    #[must_use]
    pub fn input_guardrail(mut self, guardrail: impl IntoInputGuardrail) -> Self {
        self.def.input_guardrails.push(guardrail.into_input_guardrail());
        self
    }

    /// A check of final outputs of this agent: a function with `#[guardrail(output)]`, or an
    /// [`OutputGuardrail`] by hand.
    #[must_use]
    pub fn output_guardrail(mut self, guardrail: impl IntoOutputGuardrail) -> Self {
        self.def.output_guardrails.push(guardrail.into_output_guardrail());
        self
    }

    /// What hears of this agent's part of a run; those of the run are called first.
    #[must_use]
    pub fn hooks(mut self, hooks: impl RunHooks + 'static) -> Self {
        self.def.hooks = Some(Arc::new(hooks));
        self
    }

    /// Answers the approval requests of a hosted MCP server at once, instead of pausing the run.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn on_mcp_approval(mut self, server_label: impl Into<String>, answer: AnswerApproval) -> Self {
        self.def.answers_approvals.insert(server_label.into(), answer);
        self
    }

    /// The agent as a tool for other agents.
    pub fn as_tool(&self) -> AgentTool {
        AgentTool::new(Arc::new(self.def.clone()))
    }

    /// The type of the final answer: its schema goes to the model, the answer is parsed into it.
    #[must_use]
    pub fn output<P: OutputType>(mut self) -> Agent<P> {
        self.def.output = Some(OutputDef::of::<P>());
        Agent { def: self.def, output: PhantomData }
    }

    /// An output shape that is not a Rust type's; the answer is a JSON value.
    #[must_use]
    pub fn output_def(mut self, output: OutputDef) -> Agent<Value> {
        self.def.output = Some(output);
        Agent { def: self.def, output: PhantomData }
    }

    /// The agent of this name among this one and those that its handoffs reach, as the start agent
    /// of a run with all of them: for a chat that continues with the agent that answered last.
    ///
    /// ```
    /// use temporal_agents::{Agent, Handoff};
    ///
    /// fn triage() -> Agent {
    ///     let billing = Agent::new("billing").model("gpt-5").handoff(Handoff::to("triage"));
    ///     Agent::new("triage").model("gpt-5").handoff(billing)
    /// }
    ///
    /// // last_agent is RunResult::last_agent of the message before.
    /// # let last_agent = "billing".to_owned();
    /// let agent = triage().find(&last_agent).unwrap_or_else(triage);
    /// assert_eq!(agent.name(), "billing");
    /// ```
    ///
    /// The input guardrails of a run are those of the agent that it starts with.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Self> {
        Some(Self { def: self.def.find(name)?, output: PhantomData })
    }

    /// The agent with its output type erased.
    pub fn def(&self) -> &AgentDef {
        &self.def
    }

    /// The agent's name.
    pub fn name(&self) -> &str {
        &self.def.name
    }
}

impl<O> Clone for Agent<O> {
    fn clone(&self) -> Self {
        Self { def: self.def.clone(), output: PhantomData }
    }
}

impl<O> fmt::Debug for Agent<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.def.fmt(f)
    }
}

impl AgentDef {
    /// Returns the activities of this agent's guardrails.
    #[cfg(feature = "worker")]
    pub(crate) fn guardrail_activities(&self) -> impl Iterator<Item = &ToolDef> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().activity());
        inputs.chain(self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().activity()))
    }

    /// The agent of this name among this one and those that its handoffs reach; see
    /// [`Agent::find`].
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Self> {
        let graph = Graph::new(self);
        let found = graph.agent(name)?;
        let others = graph.agents().filter(|agent| agent.name != name);
        Some(Self { found_among: others.cloned().collect(), ..Self::clone(found) })
    }

    /// Of the tools of this name, which may be offered at different turns, one by its place,
    /// counted from 0.
    pub fn tool_named(&self, name: &str, variant: usize) -> Option<&ToolDef> {
        self.tools.iter().filter(|tool| tool.name() == name).nth(variant)
    }

    /// Of the handoffs of this name, which may be offered at different turns, one by its place,
    /// counted from 0.
    pub fn handoff_named(&self, name: &str, variant: usize) -> Option<&Handoff> {
        self.handoffs.iter().filter(|handoff| handoff.name() == name).nth(variant)
    }
}

impl fmt::Debug for AgentDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            handoff_description,
            instructions,
            prompt,
            model,
            settings,
            tools,
            hosted_tools,
            mcp_servers,
            handoffs,
            output,
            reset_tool_choice,
            tool_use,
            input_guardrails,
            output_guardrails,
            hooks,
            answers_approvals,
            // Where an agent was found does not make it another one.
            found_among: _,
        } = self;
        f.debug_struct("AgentDef")
            .field("name", name)
            .field("handoff_description", handoff_description)
            .field("instructions", instructions)
            .field("prompt", prompt)
            .field("model", model)
            .field("settings", settings)
            .field("tools", tools)
            .field("hosted_tools", hosted_tools)
            .field("mcp_servers", mcp_servers)
            .field("handoffs", handoffs)
            .field("output", output)
            .field("reset_tool_choice", reset_tool_choice)
            .field("tool_use", tool_use)
            .field("input_guardrails", input_guardrails)
            .field("output_guardrails", output_guardrails)
            .field("hooks", &hooks.is_some())
            .field("answers_approvals", &answers_approvals.keys())
            .finish()
    }
}

impl<O> From<Agent<O>> for AgentDef {
    fn from(agent: Agent<O>) -> Self {
        agent.def
    }
}

impl<O> From<Agent<O>> for Handoff {
    fn from(agent: Agent<O>) -> Self {
        Handoff::new(HandoffTarget::Agent(Arc::new(agent.def)))
    }
}
