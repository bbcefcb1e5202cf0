//! What observers of a run hear.

use crate::{
    tool::CallInfo,
    wire::{ModelResponse, run_state::Interruption},
};

/// Something a run does, for observers.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// A turn begins.
    TurnStarted {
        /// The agent.
        agent: &'a str,
        /// The turn, counted from 1.
        turn: u32,
    },
    /// The model answered.
    ModelAnswered {
        /// The agent.
        agent: &'a str,
        /// The turn.
        turn: u32,
        /// The answer.
        response: &'a ModelResponse,
    },
    /// Tools are called.
    ToolsCalled {
        /// The agent.
        agent: &'a str,
        /// The turn.
        turn: u32,
        /// The tools, in call order.
        tools: &'a [&'a str],
    },
    /// A call whose reason the model is not told: arguments that do not fit, or a failed tool that is no activity of ours. For most of them
    /// this is the only place that says why.
    CallRefused {
        /// The call.
        call: &'a CallInfo,
        /// Why.
        reason: &'a str,
    },
    /// An approval rule over typed arguments panicked, so the call waits for a decision.
    ApprovalRuleFailed {
        /// The call.
        call: &'a CallInfo,
        /// The panic's message.
        reason: &'a str,
    },
    /// A summary of the conversation could not be had; the run goes on with all of it.
    NotSummarized {
        /// The agent.
        agent: &'a str,
        /// The turn.
        turn: u32,
        /// Why.
        reason: &'a str,
    },
    /// The run waits for decisions.
    Paused {
        /// The calls that wait.
        interruptions: &'a [Interruption],
    },
    /// People have decided on calls, supplied their outputs, or answered what MCP servers asked: the run takes it now. In a workflow, history has it as
    /// updates.
    Decided {
        /// The agent.
        agent: &'a str,
        /// The turn.
        turn: u32,
        /// The size of all decisions, outputs and answers, in bytes of JSON.
        bytes: usize,
    },
    /// The conversation moves to another agent.
    HandedOff {
        /// From this agent.
        from: &'a str,
        /// To this one.
        to: &'a str,
    },
}

impl RunEvent<'_> {
    /// Logs a warning for what neither history nor the model is told: the reason of a refused call, a failed approval rule, a missing summary.
    pub(crate) fn warn(&self) {
        match self {
            Self::CallRefused { call, reason } => {
                warn_of(call, reason, "the model is told only that the tool call failed");
            }
            Self::ApprovalRuleFailed { call, reason } => {
                warn_of(call, reason, "the approval rule failed, so the call waits for a decision");
            }
            Self::NotSummarized { agent, turn, reason } => {
                tracing::warn!(agent, turn, reason, "the conversation is carried over without a summary");
            }
            _ => {}
        }
    }
}

fn warn_of(call: &CallInfo, reason: &str, message: &str) {
    let CallInfo { agent, turn, tool, call_id, .. } = call;
    tracing::warn!(agent, turn, tool, call_id, reason, "{message}");
}
