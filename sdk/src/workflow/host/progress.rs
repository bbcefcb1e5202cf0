//! The progress of a run in the Temporal UI: the workflow's current details.

use super::WorkflowHost;
use crate::{drive::RunEvent, workflow::effect::details::code};

impl WorkflowHost {
    /// Shows the event as the workflow's current details; counts the content of decisions.
    pub(super) fn show(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::TurnStarted { agent, turn } => {
                if let Some(inbox) = &self.inbox {
                    inbox.at_turn(agent, *turn);
                }
                self.ctx.show(format!("**{agent}** · turn {turn} · waits for the model"));
            }
            RunEvent::ToolsCalled { agent, turn, tools } => {
                let tools: Vec<String> = tools.iter().map(|tool| code(tool)).collect();
                self.ctx.show(format!("**{agent}** · turn {turn} · runs {}", tools.join(", ")));
            }
            RunEvent::Paused { interruptions } => {
                let calls: Vec<String> =
                    interruptions.iter().map(|call| format!("{} of **{}**", code(&call.tool), call.agent)).collect();
                self.ctx.show(format!("waits for a decision on {}", calls.join(", ")));
            }
            RunEvent::Decided { bytes, .. } => self.record_content_by_second_rule(|| *bytes),
            RunEvent::CallRefused { .. }
            | RunEvent::ApprovalRuleFailed { .. }
            | RunEvent::NotSummarized { .. }
            | RunEvent::ModelAnswered { .. }
            | RunEvent::HandedOff { .. } => {}
        }
    }
}
