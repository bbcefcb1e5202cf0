//! What the engine asks for, and what it is answered.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    agent::{HandoffInputData, ToolResult},
    wire::{
        Item, McpAnswer, McpQuestion, ModelCall, ModelResponse, ToolOutput,
        run_state::{
            Decision, FinalOutput, GuardrailResults, InputGuardrailResult, McpApproval, OutputGuardrailResult,
            PlannedCall, PlannedHandoff, Recoverable, RunState, ToolGuardrailResult, TurnSetup,
        },
    },
};

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Write these items to the session; answer with [`Resolution::Saved`].
    Save {
        /// The items.
        items: Vec<Item>,
    },
    /// Ask the blocking input guardrails of this agent; answer with [`Resolution::InputChecked`].
    CheckInput {
        /// The agent.
        agent: String,
    },
    /// Ask the agent's functions what it is at this turn; answer with [`Resolution::Prepared`].
    PrepareTurn {
        /// The agent.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// Whether the hooks are to hear that the agent starts.
        starts: bool,
    },
    /// Call the model; answer with [`Resolution::Answered`].
    CallModel(Box<ModelCall>),
    /// Ask which tools and handoffs the agent has now, before decisions take effect; answer with [`Resolution::Offered`].
    PrepareResume {
        /// The agent.
        agent: String,
    },
    /// Make these calls, all at once; answer with [`Resolution::ToolsRan`], or [`Resolution::ToolsFailed`].
    CallTools {
        /// The agent that calls.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// The calls, in the order of the response.
        calls: Vec<DueCall>,
    },
    /// Ask the author's functions about these questions of hosted MCP servers; answer with [`Resolution::McpAnswered`].
    AnswerMcp {
        /// The agent.
        agent: String,
        /// The questions, in the order of the response.
        questions: Vec<McpApproval>,
    },
    /// Ask the agent's rule whether these results end the run; answer with [`Resolution::ToolUseDecided`].
    DecideToolUse {
        /// The agent.
        agent: String,
        /// The results of the turn, in call order.
        results: Vec<ToolResult>,
    },
    /// Wait until the input guardrails beside the first turn have answered; answer with [`Resolution::InputChecked`].
    AdmitInput,
    /// Take this handoff; answer with [`Resolution::HandedOff`].
    TakeHandoff {
        /// The agent that hands off.
        agent: String,
        /// The handoff.
        handoff: PlannedHandoff,
    },
    /// Tell the hooks of the handoff, and change what the next agent sees; answer with [`Resolution::Rewritten`].
    Rewrite {
        /// The agent that handed off.
        source: String,
        /// The handoff.
        handoff: PlannedHandoff,
        /// The conversation.
        data: Box<HandoffInputData>,
    },
    /// Read this text as the agent's output type; answer with [`Resolution::Parsed`].
    ParseOutput {
        /// The agent.
        agent: String,
        /// The text.
        text: String,
    },
    /// Ask the author's handler of this error; answer with [`Resolution::Handled`].
    HandleError {
        /// The agent.
        agent: String,
        /// The error.
        error: Recoverable,
    },
    /// Tell the hooks that the agent ends, and ask the output guardrails; answer with [`Resolution::OutputChecked`].
    Conclude {
        /// The agent.
        agent: String,
        /// The output.
        output: FinalOutput,
    },
    /// The run waits for decisions; see [`RunState::interruptions`].
    Interrupted,
    /// The run has failed before.
    Failed {
        /// Why.
        reason: String,
    },
    /// The run is over.
    Done {
        /// The output: a string for plain text, else the parsed value.
        output: Value,
    },
}

/// A call to be made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DueCall {
    /// Its place among the calls of its response, counted from 0.
    pub index: usize,
    /// The call.
    pub call: PlannedCall,
    /// Whether there is such a tool; if not, the model is told so.
    pub is_known: bool,
    /// What was decided about it.
    pub decision: Option<Decision>,
    /// For an agent used as a tool whose run was paused: that run.
    pub paused: Option<Box<RunState>>,
    /// What people have answered the MCP server that makes the call.
    pub answers: Vec<McpAnswer>,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resolution {
    /// The session has the items.
    Saved,
    /// What input guardrails found; the first that trips ends the run.
    InputChecked {
        /// The findings, in declaration order.
        results: Vec<InputGuardrailResult>,
        /// Whether others have yet to answer.
        more: bool,
    },
    /// What the agent is at this turn.
    Prepared(Box<TurnSetup>),
    /// What the model answered.
    Answered(ModelResponse),
    /// The function tools the agent has now: which of those of one name, counted from 0.
    Offered(BTreeMap<String, usize>),
    /// What came of the calls, in their order.
    ToolsRan(Vec<ToolOutcome>),
    /// A call ended the run.
    ToolsFailed {
        /// What came of the calls that were complete by then, in call order.
        outcomes: Vec<ToolOutcome>,
        /// What guardrails found about the others.
        found: GuardrailResults,
    },
    /// The answers, in the order of the questions.
    McpAnswered(Vec<Decision>),
    /// The final output, or none to let the model go on.
    ToolUseDecided(Option<Value>),
    /// The handoff was taken.
    HandedOff,
    /// What the next agent sees; none = everything.
    Rewritten(Option<Box<HandoffInputData>>),
    /// The output, or what is wrong with the text.
    Parsed(Result<Value, String>),
    /// What the handler gave, if it gave something.
    Handled(Option<HandlerOutput>),
    /// What the output guardrails found; the first that trips ends the run.
    OutputChecked(Vec<OutputGuardrailResult>),
}

/// What a handler of an error gave.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlerOutput {
    /// The final output.
    pub value: Value,
    /// The message that stands for it in the history, where one does.
    pub message: Option<Item>,
}

/// What came of one tool call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// The place of the call, as in [`DueCall::index`].
    pub index: usize,
    /// What came of it.
    pub result: CallResult,
    /// Whether its body ran; a call that was rejected has an output, too.
    pub ran: bool,
    /// Whether its output is what the model is told of a failure.
    pub failed: bool,
    /// Changes to the run context: a JSON merge patch, applied after all calls of the turn.
    pub context_patch: Option<Value>,
    /// What the guardrails before it found.
    pub input_guardrails: Vec<ToolGuardrailResult>,
    /// What the guardrails after it found.
    pub output_guardrails: Vec<ToolGuardrailResult>,
}

impl ToolOutcome {
    /// A call with this result and nothing else.
    pub fn new(index: usize, result: CallResult) -> Self {
        Self {
            index,
            result,
            ran: false,
            failed: false,
            context_patch: None,
            input_guardrails: Vec::new(),
            output_guardrails: Vec::new(),
        }
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallResult {
    /// This output.
    Output(ToolOutput),
    /// It needs a decision first.
    NeedsApproval,
    /// It is made elsewhere, and waits for its output.
    NeedsOutput,
    /// An MCP server asks people something.
    NeedsInput(McpQuestion),
    /// It is an agent's run that waits for decisions.
    Paused(Box<RunState>),
}
