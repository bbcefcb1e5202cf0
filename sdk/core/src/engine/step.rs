//! The steps that the engine requests, and their resolutions.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    agent::{HandoffInputData, ToolResult},
    wire::{
        Item, McpAnswer, McpQuestion, ModelCall, ModelResponse, SideData, ToolOutput,
        run_state::{
            Decision, FinalOutput, GuardrailResults, InputGuardrailResult, McpApproval, OutputGuardrailResult,
            PlannedCall, PlannedHandoff, Recoverable, RunState, ToolGuardrailResult, TurnSetup,
        },
    },
};

/// The next step of a run, for the driver to execute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Writes items to the session; resolved with [`Resolution::Saved`].
    Save {
        /// The items to write, oldest first.
        items: Vec<Item>,
    },
    /// Runs the blocking input guardrails of an agent; resolved with [`Resolution::InputChecked`].
    CheckInput {
        /// Name of the agent.
        agent: String,
    },
    /// Sets up the agent for a turn; resolved with [`Resolution::Prepared`].
    PrepareTurn {
        /// Name of the agent.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// `true` if the hooks are called for the start of the agent.
        starts: bool,
    },
    /// Calls the model; resolved with [`Resolution::Answered`].
    CallModel(Box<ModelCall>),
    /// Lists the tools that the agent has now, before decisions take effect; resolved with
    /// [`Resolution::Offered`].
    PrepareResume {
        /// Name of the agent.
        agent: String,
    },
    /// Makes calls, all of them together; resolved with [`Resolution::ToolsRan`] or
    /// [`Resolution::ToolsFailed`].
    CallTools {
        /// Name of the agent that made the calls.
        agent: String,
        /// The turn, counted from 1.
        turn: u32,
        /// The calls, in the order of the response.
        calls: Vec<DueCall>,
    },
    /// Calls the author's functions for questions of hosted MCP servers; resolved with
    /// [`Resolution::McpAnswered`].
    AnswerMcp {
        /// Name of the agent.
        agent: String,
        /// The questions, in the order of the response.
        questions: Vec<McpApproval>,
    },
    /// Calls the agent's rule that decides if the results end the run; resolved with
    /// [`Resolution::ToolUseDecided`].
    DecideToolUse {
        /// Name of the agent.
        agent: String,
        /// The results of the turn, in call order.
        results: Vec<ToolResult>,
    },
    /// Waits for the results of the input guardrails beside the first turn; resolved with
    /// [`Resolution::InputChecked`].
    AdmitInput,
    /// Takes a handoff; resolved with [`Resolution::HandedOff`].
    TakeHandoff {
        /// Name of the agent that hands off.
        agent: String,
        /// The planned handoff.
        handoff: PlannedHandoff,
    },
    /// Calls the hooks for a handoff, and builds the input of the next agent; resolved with
    /// [`Resolution::Rewritten`].
    Rewrite {
        /// Name of the agent that handed off.
        source: String,
        /// The handoff that was taken.
        handoff: PlannedHandoff,
        /// The conversation before the change.
        data: Box<HandoffInputData>,
    },
    /// Parses a text as the agent's output type; resolved with [`Resolution::Parsed`].
    ParseOutput {
        /// Name of the agent.
        agent: String,
        /// Text of the model's answer.
        text: String,
    },
    /// Calls the author's handler of an error; resolved with [`Resolution::Handled`].
    HandleError {
        /// Name of the agent whose turn it was.
        agent: String,
        /// The error to handle.
        error: Recoverable,
    },
    /// Calls the hooks for the end of the agent, and runs the output guardrails; resolved with
    /// [`Resolution::OutputChecked`].
    Conclude {
        /// Name of the agent.
        agent: String,
        /// The final output to check.
        output: FinalOutput,
    },
    /// The run waits for decisions; see [`RunState::interruptions`].
    Interrupted,
    /// The run has already failed.
    Failed {
        /// Error message of the failure.
        reason: String,
    },
    /// The run is over.
    Done {
        /// The final output: a string for plain text, otherwise the parsed value.
        output: Value,
    },
}

