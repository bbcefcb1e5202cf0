//! The agents that the messages of a chat begin with, in one execution: of which version, and the
//! start agent or the one that answered last.
//!
//! Both rules may be new to an open chat. A history that is replayed has no marker, and keeps the
//! old rule; so a patch is evaluated for each message under a name of its own, until one is true.
//! This happens where a message begins, because its run schedules commands in the same workflow
//! task.
//!
//! # Design
//! The rule for the last agent of a chat (`temporal-agents/chat-last-agent/message-<number>`) is
//! evaluated like the versions, and only where the last agent differs from the start agent.
//!
//! **The set decides whether a message begins with the last agent; a caller decides only if the set
//! permits it.** The input guardrails of a run are those of the agent that it begins with, so a
//! caller that chooses the agent chooses whose checks are made. If the start agent no longer
//! reaches the last agent, the message begins with the start agent, with a warning.

use std::sync::Arc;

use temporal_agents_core::{agent::AgentDef, engine::RunError};
use temporalio_workflow::WorkflowContext;

use super::{
    agent_set::AgentSet,
    versions::{Chosen, carried_version},
};

/// The patch of messages that begin with the agent that answered last, where the set says so.
const LAST_AGENT: &str = "temporal-agents/chat-last-agent";

/// The agents of a chat in one execution.
#[derive(Debug)]
pub(super) struct ChatAgents {
    set: Arc<AgentSet>,
    /// `true` if the start agent is that of a spec, which is the same for all messages.
    is_spec: bool,
    /// Name of the start agent.
    start: String,
    /// Version that messages of this execution have moved to.
    moved_to: Option<String>,
    /// `true` if messages of this execution have begun with the agent that answered last.
    has_continued: bool,
    /// Start agent of the latest message.
    latest: Arc<AgentDef>,
}

/// The agent that a message begins with.
#[derive(Debug)]
pub(super) struct Begins {
    pub(super) agent: Arc<AgentDef>,
    /// Version of the agents.
    pub(super) version: Option<String>,
    /// Name of the agent, if it is not the start agent.
    pub(super) last_agent: Option<String>,
}

impl ChatAgents {
    /// Creates the agents of an execution that begins; `version` is that of the message under way,
    /// if there is one.
    ///
    /// # Errors
    /// No version has the start agent.
    pub(super) fn new<W>(
        ctx: &WorkflowContext<W>,
        set: Arc<AgentSet>,
        start: String,
        version: Option<String>,
    ) -> Result<Self, RunError> {
        let Chosen { agent: latest, version: moved_to } = match &version {
            // No message has begun, so that a set with only later versions is not worth a warning.
            None => set.carried(&start, None)?.0,
            Some(_) => carried_version(ctx, &set, &start, version.as_deref())?,
        };
        let moved_to = moved_to.filter(|_| version.is_some());
        Ok(Self { set, is_spec: false, start, moved_to, has_continued: false, latest })
    }

    /// Creates the agents of a chat with an agent as data.
    pub(super) fn of_spec(set: Arc<AgentSet>, agent: Arc<AgentDef>) -> Self {
        Self { set, is_spec: true, start: agent.name.clone(), moved_to: None, has_continued: false, latest: agent }
    }

    /// Returns the start agent, in the version that was chosen latest, for operations that do not
    /// belong to a message.
    pub(super) fn latest(&self) -> &Arc<AgentDef> {
        &self.latest
    }

    /// Returns the agent with which a message of the previous execution continues.
    pub(super) fn goes_on<W>(&mut self, ctx: &WorkflowContext<W>, last_agent: Option<String>) -> Arc<AgentDef> {
        self.has_continued |= last_agent.is_some();
        last_agent.and_then(|name| found(ctx, &self.latest, &name)).unwrap_or_else(|| Arc::clone(&self.latest))
    }

    /// Chooses the agent that message number `message` begins with, after `last_agent` has answered
    /// the previous one.
    ///
    /// # Errors
    /// Only later versions have the start agent, and the message was answered before them.
    pub(super) fn begin<W>(
        &mut self,
        ctx: &WorkflowContext<W>,
        message: u32,
        last_agent: Option<String>,
    ) -> Result<Begins, RunError> {
        let of_message = |patch: &str| ctx.patched(&format!("{patch}/message-{message}"));
        let moved_to = self.moved_to.as_deref();
        let Chosen { agent, version } = if self.is_spec {
            Chosen { agent: Arc::clone(&self.latest), version: None }
        } else {
            self.set.choose(&self.start, |patch| moved_to == Some(patch) || of_message(patch))?
        };
        self.moved_to.clone_from(&version);
        self.latest = Arc::clone(&agent);
        let last = last_agent.and_then(|name| found(ctx, &agent, &name));
        if last.is_some() && !self.has_continued {
            self.has_continued = of_message(LAST_AGENT);
        }
        Ok(match last.filter(|_| self.has_continued) {
            Some(last) => Begins { last_agent: Some(last.name.clone()), agent: last, version },
            None => Begins { agent, version, last_agent: None },
        })
    }
}

/// Returns the agent of this name among those that the start agent reaches; logs a warning if there
/// is none.
fn found<W>(ctx: &WorkflowContext<W>, start: &AgentDef, name: &str) -> Option<Arc<AgentDef>> {
    let found = start.find(name).map(Arc::new);
    if found.is_none() && !ctx.is_replaying_history_events() {
        tracing::warn!(
            agent = name,
            start = start.name,
            "the agent that answered last no longer exists; the message begins with the start agent"
        );
    }
    found
}
