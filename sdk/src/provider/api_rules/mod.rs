//! Rewrites each request to what its API accepts.
//!
//! A model call comes here from `provider/openai`, `provider/anthropic` or `provider/genai`, and
//! continues to the projection for its API. Definitions on the wire and their digests do not change.
//!
//! | file | contents |
//! |---|---|
//! | `rules` | the APIs as data |
//! | `families` | the models, by their names, as data |
//! | `functions`, `schema` | functions and output types |
//! | `settings` | settings |
//! | `items` | the conversation |
//!
//! # Design
//! **Prepared once, not in each projection.** Chat Completions has two projections, and Anthropic's
//! rules for tools also hold for output types. One place has each rule, and the property tests drive
//! it.
//!
//! **Left out, never refused here.** A request that the API would accept in a weaker form is sent in
//! that form. Changes to settings and schemas are logged once for each model; changes to items are
//! not.

mod families;
mod functions;
mod items;
mod rules;
mod schema;
mod settings;

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

#[cfg(feature = "anthropic")]
pub(crate) use families::claude_version;
#[cfg(feature = "openai")]
pub(crate) use items::without_server_items;
#[cfg(feature = "anthropic")]
pub(crate) use rules::ANTHROPIC;
#[cfg(feature = "openai")]
pub(crate) use rules::{AZURE_CHAT_COMPLETIONS, AZURE_RESPONSES, RESPONSES};
pub(crate) use rules::{ApiRules, CHAT_COMPLETIONS, XAI};
#[cfg(feature = "genai")]
pub(crate) use rules::{GEMINI, OTHER};
use temporal_agents_core::wire::ModelCall;

use self::rules::ConversationForm;

/// The provider and the model that a request is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestTarget<'a> {
    /// Name of the model, as agents name it.
    pub(crate) model: &'a str,
    /// The provider's name, which marks its reasoning. For genai and Anthropic, the adapter's name.
    pub(crate) provider: &'a str,
    /// `true` for the default name, whose reasoning has no mark.
    pub(crate) is_default_provider: bool,
    /// `true` if the server wants empty `reasoning_content` back.
    pub(crate) keeps_empty_reasoning: bool,
}

/// Returns the call in a form that the API accepts.
pub(crate) fn prepare(rules: &ApiRules, target: &RequestTarget<'_>, mut call: ModelCall, log: &ChangeLog) -> ModelCall {
    let family = families::family(target.model);
    let mut changes = Changes::default();
    functions::rewrite(rules, &family, &mut call.definitions, &mut changes);
    settings::rewrite(rules, &family, &mut call.definitions, &mut changes);
    let is_whole =
        call.previous_response_id.is_none() && call.conversation_id.is_none() && call.definitions.prompt.is_none();
    let is_stored = call.definitions.settings.store != Some(false);
    // The projections choose by the agents' name for the model; the server's may be a deployment.
    target.model.clone_into(&mut call.model);
    call.input = items::rewrite(rules, &family, target, call.input, is_whole, is_stored);
    let is_blank = |text: &String| text.trim().is_empty();
    if rules.form == ConversationForm::Messages && call.definitions.instructions.as_ref().is_some_and(is_blank) {
        call.definitions.instructions = None;
    }
    log.add(rules.name, target.model, &call.agent, changes);
    call
}

/// Returns `true` if the model takes `max_completion_tokens` instead of `max_tokens`.
pub(crate) fn needs_max_completion_tokens(model: &str) -> bool {
    families::family(model).needs_max_completion_tokens
}

/// Changes that take something from the model, for the log.
#[derive(Debug, Default)]
struct Changes(Vec<String>);

impl Changes {
    fn add(&mut self, change: String) {
        self.0.push(change);
    }
}

/// Most changes that are remembered. Names come from requests, so their number has no limit of its
/// own.
const MAX_LOGGED: usize = 1_000;

/// The changes that were logged so far. Clones of a provider share them.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog(Mutex<BTreeSet<(String, String)>>);

impl ChangeLog {
    /// Logs each change once for each model.
    fn add(&self, api: &str, model: &str, agent: &str, changes: Changes) {
        for change in changes.0 {
            self.add_change(api, model, agent, change);
        }
    }

    /// Logs a change once for each model.
    pub(crate) fn add_change(&self, api: &str, model: &str, agent: &str, change: String) {
        {
            let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if logged.len() >= MAX_LOGGED || !logged.insert((model.to_owned(), change.clone())) {
                return;
            }
        }
        tracing::warn!(api, model, agent, change, "the request was changed to what the API accepts");
    }
}

#[cfg(test)]
mod tests;
