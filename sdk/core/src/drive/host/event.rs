//! Events of the loop, for its host.

use std::time::Duration;

use crate::{
    drive::tool_failure::truncated_reason,
    tool::CallInfo,
    wire::{ModelResponse, RunState, run_state::Interruption},
};

/// An event of the loop, which its host observes.
#[derive(Debug)]
pub enum LoopEvent<'a> {
    /// A turn begins.
    TurnStarted {
        /// Name of the agent whose turn begins.
        agent: &'a str,
        /// The turn, counted from 1.
        turn: u32,
    },
    /// The model returned a response.
    ModelAnswered {
        /// Name of the agent that called the model.
        agent: &'a str,
        /// The turn, counted from 1.
        turn: u32,
        /// The model's response.
        response: &'a ModelResponse,
    },
    /// Tools are called.
    ToolsCalled {
        /// Prefix of the ids of the run's effects; empty for the outermost run.
        path: &'a str,
        /// Name of the agent that calls the tools.
        agent: &'a str,
        /// The turn, counted from 1.
        turn: u32,
        /// Names of the tools, in call order.
        tools: &'a [&'a str],
        /// Ids of the calls, in their order. A call that has waited for a decision is called again.
        call_ids: &'a [&'a str],
    },
    /// A call failed, and the model does not receive the reason: the arguments are invalid, or the
    /// failed tool is not an activity of this crate. For most of these calls no other record has
    /// the reason.
    CallRefused {
        /// The failed call.
        call: &'a CallInfo,
        /// The reason for the failure of the call.
        reason: &'a str,
    },
    /// An approval rule over typed arguments panicked, so the call waits for a decision.
    ApprovalRuleFailed {
        /// The call that waits.
        call: &'a CallInfo,
        /// Message of the panic.
        reason: &'a str,
    },
    /// The judge of the gate failed, so a person decides about the call.
    JudgeFailed {
        /// The call.
        call: &'a CallInfo,
        /// The reason for the failure.
        reason: &'a str,
    },
    /// The store of decisions failed, so the decision holds only in this run.
    DecisionNotKept {
        /// The call that was decided.
        call: &'a CallInfo,
        /// The reason for the failure.
        reason: &'a str,
    },
    /// The gate of the run denied a call.
    CallDenied {
        /// The call.
        call: &'a CallInfo,
        /// The rule, if one decided.
        rule: Option<&'a str>,
        /// The reason, which the model receives.
        reason: &'a str,
    },
    /// A summary of the conversation failed; the run continues with the whole conversation.
    NotSummarized {
        /// Name of the agent whose model was called.
        agent: &'a str,
        /// The turn, counted from 1.
        turn: u32,
        /// The reason for the failure.
        reason: &'a str,
    },
    /// The run waits for decisions.
    Paused {
        /// The calls that wait for decisions.
        interruptions: &'a [Interruption],
    },
    /// The run continues after a wait for decisions.
    Resumed {
        /// State of the run, with the decisions.
        state: &'a RunState,
    },
    /// The run applies decisions of people on calls, outputs that they supplied, or answers to
    /// questions of MCP servers. In a workflow, history records them as updates. Not reported if
    /// `bytes` would be 0, as for a decision without a message.
    Decided {
        /// Name of the agent that made the calls.
        agent: &'a str,
        /// The turn, counted from 1.
        turn: u32,
        /// Size of the messages of the decisions, the supplied outputs and the answers, in bytes of
        /// JSON.
        bytes: usize,
    },
    /// The conversation moves to another agent.
    HandedOff {
        /// Name of the agent that hands off.
        from: &'a str,
        /// Name of the agent that continues the conversation.
        to: &'a str,
    },
}

impl LoopEvent<'_> {
    /// Logs a warning for a reason that the history may not have: of a call that failed in the loop,
    /// a failed approval rule, or a missing summary.
    pub fn warn(&self) {
        match self {
            Self::CallRefused { call, reason } => warn_of_attempt(call, None, reason),
            Self::ApprovalRuleFailed { call, reason } => {
                warn_of(call, reason, "the approval rule failed, so the call waits for a decision");
            }
            Self::JudgeFailed { call, reason } => {
                warn_of(call, reason, "the judge of the gate failed, so a person decides");
            }
            Self::DecisionNotKept { call, reason } => {
                warn_of(call, reason, "the store of decisions failed, so the decision holds only in this run");
            }
            Self::CallDenied { call, rule, reason } => {
                let CallInfo { agent, turn, tool, call_id, .. } = call;
                tracing::warn!(agent, turn, tool, call_id, rule, reason, "the gate denied the call");
            }
            Self::NotSummarized { agent, turn, reason } => {
                tracing::warn!(agent, turn, reason, "the run continues with the whole conversation, without a summary");
            }
            _ => {}
        }
    }
}

/// Logs the warning for a failed attempt at this tool call, whose error contains nothing that the
/// tool redacts. `next_pause` is the pause before the next attempt, if one follows.
pub fn warn_of_attempt(call: &CallInfo, next_pause: Option<Duration>, error: &str) {
    let CallInfo { agent, turn, tool, call_id, attempt, .. } = call;
    let error = &*truncated_reason(error);
    let next_pause = next_pause.map(tracing::field::debug);
    tracing::warn!(agent, turn, tool, call_id, attempt, next_pause, error, "an attempt at a tool call failed");
}

fn warn_of(call: &CallInfo, reason: &str, message: &str) {
    let CallInfo { agent, turn, tool, call_id, .. } = call;
    tracing::warn!(agent, turn, tool, call_id, reason, "{message}");
}
