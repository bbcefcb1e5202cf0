//! What a run is about to do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RunState, interruption::escaped};
use crate::wire::{
    absent::is_default,
    definitions::Definitions,
    item::Item,
    mcp_call::{McpAnswer, McpQuestion},
    tool_call::ToolOutput,
};

/// What a run does next. An *instruction* kind: a reader that does not know it cannot go on with the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// A turn begins: the agent's functions are asked what it is now.
    TurnDue,
    /// The model is to be called.
    ModelDue {
        /// What the agent is at this turn.
        setup: Box<TurnSetup>,
    },
    /// Tools are to be called.
    ToolsDue {
        /// What the response asked for.
        round: Box<ToolRound>,
    },
    /// The run waits for decisions on calls of this round.
    Interrupted {
        /// What the response asked for.
        round: Box<ToolRound>,
    },
    /// Decisions are to take effect.
    ResumeDue {
        /// What the response asked for.
        round: Box<ToolRound>,
    },
    /// Functions of the author are to answer questions of hosted MCP servers.
    McpDue {
        /// What the response asked for.
        round: Box<ToolRound>,
    },
    /// The agent's own rule says whether the outputs of this round end the run.
    ToolUseDue {
        /// What the response asked for.
        round: Box<ToolRound>,
    },
    /// The run moves to another agent.
    HandoffDue {
        /// The handoffs of the response; the first one is taken.
        handoffs: Vec<PlannedHandoff>,
    },
    /// The run has moved; what the new agent sees of the conversation is to be settled.
    RewriteDue {
        /// The handoff that was taken.
        handoff: PlannedHandoff,
        /// The agent that handed off.
        source: String,
    },
    /// The model's text is to be read as the agent's output type.
    OutputDue {
        /// The text.
        text: String,
        /// Why the model stopped early, where it did: the text may be cut short.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incomplete: Option<String>,
    },
    /// An error that a handler of the author may turn into a final output.
    ErrorDue {
        /// The error.
        error: Recoverable,
    },
    /// There is a final output; hooks hear of it, and the output guardrails look at it.
    FinalDue {
        /// The output.
        output: FinalOutput,
    },
    /// The run has its final output.
    Finished {
        /// The output: a string for plain text, else the parsed value.
        output: Value,
    },
    /// The run has failed in the middle of a turn, of which only what ran is left: it cannot go on.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Phase {
    /// Returns the kind of a phase in the middle of a turn, as on the wire; none where a run may be left: where a turn begins, where it waits for
    /// decisions, and at its end.
    pub(crate) fn kind_inside_a_turn(&self) -> Option<String> {
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

/// What an agent is at one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSetup {
    /// The model's name.
    pub model: String,
    /// Instructions, tools, handoffs, output and settings.
    pub definitions: Definitions,
    /// Whether `tool_choice` is dropped once the agent has used a tool.
    pub reset_tool_choice: bool,
    /// Whether outputs of tools may end the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_use: ToolUse,
    /// The hosted MCP servers (by label) whose approval requests a function of the author answers at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers_approvals: Vec<String>,
    /// Which of the agent's tools, or handoffs, of one name is offered, counted from 0, where it is not the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variants: BTreeMap<String, usize>,
    /// Whether output guardrails look at the agent's final output.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guards_output: bool,
    /// Whether a handler takes the place of a missing structured output, so that the model is not asked again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub handles_empty_output: bool,
}

impl TurnSetup {
    /// Which of the agent's tools, or handoffs, of this name is offered, counted from 0.
    pub fn variant(&self, name: &str) -> usize {
        self.variants.get(name).copied().unwrap_or_default()
    }
}

/// Whether outputs of tools may end the run.
///
/// # Source
/// `tool_use_behavior` of the OpenAI Agents SDK.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolUse {
    /// The model sees them and goes on.
    #[default]
    RunLlmAgain,
    /// The first output is final.
    StopOnFirstTool,
    /// The first output of one of these tools is final.
    StopAtTools {
        /// The tools' names.
        tools: Vec<String>,
    },
    /// A function of the author says so.
    Custom,
}