/// A call that is due.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DueCall {
    /// Index of the call among the calls of its response, counted from 0.
    pub index: usize,
    /// Tool, id and arguments of the call.
    pub call: PlannedCall,
    /// `true` if the tool exists; otherwise the model receives a message that it does not.
    pub is_known: bool,
    /// The decision on the call, if there is one.
    pub decision: Option<Decision>,
    /// `true` if the decision is a permanent one on the tool, and not one on the call.
    pub is_permanent: bool,
    /// `true` if the decision is one on the call, made for all later calls, too.
    pub is_for_good: bool,
    /// State of the paused run, for an agent used as a tool.
    pub paused: Option<Box<RunState>>,
    /// Answers of people to the questions of the MCP server that executes the call.
    pub answers: Vec<McpAnswer>,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resolution {
    /// The session has the items.
    Saved,
    /// Results of input guardrails; the first that trips ends the run.
    InputChecked {
        /// The results, in declaration order.
        results: Vec<InputGuardrailResult>,
        /// `true` if other guardrails, beside the first turn, have not answered yet.
        more: bool,
    },
    /// The setup of the agent for this turn.
    Prepared(Box<TurnSetup>),
    /// The model's response.
    Answered(ModelResponse),
    /// The function tools that the agent has now: for each name, the index of the offered tool
    /// among those of this name, counted from 0.
    Offered(BTreeMap<String, usize>),
    /// Outcomes of the calls, in call order.
    ToolsRan(Vec<ToolOutcome>),
    /// A call ended the run.
    ToolsFailed {
        /// Outcomes of the calls that were complete at that time, in call order.
        outcomes: Vec<ToolOutcome>,
        /// Results of guardrails for the other calls.
        found: GuardrailResults,
    },
    /// The answers, in the order of the questions.
    McpAnswered(Vec<Decision>),
    /// The final output, or `None` to call the model again.
    ToolUseDecided(Option<Value>),
    /// The handoff was taken.
    HandedOff,
    /// The conversation for the next agent; `None` means all of it, unchanged.
    Rewritten(Option<Box<HandoffInputData>>),
    /// The parsed output, or a description of the problem with the text.
    Parsed(Result<Value, String>),
    /// The output of the handler, if it returned one.
    Handled(Option<HandlerOutput>),
    /// Results of the output guardrails; the first that trips ends the run.
    OutputChecked(Vec<OutputGuardrailResult>),
}

/// The output of an error handler.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlerOutput {
    /// The final output.
    pub value: Value,
    /// The message that represents the output in the history, if there is one.
    pub message: Option<Item>,
}

/// The outcome of one tool call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// Index of the call, as in [`DueCall::index`].
    pub index: usize,
    /// Result of the call.
    pub result: CallResult,
    /// `true` if the body of the call ran; a call that was rejected also has an output.
    pub ran: bool,
    /// `true` if the call failed and its output is the message for the model.
    pub failed: bool,
    /// The refusal of the call's arguments, if they are the reason why it failed.
    pub refused: Option<Box<RefusedArguments>>,
    /// Changes to the run context: a JSON merge patch, applied after all calls of the turn.
    pub context_patch: Option<Value>,
    /// Data that the model does not receive.
    pub side_data: Option<Box<SideData>>,
    /// Results of the guardrails before the call.
    pub input_guardrails: Vec<ToolGuardrailResult>,
    /// Results of the guardrails after the call.
    pub output_guardrails: Vec<ToolGuardrailResult>,
}

impl ToolOutcome {
    /// Creates an outcome with a result only.
    pub fn new(index: usize, result: CallResult) -> Self {
        Self {
            index,
            result,
            ran: false,
            failed: false,
            refused: None,
            context_patch: None,
            side_data: None,
            input_guardrails: Vec::new(),
            output_guardrails: Vec::new(),
        }
    }
}

/// The refusal of a call's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusedArguments {
    /// Path of the first argument that does not fit; empty for the arguments as a whole.
    pub field: String,
    /// Description of what does not fit. It repeats no argument.
    pub reason: String,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallResult {
    /// The call has an output.
    Output(ToolOutput),
    /// The call waits for a decision on its approval.
    NeedsApproval,
    /// The call waits for a decision of its own: no permanent decision holds for it.
    NeedsOwnApproval,
    /// The call is executed elsewhere, and waits for its output.
    NeedsOutput,
    /// The call waits for people to answer a question of an MCP server.
    NeedsInput(McpQuestion),
    /// The call is a nested run of an agent that waits for decisions.
    Paused(Box<RunState>),
}
