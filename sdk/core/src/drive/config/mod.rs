//! The configuration of a run.
//!
//! # Design
//! **The run's model has priority over the agents'.** `Runner::model` and `RunConfig::model`
//! override the models that agents name, as in the Agents SDK: a test or a canary runs a whole
//! graph on another model.
//!
//! **Duplicate tool names are an error** by default (`RunConfig::name_collisions`). The Agents SDK
//! only warns. Here a call that could refer to two tools ends the run before any model call.

mod functions;
mod handlers;
mod tracing;

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value};

pub use functions::{
    CallModelInputFilter, HistoryMapper, ModelInput, SessionInputCallback, ToolErrorFormatter, ToolErrorMessage,
    ToolErrorMessageKind,
};
pub use handlers::{ErrorHandler, ErrorHandlers, Handled, HandledError};

use super::{compaction::Compaction, guard::guarded, session::SessionRef};
use crate::{
    agent::{AgentDef, HandoffInputFilter, InputGuardrail, OutputGuardrail, RunHooks},
    engine::{IncompleteAnswers, MAX_CALLS_PER_RESPONSE, ReasoningItemIds, Rules, RunError, UnknownTools},
    gate::Gate,
    tool::{OnToolError, ToolInputGuardrail, ToolOutputGuardrail},
    wire::{Decision, Item, ModelSettings, TraceSettings, run_state::ServerConversation},
};

