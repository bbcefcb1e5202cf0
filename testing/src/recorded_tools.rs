//! Tools that remember what they were called with.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use temporal_agents::tool::{ActivityBody, CallInfo, InlineBody, Tool, ToolBinding, ToolDef, WorkflowBody};

/// Tools, of a [`ToolRegistry`](temporal_agents::worker::ToolRegistry) or an agent, whose bodies first note what they were called with. Clones share the
/// record.
///
/// ```
/// use serde_json::json;
/// use temporal_agents::{Agent, tool, worker::ToolRegistry};
/// use temporal_agents_testing::RecordedTools;
///
/// /// Adds two numbers.
/// #[tool(inline)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let recorded = RecordedTools::new([add]);
/// let registry = ToolRegistry::new().register_all(recorded.tools())?;
/// let clerk: Agent = Agent::new("clerk").model("gpt-5").tools(recorded.tools());
///
/// registry.dispatch("add", r#"{"a": 3, "b": 4}"#).await?;
/// assert_eq!(recorded.calls(), [("add".to_owned(), json!({"a": 3, "b": 4}))]);
/// # let _ = clerk;
/// # Ok(())
/// # }
/// ```
///
/// It notes what reaches a body: not calls whose arguments do not fit, that a guardrail rejects, or that wait for a decision. Tools without a body
/// here (agents, client tools, activities and workflows that exist elsewhere, MCP servers of an agent) are given back as they are, unrecorded.
#[derive(Clone, Debug, Default)]
pub struct RecordedTools {
    tools: Vec<ToolDef>,
    record: Record,
}

/// An attempt at a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RecordedCall {
    /// The call, with tool, call id, agent, turn, attempt and idempotency key.
    pub call: CallInfo,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

#[derive(Clone, Debug, Default)]
struct Record(Arc<Mutex<Vec<RecordedCall>>>);

impl RecordedTools {
    /// These tools, in this order: `new(registry.tools())`, `new(agent.def().tools.clone())`.
    pub fn new(tools: impl IntoIterator<Item = impl Tool>) -> Self {
        let record = Record::default();
        let tools = tools.into_iter().map(|tool| recorded(tool.definition(), &record)).collect();
        Self { tools, record }
    }

    /// The tools, for an agent or a registry.
    pub fn tools(&self) -> Vec<ToolDef> {
        self.tools.clone()
    }

    /// Tool and arguments of each call so far, in the order in which their bodies began; further attempts, and replays, are not told.
    pub fn calls(&self) -> Vec<(String, Value)> {
        let mut seen: Vec<&str> = Vec::new();
        let (record, mut calls) = (self.record.lock(), Vec::new());
        for RecordedCall { call, arguments } in record.iter() {
            if !seen.contains(&call.idempotency_key()) {
                seen.push(call.idempotency_key());
                calls.push((call.tool.clone(), Value::Object(arguments.clone())));
            }
        }
        calls
    }

    /// Each attempt so far, in the order in which they began. What may run in a workflow, and again on replay, is told once; the body of an activity
    /// each time, also when another attempt of an agentic session makes the same call again.
    pub fn attempts(&self) -> Vec<RecordedCall> {
        self.record.lock().clone()
    }
}

impl Record {
    fn lock(&self) -> MutexGuard<'_, Vec<RecordedCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, call: &CallInfo, arguments: &Map<String, Value>) {
        self.lock().push(RecordedCall { call: call.clone(), arguments: arguments.clone() });
    }

    /// Notes a call that may run again on replay.
    fn note_once(&self, call: &CallInfo, arguments: &Map<String, Value>) {
        let mut record = self.lock();
        if !record.iter().any(|known| known.call == *call) {
            record.push(RecordedCall { call: call.clone(), arguments: arguments.clone() });
        }
    }
}

fn recorded(tool: ToolDef, record: &Record) -> ToolDef {
    let record = record.clone();
    let binding = match tool.binding().clone() {
        ToolBinding::Inline(body) => {
            let body: InlineBody = Arc::new(move |ctx, arguments| {
                record.note_once(ctx.info(), &arguments);
                body(ctx, arguments)
            });
            ToolBinding::Inline(body)
        }
        ToolBinding::Activity { body, options } => {
            let body: ActivityBody = Arc::new(move |ctx, arguments| {
                record.note(ctx.info(), &arguments);
                body(ctx, arguments)
            });
            ToolBinding::Activity { body, options }
        }
        ToolBinding::Workflow(body) => {
            let body: WorkflowBody = Arc::new(move |ctx, arguments| {
                record.note_once(ctx.info(), &arguments);
                body(ctx, arguments)
            });
            ToolBinding::Workflow(body)
        }
        _ => return tool,
    };
    tool.with_binding(binding)
}

#[cfg(test)]
mod tests;
