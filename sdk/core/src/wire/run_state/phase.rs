//! The next step of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RunState, interruption::escaped};
use crate::wire::{
    absent::is_default,
    definitions::Definitions,
    item::Item,
    mcp_call::{McpAnswer, McpQuestion},
    native_call::NativeKind,
    tool_call::ToolOutput,
};

/// The next step of a run. An *instruction* kind: a reader that does not know it cannot continue
/// the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// A turn begins: the functions of the agent compute its definitions for the turn.
    TurnDue,
    /// The model is called next.
    ModelDue {
        /// Definitions and options of the agent at this turn.
        setup: Box<TurnSetup>,
    },
    /// Tools are called next.
    ToolsDue {
        /// Calls and handoffs that the response requested.
        round: Box<ToolRound>,
    },
    /// The run waits for decisions on calls of this round.
    Interrupted {
        /// Calls and handoffs that the response requested.
        round: Box<ToolRound>,
    },
    /// Decisions take effect next.
    ResumeDue {
        /// Calls and handoffs that the response requested.
        round: Box<ToolRound>,
    },
    /// Functions of the author answer approval requests of hosted MCP servers next.
    McpDue {
        /// Calls and handoffs that the response requested.
        round: Box<ToolRound>,
    },
    /// The agent's own rule decides next whether the outputs of this round end the run.
    ToolUseDue {
        /// Calls and handoffs that the response requested.
        round: Box<ToolRound>,
    },
    /// The run moves to another agent.
    HandoffDue {
        /// The handoffs that the response requested; the first one is taken.
        handoffs: Vec<PlannedHandoff>,
    },
    /// The run has moved to another agent; the conversation that this agent sees is determined
    /// next.
    RewriteDue {
        /// The handoff that was taken.
        handoff: PlannedHandoff,
        /// Name of the agent that handed off.
        source: String,
    },
    /// The model's text is parsed as the agent's output type next.
    OutputDue {
        /// Text of the model.
        text: String,
        /// Reason for which the model stopped early, if it did: the text may be truncated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incomplete: Option<String>,
    },
    /// An error that a handler of the author may turn into a final output.
    ErrorDue {
        /// The error.
        error: Recoverable,
    },
    /// There is a final output; the hooks are notified of it, and the output guardrails check it.
    FinalDue {
        /// The output.
        output: FinalOutput,
    },
    /// The run has its final output.
    Finished {
        /// Final output: a string for plain text, otherwise the parsed value.
        output: Value,
    },
    /// The run has failed in the middle of a turn and cannot continue; of that turn, only the calls
    /// that ran are kept.
    Failed {
        /// Reason for the failure.
        reason: String,
    },
}

impl Phase {
    /// Returns the kind of a phase in the middle of a turn, as on the wire. Returns `None` for a
    /// phase in which a run may be left: at the beginning of a turn, while it waits for decisions,
    /// and at its end.
    pub fn kind_inside_a_turn(&self) -> Option<String> {
        match self {
            Self::TurnDue | Self::Interrupted { .. } | Self::Finished { .. } => None,
            other => {
                let written = serde_json::to_value(other).ok();
                let kind = written.as_ref().and_then(|written| written["kind"].as_str());
                Some(kind.unwrap_or("unknown").to_owned())
            }
        }
    }
}

/// Definitions and options of an agent at one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSetup {
    /// Name of the model.
    pub model: String,
    /// Instructions, tools, handoffs, output and settings.
    pub definitions: Definitions,
    /// `true` if `tool_choice` is dropped once the agent has used a tool.
    pub reset_tool_choice: bool,
    /// Rule for outputs of tools that end the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_use: ToolUse,
    /// Labels of the hosted MCP servers whose approval requests a function of the author answers
    /// immediately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers_approvals: Vec<String>,
    /// Index of the offered tool or handoff among those of the agent with the same name, counted
    /// from 0, if it is not the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, usize>,
    /// `true` if output guardrails check the agent's final output.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guards_output: bool,
    /// `true` if a handler replaces a missing structured output, so that the model is not called
    /// again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub handles_empty_output: bool,
    /// Names of the offered hosted tools whose calls the run executes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub native_tools: Vec<String>,
}

impl TurnSetup {
    /// Returns the index of the offered tool or handoff among those of the agent with this name,
    /// counted from 0.
    pub fn variant(&self, name: &str) -> usize {
        self.variants.get(name).copied().unwrap_or_default()
    }
}

/// Rule for outputs of tools that end the run.
///
/// # Source
/// `tool_use_behavior` of the OpenAI Agents SDK.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolUse {
    /// The model gets the outputs and continues.
    #[default]
    RunLlmAgain,
    /// The first output is final.
    StopOnFirstTool,
    /// The first output of one of these tools is final.
    StopAtTools {
        /// The tools' names.
        tools: Vec<String>,
    },
    /// A function of the author decides.
    Custom,
}

