//! Definitions of agents: the typed builder `Agent`, and `AgentDef` without the output type.

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
    tool::{HostedTool, McpServer, RunContext, Tool, ToolDef},
    wire::{Decision, ModelSettings, Prompt, ToolSpec, run_state::McpApproval},
};

/// An agent: a model with instructions, tools and handoffs. `O` is the type of its final output.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::Agent;
///
/// let refunds = Agent::new("refunds").model("gpt-5").instructions("You give refunds.");
/// let triage =
///     Agent::new("triage").model("gpt-5").instructions("You sort requests.").handoff(refunds);
/// # let _: Agent<String> = triage;
/// ```
pub struct Agent<O = String> {
    def: AgentDef,
    output: PhantomData<fn() -> O>,
}

/// An agent with its output type erased, as a node of a [`Graph`].
#[derive(Clone)]
#[non_exhaustive]
pub struct AgentDef {
    /// Name of the agent, unique in its graph.
    pub name: String,
    /// Description of the agent for the agents that may hand off to it.
    pub handoff_description: Option<String>,
    /// The instructions: none, a fixed string, or a function that computes them at each turn.
    pub instructions: Instructions,
    /// A prompt template stored at the provider.
    pub prompt: Option<Prompt>,
    /// Name of the model. `None`: the model of the run.
    pub model: Option<String>,
    /// Settings of the model's calls.
    pub settings: ModelSettings,
    /// The tools that the agent may call.
    pub tools: Vec<ToolDef>,
    /// The tools that the model provider runs.
    pub hosted_tools: Vec<ToolSpec>,
    /// The MCP servers whose tools the agent may also call.
    pub mcp_servers: Vec<Arc<McpServer>>,
    /// The handoffs to other agents, with their options.
    pub handoffs: Vec<Handoff>,
    /// The schema and the parser of the final output. `None`: plain text.
    pub output: Option<OutputDef>,
    /// Drops `tool_choice` once the agent has used a tool. Default: `true`.
    pub reset_tool_choice: bool,
    /// The rule by which outputs of the agent's tools end the run.
    pub tool_use: ToolUseBehavior,
    /// Guardrails on the input of runs that start with this agent.
    pub input_guardrails: Vec<InputGuardrail>,
    /// Guardrails on final outputs that this agent returns.
    pub output_guardrails: Vec<OutputGuardrail>,
    /// Shows readers parts of the final output before its guardrails have checked it. Default:
    /// `false`.
    pub shows_unchecked_output: bool,
    /// Hooks for the agent's part of a run.
    pub hooks: Option<Arc<dyn RunHooks>>,
    /// Functions that answer approval requests of hosted MCP servers at once, by server label.
    pub answers_approvals: BTreeMap<String, AnswerApproval>,
    /// The agents of the graph in which [`AgentDef::find`] found this agent; its handoffs may name
    /// them.
    pub(super) found_among: Vec<Arc<AgentDef>>,
    /// Input guardrails of the agent from which [`AgentDef::find`] found this agent.
    pub(crate) found_guardrails: Vec<InputGuardrail>,
}

impl Agent {
    /// Returns an agent with this name whose final output is plain text.
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
                shows_unchecked_output: false,
                hooks: None,
                answers_approvals: BTreeMap::new(),
                found_among: Vec::new(),
                found_guardrails: Vec::new(),
            },
            output: PhantomData,
        }
    }
}

