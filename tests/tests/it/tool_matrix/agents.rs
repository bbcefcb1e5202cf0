//! The agent of each cell: it has one tool.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};
use temporal_agents::{
    Agent, Tool, ToolDef,
    agent::{ChildAgent, GuardrailOutput, InputGuardrail},
    tool::{
        ChildWorkflow, HostedTool, McpServer, NeedsApproval, OnToolError, RemoteActivity, RequireApproval, RunContext,
        ToolActivityOptions, ToolFailureKind,
    },
    workflow::AgentSet,
};

use super::{
    bodies::{self, PANIC},
    cells::{Binding, Cell, Outcome},
    elsewhere, mcp,
};

/// The agents behind tools that are agents.
pub(super) const HELPER: &str = "helper";
pub(super) const FAR_HELPER: &str = "far_helper";

/// In what ways the calls of cells have failed, as the tools' own rule hears it.
static KINDS: LazyLock<Mutex<BTreeMap<String, ToolFailureKind>>> = LazyLock::new(Mutex::default);

/// In what way the call of a cell has failed.
pub(super) fn kind_of(cell: Cell) -> Option<ToolFailureKind> {
    KINDS.lock().unwrap_or_else(PoisonError::into_inner).get(&cell.agent()).copied()
}

/// Says nothing, so that the model gets what it gets of any tool; and notes the kind.
fn notes_the_kind() -> OnToolError {
    OnToolError::by_kind(|call, failure| {
        let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.insert(call.agent.clone(), failure.kind);
        None
    })
}

/// A decision is wanted of those calls that are to be approved or denied.
fn is_to_be_decided(_: &RunContext, arguments: &Map<String, Value>, _: &str) -> bool {
    let asked = arguments.get("how").or(arguments.get("input")).and_then(Value::as_str);
    [Outcome::Approved, Outcome::Denied].iter().any(|outcome| asked == Some(outcome.name()))
}

/// The agents whose tools the worker has.
pub(super) fn registered() -> Vec<Agent> {
    let of = |binding| [Outcome::Ok, Outcome::Timeout].map(|outcome| agent(Cell { binding, outcome }));
    let local = [Binding::Activity, Binding::ActivityOnce, Binding::LocalActivity, Binding::Agent];
    local.into_iter().flat_map(of).collect()
}

/// The agent of a cell.
pub(super) fn agent(cell: Cell) -> Agent {
    let agent = Agent::new(cell.agent()).model("gpt-5");
    match cell.binding {
        Binding::Mcp | Binding::McpOnce => agent.mcp_server(
            McpServer::named(mcp::server(cell))
                .call_options(options(cell))
                .needs_approval_when(is_to_be_decided)
                .on_error(notes_the_kind()),
        ),
        Binding::Hosted => {
            agent.hosted(HostedTool::mcp("crm", "https://crm.test").require_approval(RequireApproval::Always))
        }
        _ => {
            let rule = NeedsApproval::When(std::sync::Arc::new(is_to_be_decided));
            agent.tool(tool(cell).approval(rule).with_on_error(notes_the_kind()))
        }
    }
}

fn tool(cell: Cell) -> ToolDef {
    let (name, does) = (cell.tool(), "Does as it is asked to.");
    let late = cell.outcome == Outcome::Timeout;
    let schema = || json!({"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]});
    match cell.binding {
        Binding::Inline => ToolDef::inline(name, does, bodies::inline),
        Binding::Workflow => ToolDef::workflow(name, does, bodies::workflow),
        Binding::Activity | Binding::ActivityOnce | Binding::LocalActivity => {
            ToolDef::activity(name, does, bodies::activity).options(options(cell))
        }
        Binding::Remote | Binding::RemoteOnce => {
            let remote = RemoteActivity::named(elsewhere::activity())
                .task_queue(elsewhere::QUEUE)
                .attempts(2)
                .idempotent(cell.binding == Binding::Remote)
                .heartbeat(Duration::from_secs(30));
            let remote = if late { remote.start_to_close(Duration::from_secs(1)) } else { remote };
            ToolDef::remote_activity(name, does, schema(), remote)
        }
        Binding::ChildWorkflow => {
            let child = ChildWorkflow::named(elsewhere::WORKFLOW).task_queue(elsewhere::QUEUE);
            let child = if late { child.execution_timeout(Duration::from_secs(1)) } else { child };
            ToolDef::child_workflow(name, does, schema(), child)
        }
        Binding::Agent => helper(HELPER).as_tool().name(name).definition(),
        Binding::ChildAgent => {
            let child = ChildAgent::new().task_queue(elsewhere::QUEUE);
            let child = if late { child.execution_timeout(Duration::from_secs(1)) } else { child };
            far_helper().as_tool().name(name).in_child_workflow(child).definition()
        }
        Binding::Client => ToolDef::client(name, does, schema()),
        Binding::Mcp | Binding::McpOnce | Binding::Hosted => unreachable!("it has no tool of its own"),
    }
}

/// A late one has a second for each attempt.
fn options(cell: Cell) -> ToolActivityOptions {
    let longest = Duration::from_secs(if cell.outcome == Outcome::Timeout { 1 } else { 60 });
    let once = matches!(cell.binding, Binding::ActivityOnce);
    ToolActivityOptions::builder()
        .start_to_close(longest)
        .attempts(2)
        .heartbeat(Duration::from_secs(10))
        .local(cell.binding == Binding::LocalActivity)
        .idempotent(!once)
        .build()
}

/// An agent behind a tool. One that is asked to panic is in a guardrail that does.
fn helper(name: &str) -> Agent {
    let panics = InputGuardrail::new("panics", |_, input| {
        assert!(input.text() != Outcome::Panic.name(), "{PANIC}");
        Ok(GuardrailOutput::pass())
    });
    Agent::new(name).model("gpt-5").input_guardrail(panics)
}

pub(super) fn far_helper() -> Agent {
    helper(FAR_HELPER)
}

/// The agents of the ready-made workflow.
pub(super) fn set() -> AgentSet {
    AgentSet::new((far_helper,))
}
