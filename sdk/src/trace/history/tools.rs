//! The spans of the calls that models request.

use std::time::SystemTime;

use temporal_agents_core::wire::Verdict;

use super::{
    branch::{Branch, failure_of, is_pending, retried, times_of_call},
    tree::Tree,
};
use crate::{
    client::transcript::{Approval, Run, ToolKind, ToolUse, Turn},
    trace::{attributes, ids::SpanId},
};

impl<'t> Branch<'t> {
    pub(super) fn tool(
        &self,
        run: &Run,
        turn: &Turn,
        tool: &ToolUse,
        (agent, id): (SpanId, &str),
        answered: Option<SystemTime>,
        tree: &mut Tree<'t>,
    ) {
        let execution = &self.execution;
        if let Some(approval) = &tool.approval {
            self.wait(run, turn, tool, approval, agent, tree);
        }
        match &tool.kind {
            ToolKind::Activity { activity } => {
                let Some(times) = times_of_call(activity) else { return };
                let call = execution.call(&activity.id);
                let described = attributes::tool_call(execution, &activity.id, &turn.agent, turn.number, &tool.name);
                tree.add(retried(described, activity), call, Some(agent), times, failure_of(activity));
                let Some(times) = tree.times_of_attempt(activity) else { return };
                let attempt = execution.attempt(&activity.id, activity.attempts);
                let described = attributes::tool_attempt(
                    execution,
                    &activity.id,
                    activity.attempts,
                    &tool.name,
                    &tool.call_id,
                    tool.mcp_server.as_deref(),
                );
                tree.add(described, attempt, Some(call), times, failure_of(activity));
                tree.add_content_of(tool);
            }
            ToolKind::Agent { run: called } => {
                let called = self.transcript.runs.iter().find(|run| run.id == *called);
                let target = called.and_then(|run| run.turns.first()).map_or("", |turn| &turn.agent);
                let times = called.map_or_else(Vec::new, |run| self.times_of_run(run));
                let start = times.iter().min().copied().or(answered).unwrap_or(self.end);
                let is_open = tool.output.is_none() && called.is_some_and(|run| run.turns.iter().any(is_pending));
                let end = if is_open { self.end } else { times.iter().max().copied().unwrap_or(start) };
                let described = attributes::transfer(execution, &turn.agent, &tool.name, &tool.call_id, target, true)
                    .open_if(is_open);
                tree.add(described, execution.call(id), Some(agent), (start, end), None);
                tree.add_content_of(tool);
            }
            ToolKind::Handoff { to } => {
                let at = answered.unwrap_or(self.end);
                let id = execution.call(&format!("{}-{}-handoff-{}", run.id, turn.number, tool.call_id));
                let described = attributes::transfer(execution, &turn.agent, &tool.name, &tool.call_id, to, false);
                tree.add(described, id, Some(agent), (at, at), None);
            }
            ToolKind::InWorkflow => {
                let was_made = tool.output.is_some() && !is_rejected(tool.approval.as_ref());
                let of_child = tool.child.and_then(|times| times.scheduled.zip(times.ended));
                if let (true, Some(times)) = (was_made, of_child.or(answered.map(|at| (at, at)))) {
                    let described = attributes::execute_tool(execution, &tool.name, &tool.call_id);
                    tree.add(described, execution.call(id), Some(agent), times, None);
                    tree.add_content_of(tool);
                }
            }
        }
    }

    fn wait(&self, run: &Run, turn: &Turn, tool: &ToolUse, approval: &Approval, agent: SpanId, tree: &mut Tree<'t>) {
        let (Some(asked), Some(decided)) = approval.times() else {
            return;
        };
        let verdict = approval.decision.as_ref().map(attributes::verdict);
        let described = attributes::wait(&self.execution, &turn.agent, &tool.name, verdict);
        tree.add(described, self.execution.wait(&run.id, &approval.id), Some(agent), (asked, decided), None);
    }
}

fn is_rejected(approval: Option<&Approval>) -> bool {
    approval.is_some_and(|approval| matches!(approval.decision, Some(Verdict::Reject { .. })))
}