impl<O> Agent<O> {
    /// Sets the instructions of the agent: a fixed string, or [`Instructions::computed`] at each
    /// turn.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<Instructions>) -> Self {
        self.def.instructions = instructions.into();
        self
    }

    /// Sets a prompt template that is stored at the provider, in addition to the instructions or in
    /// place of them.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.def.prompt = Some(prompt);
        self
    }

    /// Sets the name of the model, as the worker's provider knows it.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.def.model = Some(model.into());
        self
    }

    /// Sets the settings of the model's calls.
    #[must_use]
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.def.settings = settings;
        self
    }

    /// Adds a tool that the agent may call.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.def.tools.push(tool.definition());
        self
    }

    /// Adds tools that the agent may call, in this order: for all tools of a set,
    /// `tools(Desk::tools())`.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Tool>) -> Self {
        self.def.tools.extend(tools.into_iter().map(|tool| tool.definition()));
        self
    }

    /// Adds a tool that the provider runs: `hosted(HostedTool::web_search())`.
    #[must_use]
    pub fn hosted(mut self, tool: impl Into<HostedTool>) -> Self {
        self.def.hosted_tools.push(tool.into().into());
        self
    }

    /// Adds a tool that the provider runs, in the form of the provider's API, for tools that
    /// [`hosted`](Self::hosted) has no constructor for:
    /// `hosted_tool("web_search", json!({"type": "web_search"}))`.
    ///
    /// The configuration is recorded in history with every call, so it must not contain secret
    /// headers or tokens.
    #[must_use]
    pub fn hosted_tool(mut self, name: impl Into<String>, config: Value) -> Self {
        let config = match config {
            Value::Object(config) => config,
            other => Map::from_iter([("type".to_owned(), other)]),
        };
        self.def.hosted_tools.push(ToolSpec::Hosted { name: name.into(), config });
        self
    }

    /// Adds an MCP server whose tools the agent may call; in requests to the model they precede the
    /// agent's own tools.
    #[must_use]
    pub fn mcp_server(mut self, server: McpServer) -> Self {
        self.def.mcp_servers.push(Arc::new(server));
        self
    }

    /// Adds an agent to which this one may hand off: the agent itself, or a [`Handoff`] with its
    /// options.
    #[must_use]
    pub fn handoff(mut self, handoff: impl IntoHandoff) -> Self {
        self.def.handoffs.push(handoff.into_handoff());
        self
    }

    /// Sets the description of the agent for the agents that may hand off to it.
    #[must_use]
    pub fn handoff_description(mut self, description: impl Into<String>) -> Self {
        self.def.handoff_description = Some(description.into());
        self
    }

    /// Keeps `tool_choice` after a tool was used; a required tool can then be called without end.
    #[must_use]
    pub fn keep_tool_choice(mut self) -> Self {
        self.def.reset_tool_choice = false;
        self
    }

    /// Sets the rule by which outputs of the agent's tools end the run. Default: the outputs go to
    /// the model, and the run continues.
    #[must_use]
    pub fn tool_use_behavior(mut self, behavior: ToolUseBehavior) -> Self {
        self.def.tool_use = behavior;
        self
    }

    /// Adds a guardrail on the input of runs that start with this agent: a function with
    /// `#[guardrail(input)]`, or an [`InputGuardrail`].
    #[must_use]
    pub fn input_guardrail(mut self, guardrail: impl IntoInputGuardrail) -> Self {
        self.def.input_guardrails.push(guardrail.into_input_guardrail());
        self
    }

    /// Adds a guardrail on final outputs of this agent: a function with `#[guardrail(output)]`, or
    /// an [`OutputGuardrail`].
    #[must_use]
    pub fn output_guardrail(mut self, guardrail: impl IntoOutputGuardrail) -> Self {
        self.def.output_guardrails.push(guardrail.into_output_guardrail());
        self
    }

    /// Shows readers the text and the reasoning of this agent before its output guardrails have
    /// checked them: as deltas, and as a message also if a guardrail then trips. Without this they
    /// see the final output only once it has passed.
    #[must_use]
    pub fn show_unchecked_output(mut self) -> Self {
        self.def.shows_unchecked_output = true;
        self
    }

    /// Sets the hooks for the agent's part of a run; the hooks of the run are called first.
    #[must_use]
    pub fn hooks(mut self, hooks: impl RunHooks + 'static) -> Self {
        self.def.hooks = Some(Arc::new(hooks));
        self
    }

    /// Sets a function that answers the approval requests of a hosted MCP server at once, instead
    /// of pausing the run. The message of its decision is sent to the server as the reason.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn on_mcp_approval(
        mut self,
        server_label: impl Into<String>,
        answer: impl Fn(&RunContext, &McpApproval) -> Decision + Send + Sync + 'static,
    ) -> Self {
        self.def.answers_approvals.insert(server_label.into(), AnswerApproval::new(answer));
        self
    }

    /// Returns the agent as a tool for other agents.
    pub fn as_tool(&self) -> AgentTool {
        AgentTool::new(Arc::new(self.def.clone()))
    }

    /// Sets the type of the final output: its schema goes to the model, and the model's answer is
    /// parsed into it.
    #[must_use]
    pub fn output<P: OutputType>(mut self) -> Agent<P> {
        self.def.output = Some(OutputDef::of::<P>());
        Agent { def: self.def, output: PhantomData }
    }

    /// Sets an output definition that is not made of a Rust type; the final output is a JSON value.
    #[must_use]
    #[doc(hidden)]
    pub fn output_def(mut self, output: OutputDef) -> Agent<Value> {
        self.def.output = Some(output);
        Agent { def: self.def, output: PhantomData }
    }

    /// Returns the agent with this name, of this agent and the agents that its handoffs reach, as
    /// the start agent of a run that can reach all of them: for a chat that continues with the
    /// agent that answered last.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
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
    /// A run that starts with the found agent runs the agent's own input guardrails, then the
    /// guardrails of `self`: an input that must not reach a model in the first run must not reach one later.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Self> {
        Some(Self { def: self.def.find(name)?, output: PhantomData })
    }

    /// Returns the agent with its output type erased.
    pub fn def(&self) -> &AgentDef {
        &self.def
    }

    /// Returns the name of the agent.
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
    /// Returns the agents that are guardrails of this agent, of its tools and of its MCP servers.
    pub(crate) fn judges(&self) -> impl Iterator<Item = &Self> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        let outputs = self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        let of_servers = self.mcp_servers.iter().flat_map(|server| server.guardrail_agents());
        inputs.chain(outputs).chain(self.tools.iter().flat_map(ToolDef::guardrail_agents)).chain(of_servers)
    }

    /// Returns the activities of the guardrails of this agent, of its tools and of its MCP servers.
    #[doc(hidden)]
    pub fn guardrail_activities(&self) -> impl Iterator<Item = &ToolDef> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().activity());
        let outputs = self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().activity());
        let of_servers = self.mcp_servers.iter().flat_map(|server| server.guardrail_activities());
        inputs.chain(outputs).chain(self.tools.iter().flat_map(ToolDef::guardrail_activities)).chain(of_servers)
    }

    /// Returns the agent with this name, of this agent and the agents that its handoffs reach; see
    /// [`Agent::find`].
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Self> {
        let graph = Graph::new(self);
        let found = graph.agent(name)?;
        if name == self.name {
            return Some(Self { found_among: self.found_among.clone(), ..Self::clone(found) });
        }
        let others = graph.agents().filter(|agent| agent.name != name);
        let mut found_guardrails: Vec<InputGuardrail> = Vec::new();
        for guardrail in self.input_guardrails.iter().chain(&self.found_guardrails) {
            let mut known = found.input_guardrails.iter().chain(&found_guardrails);
            if !known.any(|known| known.is_same(guardrail)) {
                found_guardrails.push(guardrail.clone());
            }
        }
        Some(Self { found_among: others.cloned().collect(), found_guardrails, ..Self::clone(found) })
    }

    /// Returns one of the tools with this name, by its position among them, counted from 0. Tools
    /// that are offered at different turns may share a name.
    pub fn tool_named(&self, name: &str, variant: usize) -> Option<&ToolDef> {
        self.tools.iter().filter(|tool| tool.name() == name).nth(variant)
    }

    /// Returns one of the handoffs with this name, by its position among them, counted from 0.
    /// Handoffs that are offered at different turns may share a name.
    pub fn handoff_named(&self, name: &str, variant: usize) -> Option<&Handoff> {
        self.handoffs.iter().filter(|handoff| handoff.name() == name).nth(variant)
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
