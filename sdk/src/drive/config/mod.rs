//! What a run is given.
//!
//! # Design
//! **The run's model has priority over the agents'.** `Runner::model` and `RunConfig::model`
//! override what agents name, as in the Agents SDK: a test or a canary runs a whole graph on
//! another model.
//!
//! **Duplicate tool names are an error** by default (`RunConfig::name_collisions`). The Agents SDK
//! only warns. Here a call that could mean two tools ends the run before any model call.

mod functions;
mod handlers;

use std::sync::Arc;

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
    engine::{MAX_CALLS_PER_RESPONSE, ReasoningItemIds, Rules, RunError, UnknownTools},
    tool::OnToolError,
    wire::{Item, ModelSettings, run_state::ServerConversation},
};

/// Settings of a run that hold for all its agents.
///
/// Runs of agents used as tools take it over, apart from limit, context, hooks, session, handlers and server-side state.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own, under its own name")]
#[non_exhaustive]
pub struct RunConfig {
    /// The model of all agents, whatever they name themselves; absent = each agent's own.
    pub model: Option<String>,
    /// Settings laid over those of each agent.
    pub settings: ModelSettings,
    /// Most model calls of the run, over all agents; `None` = no limit. Default 10. A run that is resumed keeps the limit in its
    /// state.
    pub max_turns: Option<u32>,
    /// The run context at the start. A run that is resumed keeps the one in its state.
    pub context: Map<String, Value>,
    /// Checks of the input, asked after those of the first agent.
    pub input_guardrails: Vec<InputGuardrail>,
    /// Checks of the final output, asked after those of the last agent.
    pub output_guardrails: Vec<OutputGuardrail>,
    /// What hears what the run does; called before the hooks of the agents.
    pub hooks: Option<Arc<dyn RunHooks>>,
    /// What the next agent sees, for handoffs that do not say so themselves.
    pub handoff_input_filter: Option<HandoffInputFilter>,
    /// Whether the conversation so far becomes a summary message at a handoff that does not say so itself. Default no.
    pub nest_handoff_history: bool,
    /// What makes the history at such a handoff; absent = a summary message.
    pub handoff_history_mapper: Option<HistoryMapper>,
    /// The last change to the input of each model call.
    pub call_model_input_filter: Option<CallModelInputFilter>,
    /// The rule for failed calls of tools that have none of their own; agents used as tools and tools of MCP servers included.
    /// [`OnToolError::tell_arguments`] tells the model which arguments do not fit, whatever the tool. Default: the fixed text of the OpenAI
    /// Agents SDK, which names nothing.
    ///
    /// # Determinism
    /// It is workflow code. What the model was told is recorded with the model call after it, and does not change with the rule; a rule that ends
    /// runs is a change that histories of open runs may not replay with.
    pub on_tool_error: OnToolError,
    /// What words the texts that models get instead of outputs.
    pub tool_error_formatter: Option<ToolErrorFormatter>,
    /// Whether reasoning items keep their ids when they are sent back. Default yes.
    pub reasoning_item_ids: ReasoningItemIds,
    /// What happens when a model calls a tool it was not offered. Default: the run ends.
    pub unknown_tools: UnknownTools,
    /// What happens when tools and handoffs of an agent share a name. Default: an error before any model call.
    pub name_collisions: NameCollisions,
    /// What shortens the conversation before the workflow continues as new; absent = nothing. Without effect where that does not happen.
    pub compaction: Option<Compaction>,
    /// What stands for a tool's output that an output guardrail held back; absent = a fixed text.
    pub output_guardrail_blocked_message: Option<String>,
    /// Most tools of a turn that run at the same time; absent = all. In a workflow at most 40 activities of tools of the run, and of the
    /// runs inside it, are in flight, or as many as this says if that is more (up to 1,500); the others wait, in call order.
    pub max_tool_concurrency: Option<usize>,
    /// Most calls in one response of a model: of tools and handoffs, and questions of hosted MCP servers. Default 2,000; with more the run fails with
    /// `RunError::TooManyCalls`, before any of them is made. In a workflow all calls of a turn are in one history, with three events and more
    /// each, and a server takes 51,200 events.
    pub max_calls_per_response: usize,
    /// Whether the input guardrails of a tool are asked before a person is. Default no: after.
    pub guard_tools_before_approval: bool,
    /// What makes the input of what the session holds and what is new; absent = both, in this order.
    pub session_input_callback: Option<SessionInputCallback>,
    /// Handlers of errors.
    pub error_handlers: ErrorHandlers,
    /// Where the run finds what was said before, and leaves what it adds.
    pub session: Option<SessionRef>,
    /// The conversation at the provider, which keeps it by id.
    pub conversation_id: Option<String>,
    /// Whether that conversation is empty when the run begins, so that the run has all items of it. When the provider has lost the conversation,
    /// such a run makes the call again in full and goes on without it; any other run fails, because nobody else has the earlier items.
    /// Default no.
    pub conversation_begins_here: bool,
    /// The response the run goes on from, for a provider that keeps the conversation. When the provider has lost it, the run fails: nobody else
    /// has the earlier items.
    pub previous_response_id: Option<String>,
    /// Whether calls of the run are chained at the provider, each going on from the response before. When the provider has lost that response,
    /// the call is made again in full. Default no.
    pub auto_previous_response_id: bool,
    /// A context value that is no JSON; the run fails with it, for a panic would fail a workflow task for ever.
    invalid_context: Option<(String, String)>,
}

