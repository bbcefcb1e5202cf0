//! The parts that agents as data may use.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    agent::{Agent, AgentDef, InputGuardrail, IntoInputGuardrail, IntoOutputGuardrail, OutputGuardrail},
    tool::{HostedTool, Tool, ToolDef, ToolInputGuardrail, ToolOutputGuardrail},
    wire::ToolSpec,
};

/// Name of the agent that has all parts.
pub const PARTS: &str = "the parts of specs";

/// The parts of the worker's code that agents as data ([`AgentSpec`](crate::wire::AgentSpec)) may
/// use, by name. A spec can use nothing else, and cannot weaken a part: it may make a tool ask for
/// more approvals, and check it with more guardrails.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// # use temporal_agents_macros::tool;
/// use temporal_agents::{
///     Tool,
///     agent::{GuardrailOutput, InputGuardrail, SpecParts},
///     tool::HostedTool,
/// };
///
/// /// Pays money back.
/// #[tool(idempotent = false)]
/// async fn refund(order: u32) -> String {
///     format!("order {order} is refunded")
/// }
///
/// let no_homework = InputGuardrail::new("no_homework", |_ctx, input| {
///     Ok(GuardrailOutput::trip_if(input.text().contains("homework")))
/// });
/// let parts = SpecParts::new()
///     .tool(refund.needs_approval())
///     .hosted_tool(HostedTool::web_search())
///     .input_guardrail(no_homework);
/// # let _ = parts;
/// ```
///
/// `AgentSet::specs` takes the parts, and `AgentsPlugin::agents` the set, so that the worker runs the
/// tools of specs.
///
/// A tool can be anything that an agent of the code can have: also a remote activity, a child
/// workflow, a client tool, or an agent ([`Agent::as_tool`]).
///
/// # Determinism
/// A run resolves its spec in the workflow, again on replay. To remove a part, or to change it, is
/// a change of workflow code for the open runs whose specs use it; to add one is not.
#[derive(Clone, Debug, Default)]
pub struct SpecParts {
    pub(super) tools: Vec<ToolDef>,
    pub(super) hosted_tools: Vec<ToolSpec>,
    pub(super) input_guardrails: Vec<InputGuardrail>,
    pub(super) output_guardrails: Vec<OutputGuardrail>,
    pub(super) tool_input_guardrails: Vec<ToolInputGuardrail>,
    pub(super) tool_output_guardrails: Vec<ToolOutputGuardrail>,
    pub(super) opens_extra_settings: bool,
    pub(super) env: BTreeSet<String>,
}

impl SpecParts {
    /// Returns no parts: specs can then only talk, and hand off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, with its approval rule, guardrails and settings, which hold for all specs.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(tool.definition());
        self
    }

    /// Adds tools: for all tools of a set, `tools(Desk::tools())`.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Tool>) -> Self {
        self.tools.extend(tools.into_iter().map(|tool| tool.definition()));
        self
    }

    /// Opens a tool that the provider runs, with this configuration. Specs name it by its
    /// [name](HostedTool::name) and cannot configure it.
    #[must_use]
    pub fn hosted_tool(mut self, tool: impl Into<HostedTool>) -> Self {
        self.hosted_tools.push(tool.into().into());
        self
    }

    /// Opens a tool that the provider runs, under this name, in the form of the provider's API: for
    /// tools that [`hosted_tool`](Self::hosted_tool) has no constructor for, and for several of one
    /// kind.
    #[must_use]
    pub fn hosted_tool_config(mut self, name: impl Into<String>, config: Map<String, Value>) -> Self {
        self.hosted_tools.push(ToolSpec::Hosted { name: name.into(), config });
        self
    }

    /// Adds a guardrail on the input of a run.
    #[must_use]
    pub fn input_guardrail(mut self, guardrail: impl IntoInputGuardrail) -> Self {
        self.input_guardrails.push(guardrail.into_input_guardrail());
        self
    }

    /// Adds a guardrail on final outputs.
    #[must_use]
    pub fn output_guardrail(mut self, guardrail: impl IntoOutputGuardrail) -> Self {
        self.output_guardrails.push(guardrail.into_output_guardrail());
        self
    }

    /// Adds a guardrail on the arguments of tools.
    #[must_use]
    pub fn tool_input_guardrail(mut self, guardrail: ToolInputGuardrail) -> Self {
        self.tool_input_guardrails.push(guardrail);
        self
    }

    /// Adds a guardrail on the outputs of tools.
    #[must_use]
    pub fn tool_output_guardrail(mut self, guardrail: ToolOutputGuardrail) -> Self {
        self.tool_output_guardrails.push(guardrail);
        self
    }

    /// Opens the settings `extra_headers`, `extra_query`, `extra_body` and `extra_args`, which are
    /// merged into the provider's request. With them the author of a spec can do whatever the
    /// provider's API can do with the worker's key, hosted tools of any configuration among it.
    #[must_use]
    pub fn open_extra_settings(mut self) -> Self {
        self.opens_extra_settings = true;
        self
    }

    /// Opens these environment variables of the worker for
    /// [`worker_env`](fn@crate::wire::worker_env) references in the settings of specs. The worker must
    /// also allow them, with `Resources::allow_env_for`.
    #[must_use]
    pub fn open_env(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.env.extend(names.into_iter().map(Into::into));
        self
    }

    /// Returns the tools.
    #[doc(hidden)]
    pub fn tool_defs(&self) -> &[ToolDef] {
        &self.tools
    }

    /// Returns an agent that has all parts, for checks of definitions and for the registration of
    /// activities; it never runs.
    #[doc(hidden)]
    pub fn as_agent(&self) -> AgentDef {
        let mut agent = AgentDef::clone(Agent::new(PARTS).def());
        agent.tools.clone_from(&self.tools);
        agent.hosted_tools.clone_from(&self.hosted_tools);
        agent.input_guardrails.clone_from(&self.input_guardrails);
        agent.output_guardrails.clone_from(&self.output_guardrails);
        let input_services = self.tool_input_guardrails.iter().filter_map(|guardrail| guardrail.check().activity());
        let output_services = self.tool_output_guardrails.iter().filter_map(|guardrail| guardrail.check().activity());
        agent.tools.extend(input_services.chain(output_services).cloned());
        let input_judges = self.tool_input_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        let output_judges = self.tool_output_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        for judge in input_judges.chain(output_judges) {
            // As a guardrail of this agent, so that its tools are registered.
            let pass = |_: &Value| crate::agent::GuardrailOutput::pass();
            agent.input_guardrails.push(InputGuardrail::by_agent(judge.name.clone(), judge.clone(), pass));
        }
        agent
    }

    /// Returns the agent that a spec begins with: no parts yet.
    pub(super) fn blank(name: &str) -> AgentDef {
        Agent::new(name).into()
    }

    /// Adds the parts of another declaration.
    #[doc(hidden)]
    pub fn extend(&mut self, other: Self) {
        let Self {
            tools,
            hosted_tools,
            input_guardrails,
            output_guardrails,
            tool_input_guardrails,
            tool_output_guardrails,
            opens_extra_settings,
            env,
        } = other;
        self.tools.extend(tools);
        self.hosted_tools.extend(hosted_tools);
        self.input_guardrails.extend(input_guardrails);
        self.output_guardrails.extend(output_guardrails);
        self.tool_input_guardrails.extend(tool_input_guardrails);
        self.tool_output_guardrails.extend(tool_output_guardrails);
        self.opens_extra_settings |= opens_extra_settings;
        self.env.extend(env);
    }
}