/// Settings of a run that apply to all its agents: `Runner::with_config`,
/// `InlineRunner::with_config` and `AgentSet::config` take them.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::{RunConfig, run::UnknownTools};
///
/// let config = RunConfig::builder().max_turns(20).unknown_tools(UnknownTools::TellModel).build();
/// # assert_eq!(config.max_turns, Some(20));
/// ```
///
/// Runs of agents used as tools inherit them, apart from limit, context, hooks, session, handlers
/// and server-side state.
#[derive(Clone, bon::Builder)]
#[builder(on(String, into))]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own, under its own name")]
#[non_exhaustive]
pub struct RunConfig {
    /// Maximum number of model calls of the run, over all agents; `None` means no limit. Default:
    /// 10. A run that is resumed keeps the limit of its state.
    #[builder(field = Some(10))]
    pub max_turns: Option<u32>,
    /// The run context at the start. A run that is resumed keeps the context of its state.
    #[builder(field)]
    pub context: Map<String, Value>,
    /// Key and error of a context value that is not valid JSON. The run fails with it, because a
    /// panic would fail the workflow task again and again.
    #[builder(field)]
    invalid_context: Option<(String, String)>,
    /// Time after which a question of the run expires, and the decision that then counts. Default:
    /// never, except those about calls of devices, which are rejected after 10 minutes. Has an
    /// effect where a run waits: in workflows.
    ///
    /// # Determinism
    /// Open runs that wait already continue without. A change of the time breaks the replay of runs
    /// that wait.
    #[builder(field)]
    pub question_expiry: Option<(Duration, Decision)>,
    /// Settings of the trace of the run. Default: none.
    #[builder(field)]
    pub trace: TraceSettings,
    /// Name of the model of all agents, in place of the models that they name. Default: each
    /// agent's own.
    pub model: Option<String>,
    /// Model settings that override those of each agent.
    #[builder(default)]
    pub settings: ModelSettings,
    /// Input guardrails, which run after those of the first agent.
    #[builder(default, with = FromIterator::from_iter)]
    pub input_guardrails: Vec<InputGuardrail>,
    /// Output guardrails, which run after those of the last agent.
    #[builder(default, with = FromIterator::from_iter)]
    pub output_guardrails: Vec<OutputGuardrail>,
    /// Checks of the arguments of each call of a tool, after the tool's own: of all agents of the run and
    /// of its nested runs, tools of MCP servers and tools that are [selected](Self::toolsets) included.
    ///
    /// # Determinism
    /// They are workflow code. Open runs whose calls are judged differently after a change do not replay.
    #[builder(default, with = FromIterator::from_iter)]
    pub tool_input_guardrails: Vec<ToolInputGuardrail>,
    /// Checks of what each tool returns, after the tool's own, before a model receives it; of the same
    /// tools as [`tool_input_guardrails`](Self::tool_input_guardrails).
    ///
    /// The output itself is in the history, and in the events of the run: to keep a secret out of those,
    /// redact it where the tool runs ([`ToolDef::redact`](crate::tool::ToolDef::redact)).
    ///
    /// # Determinism
    /// They are workflow code. The outputs that a model received do not change with them, except where
    /// a guardrail ends the run.
    #[builder(default, with = FromIterator::from_iter)]
    pub tool_output_guardrails: Vec<ToolOutputGuardrail>,
    /// Observes the run; called before the hooks of the agents.
    #[builder(with = |hooks: impl RunHooks + 'static| Arc::new(hooks) as Arc<dyn RunHooks>)]
    pub hooks: Option<Arc<dyn RunHooks>>,
    /// Filters the input of the next agent, for handoffs without a filter of their own.
    pub handoff_input_filter: Option<HandoffInputFilter>,
    /// Replaces the conversation so far with a summary message at a handoff that does not set this
    /// itself. Default: no.
    #[builder(default)]
    pub nest_handoff_history: bool,
    /// Builds the history at such a handoff. Default: a summary message.
    pub handoff_history_mapper: Option<HistoryMapper>,
    /// Makes the last change to the input of each model call.
    pub call_model_input_filter: Option<CallModelInputFilter>,
    /// The rule for failed calls of tools that have no rule of their own; agents used as tools and
    /// tools of MCP servers included. [`OnToolError::describe_argument_errors`] reports the invalid
    /// arguments to the model, whatever the tool. Default: the fixed text of the OpenAI Agents SDK,
    /// which names nothing.
    ///
    /// # Determinism
    /// It is workflow code. The message that the model received is recorded with the model call
    /// after it, and does not change with the rule. A change to a rule that ends runs may break the
    /// replay of the histories of open runs.
    #[builder(default)]
    pub on_tool_error: OnToolError,
    /// Formats the messages that models receive instead of tool outputs.
    pub tool_error_formatter: Option<ToolErrorFormatter>,
    /// Keeps or removes the ids of reasoning items when they are sent back. Default: keep.
    #[builder(default)]
    pub reasoning_item_ids: ReasoningItemIds,
    /// The reaction to a call of a tool that the model was not offered. Default: the run ends.
    #[builder(default)]
    pub unknown_tools: UnknownTools,
    /// The reaction to a response that is empty or stopped early in its calls.
    ///
    /// Default: the run ends with `RunError::IncompleteAnswer`.
    ///
    /// # Determinism
    /// Open runs that have met such a response do not replay after a change.
    #[builder(default)]
    pub incomplete_answers: IncompleteAnswers,
    /// The reaction to tools and handoffs of an agent that share a name. Default: an error before
    /// any model call.
    #[builder(default)]
    pub name_collisions: NameCollisions,
    /// Shortens the conversation before the workflow continues as new. Default: no compaction. Has
    /// no effect where the workflow does not continue as new.
    pub compaction: Option<Compaction>,
    /// Replaces a tool's output that an output guardrail held back. Default: a fixed message.
    pub output_guardrail_blocked_message: Option<String>,
    /// Maximum number of tools of a turn that run at the same time; `None` means all. In a
    /// workflow, at most 40 activities of tools of the run and of its nested runs are in flight, or
    /// this number if it is larger (up to 1,500); the others wait, in call order.
    pub max_tool_concurrency: Option<usize>,
    /// Runs the activity tools of one response in one activity, up to 20 calls in each, with a
    /// heartbeat for each call that has ended; a retry makes only the other calls. Default: an
    /// activity for each call. Has no effect outside of workflows. The
    /// guide chapter on tools says which calls stay on their own.
    ///
    /// # Determinism
    /// Open runs whose history has no batch continue without one when it is turned on. Turned off,
    /// a history with a batch does not replay.
    #[builder(default)]
    pub batch_tools: bool,
    /// Maximum number of calls in one response of a model: calls of tools and handoffs, and
    /// questions of hosted MCP servers. Default: 2,000. A response with more calls fails the run
    /// with `RunError::TooManyCalls`, before any of them is made. In a workflow, all calls of a
    /// turn are in one history, with three events or more each, and a server accepts 51,200 events.
    #[builder(default = MAX_CALLS_PER_RESPONSE)]
    pub max_calls_per_response: usize,
    /// Runs the input guardrails of a tool also before a person is asked for approval, so that
    /// nobody approves a call that they reject. Default: only after the approval.
    #[builder(default)]
    pub guard_tools_before_approval: bool,
    /// The gate that each call of a tool passes, of this run and of its nested runs: rules, a mode,
    /// untrusted content. Default: no gate. The approvals that tools require by themselves are
    /// always requested. Agents in child workflows have the gate of their own runner.
    pub gate: Option<Gate>,
    /// Names of the toolsets and devices whose tools the agents of the run have beside their own.
    /// They are found when the run begins (`Resources::toolset_source`), and frozen: what changes
    /// later changes nothing for the run. If one is not there, the run fails before any model call.
    /// Agents used as tools do not have them, nor does a run with untrusted content have devices.
    #[builder(default, with = |names: impl IntoIterator<Item: Into<String>>| names_of(names))]
    pub toolsets: Vec<String>,
    /// The user for whom the run works: devices that are [selected](Self::toolsets) must be theirs,
    /// and decisions are [kept](Self::keep_decisions) for them.
    pub user: Option<String>,
    /// Keeps the decisions that people make for all later calls (`always`) beyond the run, for its
    /// [user](Self::user), in the worker's store (`Resources::decision_store`), and applies those
    /// that are kept already. They are read once, when the run begins. A decision on a command is
    /// kept for calls with the same arguments, any other one for all calls of the tool by this
    /// agent. Approvals have no effect in a run with untrusted content, nor where a person approves
    /// each call. Default: decisions end with their run.
    ///
    /// # Determinism
    /// Open runs continue without kept decisions when it is turned on. Turned off, the history of a
    /// run that has read them does not replay.
    #[builder(default)]
    pub keep_decisions: bool,
    /// Builds the input from the stored items of the session and the new items. Default: both, in
    /// this order.
    pub session_input_callback: Option<SessionInputCallback>,
    /// Handlers of errors that can be turned into a final output.
    #[builder(default)]
    pub error_handlers: ErrorHandlers,
    /// The session from which the run reads earlier items and to which it adds its own.
    #[builder(into)]
    pub session: Option<SessionRef>,
    /// Writes the input to the session before the input guardrails have run, as the OpenAI Agents SDK
    /// does. An input that trips is then part of the next run's input, which trips again. Default: an
    /// input that trips is not stored.
    #[builder(default)]
    pub keep_tripped_input: bool,
    /// The session id that tools read in [`CallInfo::session_id`](crate::tool::CallInfo::session_id) if the
    /// run has no stored [session](Self::session). Ready-made chats set it to their id. Default: none.
    pub session_id: Option<String>,
    /// Id of the conversation that the provider keeps.
    pub conversation_id: Option<String>,
    /// Marks that conversation as empty when the run begins, so that the run has all items of it.
    /// If the provider has lost the conversation, such a run makes the call again in full and
    /// continues without it; any other run fails, because only the provider had the earlier items.
    /// Default: no.
    #[builder(default)]
    pub conversation_begins_here: bool,
    /// Id of the response that the run continues from, for a provider that keeps the conversation.
    /// If the provider has lost the response, the run fails: only the provider had the earlier
    /// items.
    pub previous_response_id: Option<String>,
    /// Chains the calls of the run at the provider: each call continues from the previous response.
    /// If the provider has lost that response, the call is made again in full. Default: no.
    #[builder(default)]
    pub auto_previous_response_id: bool,
}

