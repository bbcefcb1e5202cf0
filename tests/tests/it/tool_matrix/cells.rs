//! The pairs of binding and outcome.

/// Where a tool's body runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Inline,
    Workflow,
    Activity,
    /// An activity that must not run twice.
    ActivityOnce,
    LocalActivity,
    /// An activity that knows nothing of agents, on another task queue.
    Remote,
    RemoteOnce,
    ChildWorkflow,
    Agent,
    ChildAgent,
    Client,
    Mcp,
    /// A tool of an MCP server that says it must not be called twice.
    McpOnce,
    Hosted,
}

/// What comes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    Error,
    Panic,
    Timeout,
    /// The run is cancelled while the call is under way.
    Cancelled,
    /// Somebody cancels what the call has started, and not the run.
    CancelledElsewhere,
    Oversized,
    BadArguments,
    Approved,
    Denied,
}

/// One pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) binding: Binding,
    pub(super) outcome: Outcome,
}

impl Binding {
    pub(super) const ALL: [Self; 14] = [
        Self::Inline,
        Self::Workflow,
        Self::Activity,
        Self::ActivityOnce,
        Self::LocalActivity,
        Self::Remote,
        Self::RemoteOnce,
        Self::ChildWorkflow,
        Self::Agent,
        Self::ChildAgent,
        Self::Client,
        Self::Mcp,
        Self::McpOnce,
        Self::Hosted,
    ];

    /// Its name: of the section in the table, and a part of the names of agent and tool.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Inline => "inline",
            Self::Workflow => "workflow",
            Self::Activity => "activity",
            Self::ActivityOnce => "activity_once",
            Self::LocalActivity => "local_activity",
            Self::Remote => "remote_activity",
            Self::RemoteOnce => "remote_activity_once",
            Self::ChildWorkflow => "child_workflow",
            Self::Agent => "agent",
            Self::ChildAgent => "agent_in_child_workflow",
            Self::Client => "client",
            Self::Mcp => "mcp",
            Self::McpOnce => "mcp_once",
            Self::Hosted => "hosted_mcp",
        }
    }
}

impl Outcome {
    pub(super) const ALL: [Self; 10] = [
        Self::Ok,
        Self::Error,
        Self::Panic,
        Self::Timeout,
        Self::Cancelled,
        Self::CancelledElsewhere,
        Self::Oversized,
        Self::BadArguments,
        Self::Approved,
        Self::Denied,
    ];

    /// Its name: in the table, and what a tool is asked to do.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::CancelledElsewhere => "cancelled elsewhere",
            Self::Oversized => "oversized",
            Self::BadArguments => "bad arguments",
            Self::Approved => "approved",
            Self::Denied => "denied",
        }
    }

    /// Whether a person decides about the call.
    pub(super) fn is_decided(self) -> bool {
        matches!(self, Self::Approved | Self::Denied)
    }
}

impl Cell {
    /// The agent's name, by which model and tools know the cell.
    pub(super) fn agent(self) -> String {
        format!("{} {}", self.binding.name(), self.outcome.name())
    }

    /// The cell of an agent.
    pub(super) fn of_agent(agent: &str) -> Option<Self> {
        let (binding, outcome) = agent.split_once(' ')?;
        Some(Self {
            binding: Binding::ALL.into_iter().find(|known| known.name() == binding)?,
            outcome: Outcome::ALL.into_iter().find(|known| known.name() == outcome)?,
        })
    }

    /// The tool's name. One that is to be late has little time, and is another tool.
    pub(super) fn tool(self) -> String {
        let late = if self.outcome == Outcome::Timeout { "_late" } else { "" };
        format!("{}{late}", self.binding.name())
    }

    /// Why there is no such cell.
    pub(super) fn has_no_meaning(self) -> Option<&'static str> {
        let reason = match (self.binding, self.outcome) {
            (Binding::Hosted, Outcome::Approved | Outcome::Denied)
            | (Binding::ChildWorkflow | Binding::ChildAgent, Outcome::CancelledElsewhere) => return None,
            (Binding::Hosted, _) => "the provider runs it; what comes of it is in the model's answer",
            (_, Outcome::CancelledElsewhere) => "it is no workflow of its own, which others could cancel",
            (Binding::Inline, Outcome::Timeout | Outcome::Cancelled) => {
                "it runs within one workflow task and cannot wait"
            }
            (Binding::ChildWorkflow, Outcome::Panic) => {
                "a workflow that panics fails its workflow tasks and does not end, unless by a timeout"
            }
            (Binding::Agent, Outcome::Timeout) => {
                "a run has a limit of turns, not of time; each of its model calls has one"
            }
            (Binding::Client, Outcome::Error | Outcome::Panic) => {
                "who makes the call supplies what came of it, as its output"
            }
            (Binding::Client, Outcome::Timeout) => "a person may take as long as they like",
            _ => return None,
        };
        Some(reason)
    }
}