/// All calls and handoffs that a response requests from this side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRound {
    /// The calls of function tools, in the order of the response.
    pub calls: Vec<RoundCall>,
    /// Approval requests of hosted MCP servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_approvals: Vec<McpApproval>,
    /// The handoffs, which follow after the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<PlannedHandoff>,
    /// Rule for outputs of tools that end the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_use: ToolUse,
    /// `true` if output guardrails check the agent's final output.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guards_output: bool,
    /// `true` if the run was resumed since the response.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resumed: bool,
}

/// A function call of a response, and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundCall {
    /// The call.
    pub call: PlannedCall,
    /// `true` if there is such a tool; otherwise the model gets a message that there is none.
    #[serde(default = "known", skip_serializing_if = "is_known")]
    pub is_known: bool,
    /// Progress of the call.
    pub progress: CallProgress,
    /// Answers of people to the MCP server that makes the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<McpAnswer>,
    /// `true` if each such call is decided on its own: no permanent decision holds for it, or comes
    /// of it. So it is with a command, which is another one each time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub asks_each: bool,
}

impl RoundCall {
    /// Returns `true` if the call waits for a decision, an output or an answer under this id.
    pub(super) fn is_pending_as(&self, id: &str) -> bool {
        matches!(
            self.progress,
            CallProgress::NeedsApproval | CallProgress::NeedsOutput | CallProgress::NeedsInput { .. }
        ) && escaped(&self.call.call_id) == id
    }
}

/// The value of an absent member `is_known`.
fn known() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_known(known: &bool) -> bool {
    *known
}

/// Progress of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallProgress {
    /// The call is made next.
    Due,
    /// The call waits for a decision.
    NeedsApproval,
    /// The call is made elsewhere, and waits for its output.
    NeedsOutput,
    /// An MCP server has requested a value from people, and the call waits for their answer.
    NeedsInput {
        /// The question.
        question: McpQuestion,
    },
    /// The call is a run of another agent, which itself waits for decisions.
    Paused {
        /// State of that run.
        run: Box<RunState>,
        /// `true` if that run has waited since before the outer run was last resumed.
        #[serde(default, skip_serializing_if = "is_default")]
        since_earlier: bool,
    },
    /// The call has its output.
    Done {
        /// The output, in the form sent to the model.
        output: ToolOutput,
    },
}

/// A function call that the run will make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// Name of the tool.
    pub tool: String,
    /// Index of the tool among those of the agent with this name, counted from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variant: usize,
    /// Id of the call, assigned by the model.
    pub call_id: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
    /// Kind of the call, if the provider defines it; absent = a call of a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<NativeKind>,
}

/// An approval request of a hosted MCP server for a call of one of its tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpApproval {
    /// Id of the request.
    pub request_id: String,
    /// Label of the server.
    pub server_label: String,
    /// Name of the server's tool.
    pub tool: String,
    /// The request, unchanged.
    pub request: Item,
    /// The party that answers the request.
    pub by: McpAnswerer,
    /// `true` if the request has its answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answered: bool,
}

impl McpApproval {
    /// Returns `true` if a person has yet to answer the request.
    pub(crate) fn waits_for_a_person(&self) -> bool {
        !self.answered && self.by == McpAnswerer::Person
    }
}

/// The party that answers a hosted MCP server's approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpAnswerer {
    /// A person; the run pauses.
    Person,
    /// A function of the author, or a decision that is kept beyond its run.
    Function,
}

/// A handoff that the model requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedHandoff {
    /// Name of the handoff's function.
    pub tool_name: String,
    /// Index of the handoff among those of the agent with this name, counted from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variant: usize,
    /// Name of the agent that the handoff transfers to.
    pub target: String,
    /// Id of the call, assigned by the model.
    pub call_id: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
}

/// An error that a handler of the author may turn into a final output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Recoverable {
    /// The run has made as many model calls as it may.
    MaxTurns {
        /// Maximum number of model calls.
        max_turns: u32,
    },
    /// The model refused to answer.
    ModelRefusal {
        /// Text of the refusal.
        refusal: String,
    },
    /// The final answer is not a value of the agent's output type.
    InvalidFinalOutput {
        /// Error of parsing the answer.
        reason: String,
    },
    /// There is no final answer although the agent has an output type. Without a handler the model
    /// is called again.
    EmptyFinalOutput,
}

/// A final output that the guardrails have not checked yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinalOutput {
    /// Final output: a string for plain text, otherwise the parsed value.
    pub value: Value,
    /// Source of the output.
    pub source: FinalSource,
}

/// Source of a final output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinalSource {
    /// A message of the model.
    Message,
    /// The output of a tool.
    Tool,
    /// A handler of a refusal, or of an invalid or empty output.
    Handler,
    /// The handler of a run that has made as many model calls as it may.
    TurnLimit,
}
