//! Shortens the conversation of a run before the run continues in another execution.
//!
//! # Design
//! **A compaction replaces the new items of the run:** `RunResult::new_items` and `to_input_list()`
//! begin with the items that were kept. Usage and the number of turns count everything, and the
//! session holds everything. A result that is not shorter is not used. A summary that fails is left
//! out, with a warning, as long as the state fits; an author's function that fails, or that
//! separates a call from its output, ends the run. When the provider keeps the conversation, the
//! run has nothing to shorten, so a compaction is refused together with server-managed state.

use std::{fmt, sync::Arc};

use super::{
    env::Env,
    guard,
    host::{Host, LoopEvent, ModelEffectError},
};
use crate::{
    engine::{Engine, RunError, check_pairs, input_items, json_len_of, start_of_newest, without_orphan_calls},
    tool::{BoxError, RunContext},
    wire::{Definitions, Item, ModelCall, NewItem, NewItemKind},
};

const INSTRUCTIONS: &str = "You summarize conversations between a user, an assistant and its tools, so that the \
                            assistant can go on with the summary in place of the conversation. Keep what was asked, \
                            decisions, results of tools that still matter, names, numbers, identifiers, and what is \
                            still to be done. Write plain text.";
const QUESTION: &str = "Summarize the conversation so far.";
const PREAMBLE: &str = "Summary of the conversation so far:";

/// A rule that shortens the conversation before the workflow continues as new. The run's input is
/// not changed; only the items since the input are shortened. A call and its output stay together,
/// and so do reasoning and the item that it led to.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::run::Compaction;
///
/// let trim = Compaction::keep_newest(200_000);
/// let summarize = Compaction::summarize(50_000);
/// // Starts again from the input once the tools have noted in the run context that a part is done.
/// let own = Compaction::with(|items, run| {
///     let is_done = run.get::<bool>("is_done")?.unwrap_or_default();
///     Ok(if is_done { Vec::new() } else { items })
/// });
/// ```
///
/// The result of the run then holds the items that were kept: `new_items` and `to_input_list()`
/// begin with them. A session still holds everything; usage and the number of turns also count
/// everything.
#[derive(Clone)]
pub struct Compaction(Kind);

#[derive(Clone)]
enum Kind {
    Newest { bytes: usize },
    Summary { bytes: usize, instructions: Option<String>, model: Option<String> },
    Function(Arc<Compact>),
}

/// The numbers of items of a conversation that was shortened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shortened {
    pub(super) before: usize,
    pub(super) after: usize,
}

type Compact = dyn Fn(Vec<NewItem>, &RunContext) -> Result<Vec<NewItem>, BoxError> + Send + Sync;

impl Compaction {
    /// Keeps the newest items, up to `bytes` bytes of JSON, and drops older ones. Always keeps the
    /// newest turn.
    pub fn keep_newest(bytes: usize) -> Self {
        Self(Kind::Newest { bytes })
    }

    /// Keeps the newest items, up to `bytes` bytes of JSON, and replaces older ones with a summary.
    /// The summary is a model call of the agent whose turn it is, in an activity like any other
    /// (`<run>-<turn>-summary`). Makes no call when all items fit.
    ///
    /// If that call fails, the run continues with the whole conversation, as long as it is not
    /// too large.
    pub fn summarize(bytes: usize) -> Self {
        Self(Kind::Summary { bytes, instructions: None, model: None })
    }

    /// Sets the instructions of the summary.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        if let Kind::Summary { instructions, .. } = &mut self.0 {
            *instructions = Some(text.into());
        }
        self
    }

    /// Sets the model of the summary. Default: the agent's model.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        if let Kind::Summary { model, .. } = &mut self.0 {
            *model = Some(name.into());
        }
        self
    }

    /// Shortens the conversation with the author's function. The function receives the items that
    /// the model receives after the run's input, and returns the items that replace them. A result
    /// that is not shorter is not used. An error, a panic, or items that are separated (a call
    /// without its output, reasoning without the item that it led to, and the other way round) end
    /// the run: providers refuse such items.
    ///
    /// # Determinism
    /// It runs in the workflow, again on replay: no clock, no randomness, no I/O.
    pub fn with(
        compact: impl Fn(Vec<NewItem>, &RunContext) -> Result<Vec<NewItem>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self(Kind::Function(Arc::new(compact)))
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Newest { bytes } => write!(f, "Compaction::keep_newest({bytes})"),
            Kind::Summary { bytes, .. } => write!(f, "Compaction::summarize({bytes})"),
            Kind::Function(_) => f.write_str("Compaction::with(..)"),
        }
    }
}

