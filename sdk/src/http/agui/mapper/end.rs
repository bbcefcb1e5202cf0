//! Pauses, ends and resets.

use serde_json::{Value, json};
use temporal_agents_core::wire::{AgentInterruption, EventKind, InterruptionKind, RunProblem};

use super::{AguiMapper, Phase};
use crate::{
    events::call_id_of,
    http::agui::{AguiEvent, Interrupt, InterruptReason, Outcome, SubagentOutcome},
};

/// The end of a nested run.
#[derive(Clone, Copy)]
enum SubagentEnd<'e> {
    /// The run has ended; its own end is not known.
    Unknown,
    Succeeded {
        output: &'e Value,
    },
    Suspended {
        interrupts: &'e [Interrupt],
    },
    Failed {
        message: &'e str,
        code: &'e str,
    },
}

impl AguiMapper {
    /// Returns the event `problem` of a run that makes no progress, with the value `{"problem"}`:
    /// kind, message, remedy, and agent and time if they are known; `null` once it does again.
    pub(crate) fn problem(&mut self, problem: Option<&RunProblem>) -> Vec<AguiEvent> {
        if self.is_over() {
            return Vec::new();
        }
        self.begin();
        let value = json!({"problem": problem});
        self.out.push(AguiEvent::Custom { name: "problem".to_owned(), value, subagent_run_id: None });
        self.take()
    }

    /// Ends the stream of a run that waits for these calls. Calls that the frontend makes are
    /// reported only if nothing else waits: they are reported again after the answers of people.
    pub(crate) fn paused(&mut self, waiting: &[AgentInterruption]) -> Vec<AguiEvent> {
        if self.is_over() {
            return Vec::new();
        }
        let is_of_frontend = |waiting: &&AgentInterruption| waiting.kind == InterruptionKind::Output;
        let of_people = waiting.iter().filter(|waiting| !is_of_frontend(waiting));
        let interrupts: Vec<Interrupt> = of_people.map(|waiting| self.interrupt(waiting)).collect();
        let outcome = if interrupts.is_empty() {
            let of_frontend = waiting.iter().filter(is_of_frontend);
            Outcome::Success { pending_tool_call_ids: of_frontend.map(|waiting| self.call_of(waiting).0).collect() }
        } else {
            Outcome::Interrupt { interrupts: interrupts.clone() }
        };
        self.finish(SubagentEnd::Suspended { interrupts: &interrupts }, outcome, None)
    }

    /// Ends the stream of a run with an output. An output that is a string is the text of the last
    /// message, and is not repeated.
    pub(crate) fn finished(&mut self, output: Option<&Value>) -> Vec<AguiEvent> {
        let result = output.filter(|output| !output.is_string() && !output.is_null()).cloned();
        self.finish(SubagentEnd::Unknown, Outcome::Success { pending_tool_call_ids: Vec::new() }, result)
    }

    /// Ends the stream of a run that was cancelled.
    pub(crate) fn cancelled(&mut self) -> Vec<AguiEvent> {
        let end = SubagentEnd::Failed { message: "the run was cancelled", code: "Cancelled" };
        self.finish(end, Outcome::Cancelled, None)
    }

    /// Ends the stream of a run that has failed. `code` is the name of the error.
    pub(crate) fn failed(&mut self, message: &str, code: &str) -> Vec<AguiEvent> {
        if self.is_over() {
            return Vec::new();
        }
        self.close_all(SubagentEnd::Failed { message, code });
        self.phase = Phase::Over;
        let (message, code) = (message.to_owned(), code.to_owned());
        self.out.push(AguiEvent::RunError { message, code, usage: self.usage.entries() });
        self.take()
    }

    /// Ends a nested run. The caller reports the end of the run itself.
    pub(super) fn run_ended(&mut self, scope: usize, kind: &EventKind) {
        let end = match kind {
            EventKind::RunFinished { output, .. } => SubagentEnd::Succeeded { output },
            EventKind::RunFailed { failure, .. } => {
                SubagentEnd::Failed { message: &failure.message, code: &failure.type_name }
            }
            EventKind::RunCancelled { .. } => {
                SubagentEnd::Failed { message: "the run was cancelled", code: "Cancelled" }
            }
            EventKind::RunTerminated { reason } => SubagentEnd::Failed { message: reason, code: "Terminated" },
            EventKind::RunTimedOut {} => SubagentEnd::Failed { message: "the run has timed out", code: "Timeout" },
            _ => return,
        };
        if self.scopes[scope].subagent.is_none() {
            return;
        }
        let of_inner = match end {
            SubagentEnd::Failed { .. } => end,
            _ => SubagentEnd::Unknown,
        };
        self.close_inside(scope, of_inner);
        self.close_subagent(scope, end);
    }

    /// Undoes what a run has sent: the run continues from an earlier event. All its messages are
    /// removed; those before the reset that still hold are not repeated.
    pub(super) fn reset(&mut self, scope: usize, reason: &str) {
        let inside = self.inside(scope);
        self.close_inside(scope, SubagentEnd::Failed { message: "the workflow was reset", code: "Reset" });
        for other in inside.into_iter().chain([scope]) {
            let owner = self.owner(other);
            self.log.remove_of(owner.as_deref());
            self.calls.remove_of(other);
            self.scopes[other].is_undone = other != scope;
        }
        self.close_scope(scope);
        let of_scope = &mut self.scopes[scope];
        of_scope.streams.clear();
        of_scope.model_calls.clear();
        of_scope.tool_calls.clear();
        self.custom(scope, "temporal.reset", json!({"reason": reason}));
        self.snapshot();
    }