impl RunConfig {
    /// Sets a key of the run context. A value that cannot be written as JSON (for example a map
    /// whose keys are not strings) fails the run.
    pub fn set_context(&mut self, key: impl Into<String>, value: impl Serialize) {
        set_context(&mut self.context, &mut self.invalid_context, key.into(), value);
    }

    /// Returns the agents that act as guardrails of the run.
    #[doc(hidden)]
    pub fn judges(&self) -> impl Iterator<Item = &AgentDef> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        let outputs = self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        let tool_inputs = self.tool_input_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        let tool_outputs = self.tool_output_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        inputs.chain(outputs).chain(tool_inputs).chain(tool_outputs)
    }

    /// Returns the rules of the run that are plain data.
    pub(super) fn rules(&self) -> Rules {
        Rules {
            unknown_tools: self.unknown_tools,
            incomplete_answers: self.incomplete_answers,
            reasoning_item_ids: self.reasoning_item_ids,
            blocked_message: self.output_guardrail_blocked_message.clone(),
            max_calls_per_response: self.max_calls_per_response,
            keeps_tripped_input: self.keep_tripped_input,
        }
    }

    /// Returns the initial state of the conversation at the provider, if the provider keeps one.
    pub(super) fn server(&self) -> Option<ServerConversation> {
        let is_kept =
            self.conversation_id.is_some() || self.previous_response_id.is_some() || self.auto_previous_response_id;
        is_kept.then(|| ServerConversation {
            conversation_id: self.conversation_id.clone(),
            previous_response_id: self.previous_response_id.clone(),
            chained: self.previous_response_id.is_some() || self.auto_previous_response_id,
            has_input: false,
            began_here: self.previous_response_id.is_none()
                && (self.conversation_id.is_none() || self.conversation_begins_here),
            seen_items: 0,
        })
    }

    /// Returns the configuration for runs of agents used as tools.
    pub(super) fn for_nested(&self, max_turns: Option<u32>) -> Self {
        Self {
            max_turns,
            context: Map::new(),
            invalid_context: None,
            hooks: None,
            session: None,
            session_input_callback: None,
            toolsets: Vec::new(),
            error_handlers: ErrorHandlers::default(),
            conversation_id: None,
            conversation_begins_here: false,
            previous_response_id: None,
            auto_previous_response_id: false,
            ..self.clone()
        }
    }

    /// Checks that all context values are JSON, and the settings of the trace.
    ///
    /// # Errors
    /// [`RunError::Context`] with the value that is not; [`RunError::User`].
    pub(super) fn check(&self, agent: &str) -> Result<(), RunError> {
        self.check_trace(agent)?;
        match &self.invalid_context {
            Some((key, reason)) => Err(RunError::Context { key: key.clone(), reason: reason.clone() }),
            None => Ok(()),
        }
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl<S: run_config_builder::State> RunConfigBuilder<S> {
    /// Sets the maximum number of model calls of the run, over all agents. Default: 10. A run that
    /// is resumed keeps the limit of its state.
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.max_turns = Some(max_turns);
        self
    }

    /// Removes the limit on model calls.
    pub fn unlimited_turns(mut self) -> Self {
        self.max_turns = None;
        self
    }

    /// Makes questions expire: calls that nobody has decided about after this time are decided in
    /// this way. A decision that does not fit a question, for example an approval of a client
    /// tool, rejects it.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use std::time::Duration;
    /// use temporal_agents::{RunConfig, wire::Decision};
    ///
    /// let late = Decision::reject_with("Nobody has approved this in time.");
    /// let config = RunConfig::builder().questions_expire(Duration::from_hours(24), late).build();
    /// # let _ = config;
    /// ```
    pub fn questions_expire(mut self, after: Duration, decision: Decision) -> Self {
        self.question_expiry = Some((after, decision));
        self
    }

    /// Sets a key of the run context at the start. A value that cannot be written as JSON (for
    /// example a map whose keys are not strings) fails the run. A run that is resumed keeps the
    /// context of its state.
    pub fn context(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        set_context(&mut self.context, &mut self.invalid_context, key.into(), value);
        self
    }
}

