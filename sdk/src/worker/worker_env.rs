//! Puts values of environment variables into a model call, and keeps them out of everything that comes back.
//!
//! It is the last thing before the provider is asked: what a worker remembers of a conversation, and what it reads from history, has
//! references alone.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{model::ModelError, without_secret::without};
use crate::wire::{Item, ModelCall, ModelFailureKind, ModelResponse, ToolSpec, worker_env::referred};

/// The variables that definitions may refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct AllowedEnv(BTreeSet<String>);

/// The values that a call was given, longest first.
pub(super) struct Given(Vec<String>);

impl AllowedEnv {
    pub(super) fn allow(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        self.0.extend(names.into_iter().map(Into::into));
    }

    /// Puts the values in.
    ///
    /// # Errors
    /// [`ModelFailureKind::Unsupported`], not retried, for a variable that is not allowed or not set. It names the variable.
    pub(super) fn fill(&self, call: &mut ModelCall) -> Result<Given, ModelError> {
        let mut given = Vec::new();
        let hosted = call.definitions.tools.iter_mut().filter_map(|tool| match tool {
            ToolSpec::Hosted { config, .. } => Some(config),
            _ => None,
        });
        let settings = &mut call.definitions.settings;
        let extras = [
            &mut settings.extra_headers,
            &mut settings.extra_body,
            &mut settings.extra_query,
            &mut settings.extra_args,
        ];
        for members in hosted.chain(extras.into_iter().flatten()) {
            self.fill_members(members, &mut given)?;
        }
        given.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Ok(Given(given))
    }

    fn fill_members(&self, members: &mut Map<String, Value>, given: &mut Vec<String>) -> Result<(), ModelError> {
        members.values_mut().try_for_each(|value| self.fill_value(value, given))
    }

    fn fill_value(&self, value: &mut Value, given: &mut Vec<String>) -> Result<(), ModelError> {
        match value {
            Value::Array(values) => values.iter_mut().try_for_each(|value| self.fill_value(value, given)),
            Value::Object(members) => {
                let Some(name) = referred(members) else { return self.fill_members(members, given) };
                let found = self.value_of(name)?;
                given.push(found.clone());
                *value = Value::String(found);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn value_of(&self, name: &str) -> Result<String, ModelError> {
        let refused = |message: String| ModelError::new(ModelFailureKind::Unsupported, message);
        if !self.0.contains(name) {
            return Err(refused(format!(
                "the agent refers to the environment variable {name:?}, which this worker does not give away; \
                 add it to AgentsPlugin::allow_env if it may go to the model's provider"
            )));
        }
        match std::env::var(name) {
            Ok(value) if !value.is_empty() => Ok(value),
            _ => Err(refused(format!(
                "the agent refers to the environment variable {name:?}, which is not set on this worker; set it and restart the \
                 worker"
            ))),
        }
    }
}

impl Given {
    /// The failure without the values: a provider may quote what it was sent.
    pub(super) fn clean_error(&self, mut error: ModelError) -> ModelError {
        if self.0.is_empty() {
            return error;
        }
        error.message = self.text(&error.message);
        error.code = error.code.map(|code| self.text(&code));
        error.request_id = error.request_id.map(|id| self.text(&id));
        error.source = None;
        error
    }

    /// The answer without them.
    pub(super) fn clean_response(&self, mut response: ModelResponse) -> ModelResponse {
        if self.0.is_empty() {
            return response;
        }
        response.output = response.output.into_iter().map(|item| self.item(item)).collect();
        response.raw_usage = response.raw_usage.map(|usage| self.value(usage));
        response
    }

    fn item(&self, item: Item) -> Item {
        let holds_one = |text: &str| self.0.iter().any(|value| text.contains(&**value));
        let value = item.to_value();
        if !has_text(&value, &holds_one) {
            return item;
        }
        match self.value(value) {
            Value::Object(members) => Item::from(members),
            _ => item,
        }
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(values) => Value::Array(values.into_iter().map(|value| self.value(value)).collect()),
            Value::Object(members) => {
                Value::Object(members.into_iter().map(|(key, value)| (self.text(&key), self.value(value))).collect())
            }
            other => other,
        }
    }

    fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| without(&text, secret))
    }
}

/// Whether a text of the value is such a one.
fn has_text(value: &Value, is_such: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_such(text),
        Value::Array(values) => values.iter().any(|value| has_text(value, is_such)),
        Value::Object(members) => members.iter().any(|(key, value)| is_such(key) || has_text(value, is_such)),
        _ => false,
    }
}
