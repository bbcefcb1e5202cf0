//! Tools that a provider outside of Temporal offers over streams, on the author's side: names and
//! rules. The transport is configured on the worker, by `Resources::tool_streams` under its name.

use std::{collections::BTreeSet, time::Duration};

use super::{
    approval::NeedsApproval,
    binding::ToolBinding,
    definition::{ToolDef, ToolIssue},
    from_outside::{shown_names, with_required_members},
    on_error::OnToolError,
    options::ToolActivityOptions,
    schema,
};
use crate::wire::{
    GateMode, RemoteTool, SelectedToolset, ToolsetKind,
    remote_call::{REMOTE_ACTIVITY, REMOTE_CALL_TOOL, RemoteTarget},
};

/// Name of the transport of a toolset that names none.
pub const DEFAULT_TRANSPORT: &str = "streams";

/// Longest time to wait for a result, unless the toolset sets another.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

/// Time of an attempt beyond the wait: the activity ends its wait by itself, and reports what is
/// known of the call.
const BEYOND_THE_WAIT: Duration = Duration::from_secs(30);

/// Attempts in total. An attempt does not repeat the call: it waits for the result of the one that
/// was published.
const ATTEMPTS: u32 = 10;

/// A toolset that a provider offers over streams, and the rules for its tools.
///
/// Each call is an activity `agents.remote.<transport>.call_tool`, which publishes the call once,
/// and waits for its result, also after its worker was lost. A call whose result is lost ends as
/// *outcome unknown*, unless its tool is idempotent: that call is published again, with the same
/// id.
///
/// Prefer a [`RemoteActivity`](super::RemoteActivity) where the provider can be a Temporal worker.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use serde_json::json;
/// use temporal_agents::{Agent, tool::RemoteToolset, wire::RemoteTool};
///
/// let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
/// let echo = RemoteTool::new("echo", "Returns its text.", schema).idempotent();
/// let demo = RemoteToolset::named("demo").tools([echo]);
/// let clerk: Agent = Agent::new("clerk").model("gpt-5-mini").tools(demo);
/// # let _ = clerk;
/// ```
#[derive(Clone, Debug)]
pub struct RemoteToolset {
    name: String,
    transport: String,
    prefix: String,
    timeout: Duration,
    task_queue: Option<String>,
    idempotent: bool,
    asks_for_all: bool,
    asks_for: BTreeSet<String>,
    on_error: OnToolError,
    user: Option<String>,
    mode: Option<GateMode>,
    kind: ToolsetKind,
}