/// Shortens the conversation of a run that is between two turns, by the rule of its configuration.
///
/// # Errors
/// [`RunError::Function`] or [`RunError::Panicked`] of the author's function,
/// [`RunError::Cancelled`] of a summary.
pub(super) async fn compact<H: Host>(env: &Env<'_, H>, engine: &mut Engine) -> Result<Option<Shortened>, RunError> {
    let Some(Compaction(kind)) = &env.config.compaction else { return Ok(None) };
    let before: Vec<NewItem> = engine.state().model_items().cloned().collect();
    let after = match kind {
        Kind::Newest { bytes } => before[start_of_newest(&before, *bytes)..].to_vec(),
        Kind::Summary { bytes, instructions, model } => {
            let (older, newest) = before.split_at(start_of_newest(&before, *bytes));
            if older.is_empty() {
                return Ok(None);
            }
            let instructions = instructions.as_deref().unwrap_or(INSTRUCTIONS);
            let Some(summary) = summary(env, engine, older, instructions, model.clone()).await? else {
                return Ok(None);
            };
            std::iter::once(summary).chain(newest.iter().cloned()).collect()
        }
        Kind::Function(compact) => {
            let (agent, run) = (engine.state().agent.clone(), RunContext::new(engine.state().context.clone()));
            let function = || "the compaction".to_owned();
            let failed = |source| RunError::Function { function: function(), agent: agent.clone(), source };
            let after = guard::call(function, &agent, || compact(before.clone(), &run))?.map_err(failed)?;
            check_pairs(&before, &after).map_err(|torn| failed(torn.into()))?;
            after
        }
    };
    if json_len_of(&after) < json_len_of(&before) {
        let shortened = Shortened { before: before.len(), after: after.len() };
        engine.compact(after);
        return Ok(Some(shortened));
    }
    Ok(None)
}

/// Calls the agent's model for a summary. Returns `None` when that call fails or returns no text.
async fn summary<H: Host>(
    env: &Env<'_, H>,
    engine: &mut Engine,
    older: &[NewItem],
    instructions: &str,
    model: Option<String>,
) -> Result<Option<NewItem>, RunError> {
    let (agent, turn) = (engine.state().agent.clone(), engine.state().turn);
    let definition = env.agent(&agent)?;
    let model = model.or_else(|| env.config.model.clone()).or_else(|| definition.model.clone());
    let mut settings = definition.settings.overlaid_by(&env.config.settings);
    settings.tool_choice = None;
    settings.parallel_tool_calls = None;
    let definitions = Definitions { instructions: Some(instructions.to_owned()), settings, ..Definitions::default() };
    let happened = without_orphan_calls(input_items(older, env.config.reasoning_item_ids));
    let input = engine.state().input.iter().cloned().chain(happened).chain([Item::user(QUESTION)]).collect();
    let mut call = ModelCall::new(&*agent, model.unwrap_or_default(), definitions, input);
    call.turn = turn;
    let scope = env.host.child(&env.scope);
    let failed = |reason: &str| {
        env.host.observe(&LoopEvent::NotSummarized { agent: &agent, turn, reason });
        Ok(None)
    };
    let response = match env.host.call_model(env.effect(format_args!("{turn}-summary")), call, &scope).await {
        Ok(response) => response,
        Err(ModelEffectError::Cancelled) => return Err(RunError::Cancelled { agent, turn }),
        Err(ModelEffectError::Failed { reason, .. } | ModelEffectError::ConversationLost { reason, .. }) => {
            return failed(&reason);
        }
    };
    engine.count(&response.usage);
    let text: String = response.output.iter().filter_map(Item::text).collect();
    if text.trim().is_empty() {
        return failed("the model returned no text");
    }
    let raw = Item::message("assistant", format!("{PREAMBLE}\n\n{text}"));
    Ok(Some(NewItem { kind: NewItemKind::MessageOutput, agent, raw, handoff: None, side_data: None }))
}