/// Everything a response asked this side to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRound {
    /// The calls of function tools, in the order of the response.
    pub calls: Vec<RoundCall>,
    /// Questions of hosted MCP servers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_approvals: Vec<McpApproval>,
    /// The handoffs, which come after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<PlannedHandoff>,
    /// Whether outputs may end the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_use: ToolUse,
    /// Whether output guardrails look at the agent's final output.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guards_output: bool,
    /// Whether the run was taken up again since the response.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resumed: bool,
}

/// A function call of a response, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundCall {
    /// The call.
    pub call: PlannedCall,
    /// Whether there is such a tool; if not, the model is told so.
    #[serde(default = "known", skip_serializing_if = "is_known")]
    pub is_known: bool,
    /// How far it is.
    pub progress: CallProgress,
    /// What people have answered the MCP server that makes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<McpAnswer>,
}

impl RoundCall {
    /// Whether it waits for a decision, or for its output, under this id.
    pub(super) fn waits_under(&self, id: &str) -> bool {
        matches!(
            self.progress,
            CallProgress::NeedsApproval | CallProgress::NeedsOutput | CallProgress::NeedsInput { .. }
        ) && escaped(&self.call.call_id) == id
    }
}

fn known() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_known(known: &bool) -> bool {
    *known
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallProgress {
    /// It is to be made.
    Due,
    /// It waits for a decision.
    NeedsApproval,
    /// It is made elsewhere, and waits for its output.
    NeedsOutput,
    /// An MCP server has asked people something, and the call waits for their answer.
    NeedsInput {
        /// What.
        question: McpQuestion,
    },
    /// It is a run of another agent, which waits for decisions itself.
    Paused {
        /// That run.
        run: Box<RunState>,
        /// Whether it has waited since before the outer run was last taken up again.
        #[serde(default, skip_serializing_if = "is_default")]
        since_earlier: bool,
    },
    /// It has its output.
    Done {
        /// The output, as it went to the model.
        output: ToolOutput,
    },
}

/// A function call the run will make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// The tool's name.
    pub tool: String,
    /// Which of the agent's tools of this name it is, counted from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variant: usize,
    /// The model's id of the call.
    pub call_id: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// A hosted MCP server's question whether it may call one of its tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpApproval {
    /// The question's id.
    pub request_id: String,
    /// The server.
    pub server_label: String,
    /// Its tool.
    pub tool: String,
    /// The question as it came.
    pub request: Item,
    /// Who answers.
    pub by: McpAnswerer,
    /// Whether it has its answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub answered: bool,
}

impl McpApproval {
    /// Whether a person has yet to answer it.
    pub(crate) fn waits_for_a_person(&self) -> bool {
        !self.answered && self.by == McpAnswerer::Person
    }
}

/// Who answers a hosted MCP server's question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpAnswerer {
    /// A person; the run pauses.
    Person,
    /// A function of the author.
    Function,
}

/// A handoff the model asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedHandoff {
    /// The handoff's function name.
    pub tool_name: String,
    /// Which of the agent's handoffs of this name it is, counted from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub variant: usize,
    /// The agent it leads to.
    pub target: String,
    /// The model's id of the call.
    pub call_id: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// An error that a handler of the author may turn into a final output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Recoverable {
    /// The run made all the model calls it may.
    MaxTurns {
        /// The limit.
        max_turns: u32,
    },
    /// The model refused to answer.
    ModelRefusal {
        /// The refusal.
        refusal: String,
    },
    /// The final answer is not of the agent's output type.
    InvalidFinalOutput {
        /// What is wrong with it.
        reason: String,
    },
    /// There is no final answer where the agent's output type asks for one. Without a handler the model is asked again.
    EmptyFinalOutput,
}

/// A final output before the guardrails have seen it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinalOutput {
    /// The output: a string for plain text, else the parsed value.
    pub value: Value,
    /// Where it came from.
    pub source: FinalSource,
}

/// Where a final output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinalSource {
    /// A message of the model.
    Message,
    /// The output of a tool.
    Tool,
    /// A handler of a refusal or of an invalid output.
    Handler,
    /// The handler of a run that may make no more model calls.
    TurnLimit,
}
