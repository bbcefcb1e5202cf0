//! Records the calls of a run's author functions: hooks and the inputs of handoffs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    agent::{HookContext, HookResult, HookedCall, RunHooks},
    wire::{Item, ModelResponse, ToolOutput},
};

/// The recorded calls of author functions, in order. Clones share the record.
///
/// In a workflow the record belongs to the workflow run: replay fills it again with the same calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness(Arc<Mutex<Seen>>);

/// The two lists of recorded calls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// `[EVENT, AGENT, ..]` per hook call.
    pub(crate) hooks: Vec<Value>,
    /// `{"tool_name", "input"}` per handoff.
    pub(crate) handoff_inputs: Vec<Value>,
}

impl Witness {
    /// Creates a witness that already contains earlier calls.
    pub(crate) fn new(seen: Seen) -> Self {
        Self(Arc::new(Mutex::new(seen)))
    }

    /// Returns a copy of the calls recorded so far.
    pub(crate) fn seen(&self) -> Seen {
        self.lock().clone()
    }

    pub(super) fn took_handoff(&self, tool_name: &str, input: Value) {
        self.lock().handoff_inputs.push(json!({"tool_name": tool_name, "input": input}));
    }

    #[expect(clippy::unnecessary_wraps, reason = "what hooks return")]
    fn hook(&self, event: Value) -> HookResult {
        self.lock().hooks.push(event);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunHooks for Witness {
    fn on_agent_start(&self, _ctx: &HookContext<'_>, agent: &str) -> HookResult {
        self.hook(json!(["agent_start", agent]))
    }

    fn on_agent_end(&self, _ctx: &HookContext<'_>, agent: &str, output: &Value) -> HookResult {
        self.hook(json!(["agent_end", agent, output]))
    }

    fn on_handoff(&self, _ctx: &HookContext<'_>, from: &str, to: &str) -> HookResult {
        self.hook(json!(["handoff", from, to]))
    }

    fn on_tool_start(&self, _ctx: &HookContext<'_>, agent: &str, call: &HookedCall<'_>) -> HookResult {
        self.hook(json!(["tool_start", agent, call.info.tool]))
    }

    fn on_tool_end(
        &self,
        _ctx: &HookContext<'_>,
        agent: &str,
        call: &HookedCall<'_>,
        output: &ToolOutput,
    ) -> HookResult {
        self.hook(json!(["tool_end", agent, call.info.tool, result_of(output)]))
    }

    fn on_llm_start(
        &self,
        _ctx: &HookContext<'_>,
        agent: &str,
        _instructions: Option<&str>,
        input: &[Item],
    ) -> HookResult {
        self.hook(json!(["llm_start", agent, input.len()]))
    }

    fn on_llm_end(&self, _ctx: &HookContext<'_>, agent: &str, response: &ModelResponse) -> HookResult {
        self.hook(json!(["llm_end", agent, response.output.len()]))
    }
}

/// Converts a tool's result to the form in which hooks report it: a string, or the parts of
/// structured content without their types.
fn result_of(output: &ToolOutput) -> Value {
    let without_type = |part: &Value| {
        let mut part = part.clone();
        if let Some(members) = part.as_object_mut() {
            members.shift_remove("type");
        }
        part
    };
    match output {
        ToolOutput::Text(text) => text.as_str().into(),
        ToolOutput::Content(parts) => parts.iter().map(without_type).collect(),
    }
}