    fn finish(&mut self, of_nested: SubagentEnd<'_>, outcome: Outcome, result: Option<Value>) -> Vec<AguiEvent> {
        if self.is_over() {
            return Vec::new();
        }
        self.begin();
        self.close_all(of_nested);
        self.phase = Phase::Over;
        let (thread_id, run_id, usage) = (self.thread_id.clone(), self.run_id.clone(), self.usage.entries());
        self.out.push(AguiEvent::RunFinished { thread_id, run_id, result, outcome, usage });
        self.take()
    }

    fn close_all(&mut self, of_nested: SubagentEnd<'_>) {
        let outermost = self.outermost();
        self.close_inside(outermost, of_nested);
        self.close_scope(outermost);
    }

    /// Closes the runs nested in a run, innermost first.
    fn close_inside(&mut self, scope: usize, end: SubagentEnd<'_>) {
        for inner in self.inside(scope) {
            if !self.scopes[inner].has_ended {
                self.close_subagent(inner, end);
            }
        }
    }

    fn close_subagent(&mut self, scope: usize, end: SubagentEnd<'_>) {
        self.close_scope(scope);
        self.scopes[scope].has_ended = true;
        let Some(subagent_run_id) = self.owner(scope) else { return };
        let finished =
            |subagent_run_id, result, outcome| AguiEvent::SubagentFinished { subagent_run_id, result, outcome };
        self.out.push(match end {
            SubagentEnd::Unknown => finished(subagent_run_id, None, None),
            SubagentEnd::Succeeded { output } => {
                let result = Some(output).filter(|output| !output.is_null()).cloned();
                finished(subagent_run_id, result, Some(SubagentOutcome::Success))
            }
            SubagentEnd::Suspended { interrupts } => {
                let is_own = |interrupt: &&Interrupt| interrupt.subagent_run_id.as_ref() == Some(&subagent_run_id);
                let interrupt_ids = interrupts.iter().filter(is_own).map(|interrupt| interrupt.id.clone()).collect();
                finished(subagent_run_id, None, Some(SubagentOutcome::Suspended { interrupt_ids }))
            }
            SubagentEnd::Failed { message, code } => {
                let (message, code) = (message.to_owned(), code.to_owned());
                AguiEvent::SubagentError { subagent_run_id, message, code }
            }
        });
    }

    fn interrupt(&self, waiting: &AgentInterruption) -> Interrupt {
        let AgentInterruption { id, agent, tool, arguments, server, kind, question, expires_at: _ } = waiting;
        let is_shown = server.is_none();
        let (tool_call_id, subagent_run_id) = self.call_of(waiting);
        let reason = match kind {
            InterruptionKind::Approval if is_shown => InterruptReason::ToolCall,
            InterruptionKind::Approval => InterruptReason::Confirmation,
            InterruptionKind::Input => InterruptReason::InputRequired,
            InterruptionKind::Output | InterruptionKind::Other => InterruptReason::Other,
        };
        let message = match (kind, question, server) {
            (InterruptionKind::Input, Some(question), _) => question.message.clone(),
            (InterruptionKind::Approval, _, None) => format!("{agent} requests approval to call {tool}."),
            (InterruptionKind::Approval, _, Some(server)) => {
                format!("{agent} requests approval to call {tool} of {server}.")
            }
            _ => format!("{tool}, called by {agent}, waits for an answer."),
        };
        let response_schema = match kind {
            InterruptionKind::Approval => Some(approval_schema()),
            InterruptionKind::Input => question.as_ref().map(|question| question.schema.clone()),
            InterruptionKind::Output | InterruptionKind::Other => None,
        };
        let metadata = server.as_ref().map(|server| json!({"server": server, "tool": tool, "arguments": arguments}));
        let tool_call_id = Some(tool_call_id).filter(|_| is_shown);
        Interrupt { id: id.clone(), reason, message, tool_call_id, response_schema, metadata, subagent_run_id }
    }

    /// Returns the id in the stream of the call that waits, and the subagent that made it. An
    /// interruption's id contains the ids of the calls in which the call was made.
    fn call_of(&self, waiting: &AgentInterruption) -> (String, Option<String>) {
        let call_id = call_id_of(&waiting.id);
        let depth = waiting.id.matches('/').count();
        let scopes = &self.scopes;
        let found = self.calls.latest(&call_id, |scope| scopes[scope].depth() == depth);
        match found.or_else(|| self.calls.latest(&call_id, |_| true)) {
            Some((scope, id)) => (id.to_owned(), self.scopes[scope].subagent.clone()),
            None => (call_id, None),
        }
    }
}

/// Returns the schema of the payload that decides on a call.
fn approval_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "reason": {"type": "string", "description": "Message for the model, if the call is rejected."},
        },
        "required": ["approved"],
    })
}