impl RemoteToolset {
    /// Creates a toolset of this name, which names its request stream: `toolset:<name>:requests`.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            transport: DEFAULT_TRANSPORT.to_owned(),
            prefix: String::new(),
            timeout: DEFAULT_TIMEOUT,
            task_queue: None,
            idempotent: false,
            asks_for_all: false,
            asks_for: BTreeSet::new(),
            on_error: OnToolError::default(),
            user: None,
            mode: None,
            kind: ToolsetKind::Provider,
        }
    }

    /// Sets the transport, by the name under which the worker has it. Default: `streams`.
    #[must_use]
    pub fn transport(mut self, name: impl Into<String>) -> Self {
        self.transport = name.into();
        self
    }

    /// Sets the prefix of each tool's name for the model.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the longest time to wait for a result, in whole seconds. Default 10 minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.max(Duration::from_secs(1));
        self
    }

    /// Sets the task queue whose workers reach the transport. Default: the workflow's own.
    #[must_use]
    pub fn task_queue(mut self, task_queue: impl Into<String>) -> Self {
        self.task_queue = Some(task_queue.into());
        self
    }

    /// Declares that calls of all its tools may be made twice without harm. Default: only those of
    /// tools that their [description](RemoteTool::idempotent) declares.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Makes every call wait for a decision before it is made.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        self.asks_for_all = true;
        self
    }

    /// Makes calls of these tools, by their names in the toolset, wait for a decision.
    #[must_use]
    pub fn needs_approval_for(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.asks_for.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets the handling of failed calls.
    #[must_use]
    pub fn on_error(mut self, on_error: OnToolError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Returns the toolset that was selected for a run of this user, as it was found.
    pub(crate) fn of_selected(selected: &SelectedToolset, user: Option<&str>) -> Self {
        let toolset = Self::named(&*selected.name).transport(&*selected.transport).prefix(&*selected.prefix);
        let toolset = match selected.timeout_seconds {
            Some(seconds) => toolset.timeout(Duration::from_secs(seconds)),
            None => toolset,
        };
        Self { user: user.map(str::to_owned), mode: selected.mode, kind: selected.kind, ..toolset }
    }

    /// Returns the names of these tools for the model, in their order.
    pub fn shown_names(&self, listed: &[RemoteTool]) -> Vec<String> {
        shown_names(&self.prefix, listed.iter().map(|tool| self.own_name(&tool.name)))
    }

    /// Returns the name of a tool in the toolset, which may begin with that of the toolset.
    fn own_name<'n>(&self, name: &'n str) -> &'n str {
        name.strip_prefix(&*self.name).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name)
    }

    /// Returns the tools of this list, for [`Agent::tools`](crate::agent::Agent::tools). The name of a
    /// tool may begin with that of the toolset and a dot.
    ///
    /// # Determinism
    /// The code that creates the agent of a workflow must use the same list at every replay.
    pub fn tools(&self, listed: impl IntoIterator<Item = RemoteTool>) -> Vec<ToolDef> {
        let listed: Vec<RemoteTool> = listed.into_iter().collect();
        let names = self.shown_names(&listed);
        listed.into_iter().zip(names).map(|(tool, name)| self.tool(tool, name)).collect()
    }

    fn tool(&self, listed: RemoteTool, shown_name: String) -> ToolDef {
        let issues = [Some(&listed.payload_schema), listed.result_schema.as_ref()].into_iter().flatten();
        let issues: Vec<ToolIssue> = issues
            .filter_map(|schema| schema::measure(schema).err())
            .map(|too_large| ToolIssue::SchemaTooLarge { reason: too_large.to_string() })
            .collect();
        let name = self.own_name(&listed.name).to_owned();
        let asks = self.asks_for_all || self.asks_for.contains(&name);
        let idempotent = self.idempotent || listed.idempotent;
        let binding = RemoteBinding {
            transport: self.transport.clone(),
            target: RemoteTarget {
                toolset: self.name.clone(),
                tool: name.clone(),
                timeout_seconds: self.timeout.as_secs().max(1),
                once: !idempotent,
                result_schema: listed.result_schema,
                bounded: listed.bounded,
                session_id: None,
                parent_call: None,
                user: self.user.clone(),
            },
            options: self.options(),
            kind: self.kind,
        };
        ToolDef::unchecked(
            shown_name,
            listed.description,
            with_required_members(&listed.payload_schema).into(),
            ToolBinding::Remote(binding),
        )
        .approval(if asks { NeedsApproval::Always } else { NeedsApproval::Never })
        .with_on_error(self.on_error.clone())
        .gated(self.mode)
        .with_issues(issues)
    }

    /// Returns the options of the activity, which may run again: it repeats no call.
    fn options(&self) -> ToolActivityOptions {
        ToolActivityOptions {
            start_to_close: self.timeout.saturating_add(BEYOND_THE_WAIT),
            attempts: ATTEMPTS,
            task_queue: self.task_queue.clone(),
            ..ToolActivityOptions::default()
        }
    }
}

/// The binding of a provider's tool: the transport, the target, and the options of the activity.
#[derive(Clone, Debug)]
pub struct RemoteBinding {
    transport: String,
    target: RemoteTarget,
    options: ToolActivityOptions,
    kind: ToolsetKind,
}

impl RemoteBinding {
    /// Returns the name of the transport.
    pub fn transport(&self) -> &str {
        &self.transport
    }

    /// Returns the name of the toolset.
    pub fn toolset(&self) -> &str {
        &self.target.toolset
    }

    /// Returns `true` if the tool runs on a person's machine.
    pub(crate) fn runs_on_device(&self) -> bool {
        self.kind == ToolsetKind::Device
    }

    /// Returns the target of a call in this session, made by the agent that runs as a tool in the
    /// call `parent_call`.
    pub(crate) fn target(&self, session_id: Option<String>, parent_call: Option<String>) -> RemoteTarget {
        RemoteTarget { session_id, parent_call, ..self.target.clone() }
    }

    /// Returns the options of the activity. They allow attempts for a tool that is not idempotent,
    /// too: see [`is_idempotent`](Self::is_idempotent).
    pub fn options(&self) -> &ToolActivityOptions {
        &self.options
    }

    /// Returns `true` if a call may be made twice without harm.
    pub fn is_idempotent(&self) -> bool {
        !self.target.once
    }

    /// Returns the type of the activity that makes the calls.
    pub fn activity_type(&self) -> String {
        activity_type(&self.transport)
    }
}

/// Returns the type of the activity that makes calls over this transport.
pub fn activity_type(transport: &str) -> String {
    format!("{REMOTE_ACTIVITY}.{transport}.{REMOTE_CALL_TOOL}")
}
