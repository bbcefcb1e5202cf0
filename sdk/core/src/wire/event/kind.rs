//! The kinds of events, and their content.

mod json;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::failure::RecordedFailure;
use crate::wire::{
    absent::is_default, agent_handlers::Verdict, item::Item, run_state::InterruptionKind, side_data::SideData,
    usage::Usage,
};

/// The kind of a [`RunEvent`](super::RunEvent), with its content. In JSON, `kind` is the name in
/// snake case, and the members are beside it.
///
/// Kinds whose names end in `Delta` are deltas; all others are facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// A run has begun.
    RunStarted {
        /// The input of its first model call since the last item of a model or a tool: the new
        /// messages.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        input: Vec<Item>,
    },
    /// A run continues: after a pause, from a state, or in the execution after continue-as-new.
    RunResumed {},
    /// The run continues in the next execution of its workflow.
    RunContinued {
        /// Id of that execution (Temporal's run id).
        execution: String,
    },
    /// The workflow was reset: the run continues from an earlier event, in a new execution.
    RunReset {
        /// Id of that execution (Temporal's run id).
        execution: String,
        /// Reason in the request to reset the workflow.
        #[serde(default, skip_serializing_if = "is_default")]
        reason: String,
    },
    /// The run waits for decisions.
    RunPaused {},
    /// The run has ended with a final output.
    RunFinished {
        /// The final output; null if it is larger than 4 KiB of JSON and not the last message.
        output: Value,
        /// Token usage of the whole run, nested runs included; absent if the run did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The run has failed.
    RunFailed {
        /// The failure.
        failure: RecordedFailure,
        /// Token usage of the whole run; absent if the run did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The run was cancelled.
    RunCancelled {
        /// Token usage of the whole run; absent if the run did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The workflow of the run was terminated.
    RunTerminated {
        /// Reason in the request to terminate it.
        #[serde(default, skip_serializing_if = "is_default")]
        reason: String,
    },
    /// The workflow of the run has exceeded a timeout.
    RunTimedOut {},
    /// A turn has begun.
    TurnStarted {},
    /// A model call was scheduled.
    ModelCallScheduled {
        /// Name of the model, from the agent or the run.
        #[serde(default, skip_serializing_if = "is_default")]
        model: String,
    },
    /// The model has answered. An event for each item of the response follows.
    ModelCallAnswered {
        /// Number of the attempt that succeeded, counted from 1.
        attempts: u32,
        /// Failure of the attempt before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier_failure: Option<RecordedFailure>,
        /// Id of the response at the provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_id: Option<String>,
        /// Reason why the response is incomplete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incomplete: Option<String>,
        /// Token usage of the call.
        #[serde(default)]
        usage: Usage,
    },
    /// The model call has failed, after all its attempts.
    ModelCallFailed {
        /// Number of the last attempt, counted from 1.
        attempts: u32,
        /// The failure.
        failure: RecordedFailure,
        /// Failure of the attempt before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier_failure: Option<RecordedFailure>,
    },
    /// A message of the model.
    Message {
        /// The whole text of the message.
        text: String,
        /// The message.
        item: Item,
    },
    /// A reasoning item of the model.
    Reasoning {
        /// The item.
        item: Item,
    },
    /// The model calls a tool, or hands off.
    ToolCall {
        /// Id that links the output to the call.
        call_id: String,
        /// Name that the model called.
        name: String,
        /// The arguments as the model wrote them.
        arguments: String,
        /// The call.
        item: Item,
    },
    /// An item of the model of another kind: a call of a hosted tool, for example.
    OtherItem {
        /// The item.
        item: Item,
    },
    /// A call has an output.
    ToolOutput {
        /// Id of the call.
        call_id: String,
        /// Name of the tool; empty if the call is not in this history.
        #[serde(default, skip_serializing_if = "is_default")]
        name: String,
        /// The output that the model receives: a string, or a list of content parts.
        output: Value,
        /// Number of the attempt that returned it; 0 for a call without attempts.
        #[serde(default, skip_serializing_if = "is_default")]
        attempts: u32,
        /// Failure of the attempt before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier_failure: Option<RecordedFailure>,
        /// Data that the model does not receive. A database does not keep the part for the audience
        /// `internal`, and the clients of a service see that for `timeline` only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        side_data: Option<Box<SideData>>,
        /// `true` if the call has failed (a [`ToolFailed`](Self::ToolFailed) came before): the
        /// output is the message that the model receives about it.
        #[serde(default, skip_serializing_if = "is_default")]
        is_failure: bool,
    },
    /// A call has failed, after all its attempts, or because its arguments do not fit. If the run
    /// continues, a `ToolOutput` follows with the message that the model receives, marked as a
    /// failure.
    ToolFailed {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        #[serde(default, skip_serializing_if = "is_default")]
        name: String,
        /// Number of the last attempt, counted from 1; 0 for a call without attempts.
        attempts: u32,
        /// The failure.
        failure: RecordedFailure,
        /// Failure of the attempt before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        earlier_failure: Option<RecordedFailure>,
    },
    /// The conversation has moved to another agent.
    Handoff {
        /// Name of the agent that handed off.
        from: String,
        /// Name of the agent that continues the conversation.
        to: String,
    },
    /// A guardrail has tripped.
    GuardrailTripped {
        /// Name of the guardrail.
        guardrail: String,
        /// The data that it checked.
        stage: GuardrailStage,
        /// Name of the tool, for a guardrail of a tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
        /// Information that the guardrail returned; null if there is none, or if it is larger than
        /// 1 KiB of JSON.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        output_info: Value,
    },
    /// The gate of the run has denied a call, whose output is then the reason, or lets a person
    /// decide about it.
    ToolGated {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        tool: String,
        /// `true` if the call is not made, whatever a person says.
        #[serde(default, skip_serializing_if = "is_default")]
        is_denied: bool,
        /// The rule that decided; absent = none: the mode of the gate, untrusted content, or a
        /// command that is dangerous or not clear.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// The reason.
        #[serde(default, skip_serializing_if = "is_default")]
        reason: String,
    },
    /// A call waits for a decision, or for its output.
    QuestionAsked {
        /// Id to decide by.
        question_id: String,
        /// Name of the agent that made the call.
        #[serde(default, skip_serializing_if = "is_default")]
        asked_by: String,
        /// Name of the tool.
        tool: String,
        /// The first 512 bytes of the arguments as the model wrote them.
        arguments: String,
        /// `true` if the arguments are longer than that.
        #[serde(default, skip_serializing_if = "is_default")]
        is_cut: bool,
        /// Label of the hosted MCP server that requests approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<String>,
        /// Kind of input that the call waits for; absent = a decision.
        #[serde(default, skip_serializing_if = "is_default")]
        waits_for: InterruptionKind,
        /// Time at which the question expires, in milliseconds since the Unix epoch; absent =
        /// never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<u64>,
    },
    /// A decision on a question, or its output, has arrived.
    QuestionDecided {
        /// Id of the question.
        question_id: String,
        /// The decision; in a run that is resumed from a state, its message is truncated to 1 KiB.
        decision: Verdict,
        /// `true` if the decision also applies to later calls of the tool.
        #[serde(default, skip_serializing_if = "is_default")]
        always: bool,
        /// Name of the person who decided, as the caller stated it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The conversation was shortened.
    Compaction {
        /// Number of items before.
        items_before: u32,
        /// Number of items after.
        items_after: u32,
    },
    /// A chat has received a message. The runs of a chat answer its messages in this order. One
    /// that waits when the chat continues as new is reported again in the next execution.
    ChatMessageDelta {
        /// Id of the message: its sender's, or else the one that the chat has assigned.
        #[serde(default, skip_serializing_if = "is_default")]
        chat_message_id: String,
        /// Text of the message.
        text: String,
        /// `true` if the chat has refused the message, which was reported before.
        #[serde(default, skip_serializing_if = "is_default")]
        is_refused: bool,
    },
    /// An attempt of a call has begun, or has failed.
    AttemptDelta {
        /// Id of the call's effect, for example `2-model` or `2-tool-0`.
        effect: String,
        /// Number of the attempt, counted from 1.
        attempt: u32,
        /// Failure of the attempt; absent while it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<RecordedFailure>,
        /// Time of the next attempt (RFC 3339, UTC).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_at: Option<String>,
    },
    /// A part of the text of a message.
    TextDelta {
        /// Id of the event of the message that the part becomes.
        message_id: String,
        /// Number of the attempt that sent it; a higher number replaces all parts before.
        attempt: u32,
        /// The text.
        delta: String,
    },
    /// A part of a reasoning item.
    ReasoningDelta {
        /// Id of the event of the item that the part becomes.
        message_id: String,
        /// Number of the attempt that sent it.
        attempt: u32,
        /// The text.
        delta: String,
    },
    /// A part of the arguments of a call.
    ToolArgumentsDelta {
        /// Id of the event of the call that the part becomes.
        message_id: String,
        /// Number of the attempt that sent it.
        attempt: u32,
        /// The text.
        delta: String,
    },
    /// Output of a tool while it runs.
    ToolOutputDelta {
        /// Id of the call.
        call_id: String,
        /// Name of the tool.
        name: String,
        /// Number of the attempt that sent it.
        attempt: u32,
        /// `stdout`, `stderr`, `log`, `progress`, or a name that the tool chooses.
        stream: String,
        /// The text.
        delta: String,
        /// Fraction of the work that is done, from 0 to 1; only of the stream `progress`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fraction: Option<f64>,
    },
    /// A value that a tool has emitted.
    EmittedDelta {
        /// Id of the call that emitted it.
        call_id: String,
        /// Number of the attempt that emitted it.
        attempt: u32,
        /// Name of the value.
        name: String,
        /// The value.
        value: Value,
    },
    /// A kind that this build does not know.
    #[serde(skip)]
    Other {
        /// Name of the kind.
        kind: String,
        /// The other members.
        members: Map<String, Value>,
    },
}

/// The data that a guardrail checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GuardrailStage {
    /// The input of a run.
    Input,
    /// The final output of an agent.
    Output,
    /// The arguments of a tool call.
    ToolInput,
    /// The output of a tool call.
    ToolOutput,
    /// A stage that this build does not know.
    #[serde(other)]
    Other,
}
