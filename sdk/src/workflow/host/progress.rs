//! The progress of a run in the Temporal UI: the workflow's current details.

use super::WorkflowHost;
use crate::{drive::LoopEvent, workflow::effect::details::code};

impl WorkflowHost {
    /// Tells the inbox that a model has answered a call of the outermost run.
    pub(super) fn answered(&self, is_outermost: bool) {
        if let (Some(inbox), true) = (&self.inbox, is_outermost) {
            inbox.answered();
        }
    }

    /// Shows the event as the workflow's current details; counts the content of decisions.
    pub(super) fn show(&self, event: &LoopEvent<'_>) {
        match event {
            LoopEvent::TurnStarted { agent, turn } => {
                if let Some(inbox) = &self.inbox {
                    inbox.at_turn(agent, *turn);
                }
                self.ctx.show(format!("**{agent}** · turn {turn} · waits for the model"));
            }
            LoopEvent::ToolsCalled { agent, turn, tools, .. } => {
                let tools: Vec<String> = tools.iter().map(|tool| code(tool)).collect();
                self.ctx.show(format!("**{agent}** · turn {turn} · runs {}", tools.join(", ")));
            }
            LoopEvent::Paused { interruptions } => {
                let calls: Vec<String> =
                    interruptions.iter().map(|call| format!("{} of **{}**", code(&call.tool), call.agent)).collect();
                self.ctx.show(format!("waits for a decision on {}", calls.join(", ")));
            }
            LoopEvent::Decided { bytes, .. } => self.record_content_by_second_rule(|| *bytes),
            LoopEvent::Resumed { .. }
            | LoopEvent::CallRefused { .. }
            | LoopEvent::ApprovalRuleFailed { .. }
            | LoopEvent::CallDenied { .. }
            | LoopEvent::DecisionNotKept { .. }
            | LoopEvent::JudgeFailed { .. }
            | LoopEvent::NotSummarized { .. }
            | LoopEvent::ModelAnswered { .. }
            | LoopEvent::HandedOff { .. } => {}
        }
    }
}
