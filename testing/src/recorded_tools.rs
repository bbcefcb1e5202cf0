//! Tools that record their calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use temporal_agents::tool::{CallInfo, Tool, ToolDef};
use temporal_agents_core::tool::{ActivityBody, InlineBody, ToolBinding, WorkflowBody};

/// Tools of a [`ToolRegistry`](temporal_agents::worker::ToolRegistry) or an agent whose bodies
/// first record the call and its arguments. Clones share the record.
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
/// let registry = ToolRegistry::default().register_all(recorded.tools())?;
/// let clerk: Agent = Agent::new("clerk").model("gpt-5").tools(recorded.tools());
///
/// registry.dispatch("add", r#"{"a": 3, "b": 4}"#).await?;
/// assert_eq!(recorded.calls(), [("add".to_owned(), json!({"a": 3, "b": 4}))]);
/// # let _ = clerk;
/// # Ok(())
/// # }
/// ```
///
/// The record contains only the calls that reach a body: not calls with invalid arguments, calls
/// that a guardrail rejects, or calls that wait for a decision. Tools without a body in this
/// process (agents, client tools, activities and workflows that exist elsewhere, MCP servers of an
/// agent) are returned unchanged, and are not recorded.
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
    /// Arguments of the call.
    pub arguments: Map<String, Value>,
}

#[derive(Clone, Debug, Default)]
struct Record(Arc<Mutex<Vec<RecordedCall>>>);

impl RecordedTools {
    /// Wraps these tools, in this order: `new(registry.tools())`, `new(agent.def().tools.clone())`.
    pub fn new(tools: impl IntoIterator<Item = impl Tool>) -> Self {
        let record = Record::default();
        let tools = tools.into_iter().map(|tool| recorded(tool.definition(), &record)).collect();
        Self { tools, record }
    }

    /// Returns the tools, for an agent or a registry.
    pub fn tools(&self) -> Vec<ToolDef> {
        self.tools.clone()
    }

    /// Returns tool and arguments of each call so far, in the order in which the bodies began;
    /// omits further attempts and replays of a call.
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

    /// Returns each attempt so far, in the order in which they began. A body that may run in a
    /// workflow, and again on replay, is recorded once per attempt; the body of an activity is
    /// recorded each time, also if another attempt of an agentic session repeats the same call.
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

    /// Records a call that may run again on replay, unless it is already recorded.
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
