//! What author functions of a run have seen: hooks and the inputs of handoffs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    agent::{HookContext, HookResult, HookedCall, RunHooks},
    wire::{Item, ModelResponse, ToolOutput},
};

/// What author functions have seen, in the order in which they were called. Clones share it.
///
/// In a workflow it belongs to the workflow run: replay fills it again with the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness(Arc<Mutex<Seen>>);

/// The two lists.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// `[EVENT, AGENT, ..]` each.
    pub(crate) hooks: Vec<Value>,
    /// `{"tool_name", "input"}` each.
    pub(crate) handoff_inputs: Vec<Value>,
}

impl Witness {
    /// One that has seen this before.
    pub(crate) fn new(seen: Seen) -> Self {
        Self(Arc::new(Mutex::new(seen)))
    }

    /// What it has seen.
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

/// A tool's result as hooks report it: a text, or the parts of structured content without their types.
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
