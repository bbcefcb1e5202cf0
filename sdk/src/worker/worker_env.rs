//! Puts values of environment variables into a model call, the settings of a tool, what an MCP server is reached by, and keeps them out of
//! everything that comes back.
//!
//! It is the last thing before they are used: what a worker remembers of a conversation, and what it reads from history, has references
//! alone.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{model::ModelError, without_secret::Secrets};
use crate::{
    tool::Redaction,
    wire::{Item, ModelCall, ModelFailureKind, ModelResponse, ToolSpec, worker_env::referred},
};

/// The variables that definitions may refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct AllowedEnv(BTreeSet<String>);

/// The values that a call was given.
#[derive(Clone, Default)]
pub(super) struct Given(Secrets);

/// A variable that is not given away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Withheld {
    name: String,
    is_allowed: bool,
}

impl Withheld {
    /// Who refers to it, where its value would go, and what to do.
    pub(super) fn told(&self, who: &str, receiver: &str) -> String {
        let name = &self.name;
        if self.is_allowed {
            return format!(
                "{who} to the environment variable {name:?}, which is not set on this worker; set it and restart the worker"
            );
        }
        format!(
            "{who} to the environment variable {name:?}, which this worker does not give away; \
             add it to AgentsPlugin::allow_env if it may go to {receiver}"
        )
    }
}

impl AllowedEnv {
    pub(super) fn allow(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        self.0.extend(names.into_iter().map(Into::into));
    }

    /// Puts the values in.
    ///
    /// # Errors
    /// [`ModelFailureKind::Unsupported`], not retried, for a variable that is not allowed or not set. It names the variable.
    pub(super) fn fill(&self, call: &mut ModelCall) -> Result<Given, ModelError> {
        let mut given = Given::default();
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
            self.fill_members(members, &mut given).map_err(|withheld| {
                let message = withheld.told("the agent refers", "the model's provider");
                ModelError::new(ModelFailureKind::Unsupported, message)
            })?;
        }
        Ok(given)
    }

    /// Puts the values into an object, and remembers them.
    ///
    /// # Errors
    /// [`Withheld`], the first.
    pub(super) fn fill_members(&self, members: &mut Map<String, Value>, given: &mut Given) -> Result<(), Withheld> {
        members.values_mut().try_for_each(|value| self.fill_value(value, given))
    }

    /// The same of any value.
    pub(super) fn fill_value(&self, value: &mut Value, given: &mut Given) -> Result<(), Withheld> {
        match value {
            Value::Array(values) => values.iter_mut().try_for_each(|value| self.fill_value(value, given)),
            Value::Object(members) => {
                let Some(name) = referred(members) else { return self.fill_members(members, given) };
                *value = Value::String(self.give(name, given)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The value of a variable, which is remembered.
    pub(super) fn give(&self, name: &str, given: &mut Given) -> Result<String, Withheld> {
        let is_allowed = self.0.contains(name);
        let value = std::env::var(name).ok().filter(|value| is_allowed && !value.is_empty());
        let value = value.ok_or_else(|| Withheld { name: name.to_owned(), is_allowed })?;
        given.0.add(&value);
        Ok(value)
    }
}

impl Given {
    /// Remembers a value that is no variable's, and is kept out of everything like one.
    #[cfg(feature = "mcp")]
    pub(super) fn remember(&mut self, value: String) {
        let place = self.0.partition_point(|other| other.len() >= value.len());
        self.0.insert(place, value);
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What takes them out of everything that a tool returns.
    pub(super) fn redaction(&self) -> Redaction {
        let given = self.clone();
        Redaction::new(move |text| given.text(text))
    }

    /// The failure without the values: a provider may quote what it was sent.
    pub(super) fn clean_error(&self, mut error: ModelError) -> ModelError {
        if self.is_empty() {
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
        if self.is_empty() {
            return response;
        }
        response.output = response.output.into_iter().map(|item| self.item(item)).collect();
        response.raw_usage = response.raw_usage.map(|usage| self.value(usage));
        response
    }

    fn item(&self, item: Item) -> Item {
        let holds_one = |text: &str| self.0.are_in(text);
        let value = item.to_value();
        if !has_text(&value, &holds_one) {
            return item;
        }
        match self.value(value) {
            Value::Object(members) => Item::from(members),
            _ => item,
        }
    }

    /// The value without them, in its keys, too.
    pub(super) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(values) => Value::Array(values.into_iter().map(|value| self.value(value)).collect()),
            Value::Object(members) => {
                Value::Object(members.into_iter().map(|(key, value)| (self.text(&key), self.value(value))).collect())
            }
            other => other,
        }
    }

    /// The text without them.
    pub(super) fn text(&self, text: &str) -> String {
        self.0.without(text).into_owned()
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
