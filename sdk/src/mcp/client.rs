//! The MCP client of a connection: its capabilities, and its answers to elicitation requests during
//! a call.
//!
//! An activity does not wait for a person. An elicitation request whose answer came with the call
//! is answered; any other is cancelled, and the call ends with it. The run waits for the answer,
//! and repeats the call.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
        FormElicitationCapability, Implementation,
    },
    service::RequestContext,
};
use serde_json::Value;
use temporal_agents_core::wire::{McpAnswer, McpQuestion};
use tokio::sync::Mutex as Turnstile;

use crate::secret::worker_env::Given;

/// The maximum number of logged questions of a connection: a server may ask without end.
const MAX_LOGGED_QUESTIONS: usize = 10;
/// The maximum number of characters of a logged question.
const MAX_LOGGED_CHARS: usize = 200;

/// The client of one connection.
#[derive(Clone, Default)]
pub(super) struct Client {
    /// `true` if servers may ask a person.
    asks_people: bool,
    call: Arc<Mutex<Option<Call>>>,
    /// A question does not say to which call it belongs, so calls during which a person may be
    /// asked are made one at a time.
    call_lock: Arc<Turnstile<()>>,
    /// The credentials with which the connection was opened.
    given: Arc<Mutex<Given>>,
    /// Number of declined questions.
    logged: Arc<AtomicUsize>,
}

/// The current call.
struct Call {
    /// The answers of people that are not used yet.
    answers: Vec<McpAnswer>,
    /// The first question without an answer.
    question: Option<McpQuestion>,
}

impl Client {
    pub(super) fn new(asks_people: bool) -> Self {
        Self { asks_people, ..Self::default() }
    }

    /// Makes a call with these answers. Also returns the first question without an answer.
    pub(super) async fn with<T>(
        &self,
        answers: Vec<McpAnswer>,
        call: impl Future<Output = T>,
    ) -> (T, Option<McpQuestion>) {
        let _alone = self.call_lock.lock().await;
        *self.now() = Some(Call { answers, question: None });
        let answer = call.await;
        let question = self.now().take().and_then(|call| call.question);
        (answer, question)
    }

    fn now(&self) -> MutexGuard<'_, Option<Call>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Redacts these values in the log, where a server may quote them.
    pub(super) fn redact(&self, given: &Given) {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = given.clone();
    }

    fn log_declined(&self, message: &str) {
        if self.logged.fetch_add(1, Ordering::Relaxed) >= MAX_LOGGED_QUESTIONS {
            return;
        }
        let question = shown(message, &self.given.lock().unwrap_or_else(PoisonError::into_inner));
        tracing::warn!(
            question,
            "an elicitation request of an MCP server is declined; McpServer::allow_elicitation lets the run wait for a \
             person's answer"
        );
    }

    fn answer(&self, question: McpQuestion) -> ElicitResult {
        let mut now = self.now();
        let Some(call) = now.as_mut() else {
            drop(now);
            self.log_declined(&question.message);
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let Some(at) = call.answers.iter().position(|answer| answer.question == question) else {
            call.question.get_or_insert(question);
            return ElicitResult::new(ElicitationAction::Cancel);
        };
        match call.answers.remove(at).content {
            Some(content) => ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content)),
            None => ElicitResult::new(ElicitationAction::Decline),
        }
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.client_info = Implementation::new("temporal-agents", env!("CARGO_PKG_VERSION"));
        if self.asks_people {
            let form = FormElicitationCapability::default();
            config.capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        }
        config
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(requested_schema)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        Ok(self.answer(McpQuestion { message, schema }))
    }
}

/// Returns a server's message in the form that is logged: on one line, shortened, without these
/// values.
fn shown(message: &str, given: &Given) -> String {
    let clean = given.text(message);
    let mut shown: String = clean.chars().take(MAX_LOGGED_CHARS).flat_map(char::escape_debug).collect();
    if clean.chars().nth(MAX_LOGGED_CHARS).is_some() {
        shown.push_str("..");
    }
    shown
}

#[cfg(test)]
mod tests;