impl RunConfig {
    /// Sets a key of the run context. A value that cannot be written as JSON (a map with keys that are no strings, say)
    /// fails the run.
    pub fn set_context(&mut self, key: impl Into<String>, value: impl Serialize) {
        let key = key.into();
        let written = guarded(|| serde_json::to_value(value)).map_err(|panic| panic.to_string());
        match written.and_then(|written| written.map_err(|error| error.to_string())) {
            Ok(value) => {
                self.context.insert(key, value);
            }
            Err(reason) => self.invalid_context = Some((key, reason)),
        }
    }

    /// The agents that judge for its guardrails.
    pub(crate) fn judges(&self) -> impl Iterator<Item = &AgentDef> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        inputs.chain(self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().agent()))
    }

    /// The rules of the run that are data.
    pub fn rules(&self) -> Rules {
        Rules {
            unknown_tools: self.unknown_tools,
            reasoning_item_ids: self.reasoning_item_ids,
            blocked_message: self.output_guardrail_blocked_message.clone(),
            max_calls_per_response: self.max_calls_per_response,
        }
    }

    /// The conversation at the provider, where the run has one.
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

    /// What of it holds in runs of agents used as tools.
    pub(super) fn for_nested(&self, max_turns: Option<u32>) -> Self {
        Self {
            max_turns,
            context: Map::new(),
            invalid_context: None,
            hooks: None,
            session: None,
            session_input_callback: None,
            error_handlers: ErrorHandlers::default(),
            conversation_id: None,
            conversation_begins_here: false,
            previous_response_id: None,
            auto_previous_response_id: false,
            ..self.clone()
        }
    }

    /// Whether all context values are JSON.
    ///
    /// # Errors
    /// [`RunError::Context`] with the one that is not.
    pub(super) fn check(&self) -> Result<(), RunError> {
        match &self.invalid_context {
            Some((key, reason)) => Err(RunError::Context { key: key.clone(), reason: reason.clone() }),
            None => Ok(()),
        }
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            model: None,
            settings: ModelSettings::default(),
            max_turns: Some(10),
            context: Map::new(),
            input_guardrails: Vec::new(),
            output_guardrails: Vec::new(),
            hooks: None,
            handoff_input_filter: None,
            nest_handoff_history: false,
            handoff_history_mapper: None,
            call_model_input_filter: None,
            on_tool_error: OnToolError::default(),
            tool_error_formatter: None,
            reasoning_item_ids: ReasoningItemIds::default(),
            unknown_tools: UnknownTools::default(),
            name_collisions: NameCollisions::default(),
            compaction: None,
            output_guardrail_blocked_message: None,
            max_tool_concurrency: None,
            max_calls_per_response: MAX_CALLS_PER_RESPONSE,
            guard_tools_before_approval: false,
            session_input_callback: None,
            error_handlers: ErrorHandlers::default(),
            session: None,
            conversation_id: None,
            conversation_begins_here: false,
            previous_response_id: None,
            auto_previous_response_id: false,
            invalid_context: None,
        }
    }
}

/// What happens when tools and handoffs of an agent share a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameCollisions {
    /// The run fails before any model call.
    #[default]
    Error,
    /// A handoff goes before a tool, the last before earlier ones; the others are not offered. (What the OpenAI Agents SDK
    /// does, with a warning.)
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
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// What a run is started with: a text, or items.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInput(Vec<Item>);

impl RunInput {
    /// The items; a text is a user message.
    pub fn into_items(self) -> Vec<Item> {
        self.0
    }
}

impl From<&str> for RunInput {
    fn from(text: &str) -> Self {
        Self(vec![Item::user(text)])
    }
}

impl From<String> for RunInput {
    fn from(text: String) -> Self {
        Self(vec![Item::user(text)])
    }
}

impl From<Vec<Item>> for RunInput {
    fn from(items: Vec<Item>) -> Self {
        Self(items)
    }
}