fn names_of<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Vec<String> {
    names.into_iter().map(Into::into).collect()
}

/// Sets a key of a run context, or keeps the reason why its value is not JSON.
fn set_context(
    context: &mut Map<String, Value>,
    invalid: &mut Option<(String, String)>,
    key: String,
    value: impl Serialize,
) {
    let written = guarded(|| serde_json::to_value(value)).map_err(|panic| panic.to_string());
    match written.and_then(|written| written.map_err(|error| error.to_string())) {
        Ok(value) => {
            context.insert(key, value);
        }
        Err(reason) => *invalid = Some((key, reason)),
    }
}

/// The reaction to tools and handoffs of an agent that share a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameCollisions {
    /// The run fails before any model call.
    #[default]
    Error,
    /// A handoff has priority over a tool, and the last one over earlier ones; the others are not
    /// offered. (The OpenAI Agents SDK does this, with a warning.)
    LastWins,
}

impl std::fmt::Debug for RunConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunConfig")
            .field("model", &self.model)
            .field("settings", &self.settings)
            .field("max_turns", &self.max_turns)
            .field("context", &self.context)
            .field("input_guardrails", &self.input_guardrails)
            .field("output_guardrails", &self.output_guardrails)
            .field("tool_input_guardrails", &self.tool_input_guardrails)
            .field("tool_output_guardrails", &self.tool_output_guardrails)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// The input of a run: a string, or items.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInput {
    items: Vec<Item>,
    /// The items of the run's session, if they were read before.
    stored: Option<Vec<Item>>,
}

impl RunInput {
    /// Returns the input of a run with a session whose items the caller has: the run does not read
    /// them again.
    #[doc(hidden)]
    pub fn after_stored(stored: Vec<Item>, items: Vec<Item>) -> Self {
        Self { items, stored: Some(stored) }
    }

    /// Takes the items of the run's session, if the caller has them.
    pub(super) fn take_stored(&mut self) -> Option<Vec<Item>> {
        self.stored.take()
    }

    /// Returns the items; a string becomes a user message.
    pub fn into_items(self) -> Vec<Item> {
        self.items
    }
}

impl From<&str> for RunInput {
    fn from(text: &str) -> Self {
        Self::from(vec![Item::user(text)])
    }
}

impl From<String> for RunInput {
    fn from(text: String) -> Self {
        Self::from(vec![Item::user(text)])
    }
}

impl From<Vec<Item>> for RunInput {
    fn from(items: Vec<Item>) -> Self {
        Self { items, stored: None }
    }
}

#[cfg(test)]
mod tests;
