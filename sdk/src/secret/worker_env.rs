//! Puts values of environment variables into a model call, the settings of a tool, what an MCP server is reached by, and keeps them out of
//! everything that comes back.
//!
//! It is the last thing before they are used: what a worker remembers of a conversation, and what it reads from history, has references
//! alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    destination::{Destination, Unclear},
    without_secret::Secrets,
};
use crate::{
    tool::Redaction,
    wire::{
        Item,
        worker_env::{referred, refers},
    },
};

/// The variables that definitions may refer to, and where their values may go.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedEnv {
    names: BTreeMap<String, Allowed>,
    /// Where values go; empty = this is not known, and only those that may go anywhere are filled in.
    to: Vec<Destination>,
}

/// Where one may go.
#[derive(Clone, Debug, Default)]
struct Allowed {
    anywhere: bool,
    to: BTreeSet<Destination>,
}

/// The values that a call was given.
#[derive(Clone, Default)]
pub(crate) struct Given(Secrets);

/// A variable that is not given away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Withheld {
    name: String,
    why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// No destination may have it.
    NotAllowed,
    /// Others may; this is the first that may not. None = where it would go cannot be told.
    Elsewhere(Option<Destination>),
    /// It has destinations, and is referred to where the model could read it.
    NoCredential,
    NotSet,
}

impl Withheld {
    /// Who refers to it, where its value would go, and what to do.
    pub(crate) fn told(&self, who: &str, receiver: &str) -> String {
        let name = &self.name;
        let why = match &self.why {
            Why::NotSet => "is not set on this worker; set it and restart the worker".to_owned(),
            Why::NoCredential => {
                "this worker gives to certain destinations only, and there only as a credential (`authorization`, `headers`, \
                 extra_headers, extra_query): elsewhere the model could read it; AgentsPlugin::allow_env allows it anywhere"
                    .to_owned()
            }
            Why::NotAllowed => {
                format!("this worker does not give away; add it to AgentsPlugin::allow_env if it may go to {receiver}")
            }
            Why::Elsewhere(Some(to)) => format!(
                "this worker does not give to {to}, only to other destinations; add \
                 allow_env_for({}, [{name:?}]) to the AgentsPlugin, InlineRunner or ToolRegistry if it may go there",
                to.in_code()
            ),
            Why::Elsewhere(None) => {
                "this worker gives to certain destinations only, and where it would go here cannot be \
                                     told: an address beside it is not plain https, or the model provider has no name"
                    .to_owned()
            }
        };
        format!("{who} to the environment variable {name:?}, which {why}")
    }
}

impl AllowedEnv {
    /// Allows names for any destination.
    pub(crate) fn allow(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        for name in names {
            self.names.entry(name.into()).or_default().anywhere = true;
        }
    }

    /// Allows names for one destination.
    pub(crate) fn allow_for(&mut self, to: &Destination, names: impl IntoIterator<Item = impl Into<String>>) {
        for name in names {
            self.names.entry(name.into()).or_default().to.insert(to.clone());
        }
    }

    /// The same variables, for values that go to all of these.
    pub(crate) fn to(&self, destinations: impl Into<Vec<Destination>>) -> Self {
        Self { names: self.names.clone(), to: destinations.into() }
    }

    /// Puts the values into a part of a request, whose addresses say where they go. A variable that is bound to a destination is filled in as a
    /// credential only: elsewhere the model would read it, and could tell it to others.
    pub(crate) fn fill_part(
        &self,
        part: &mut Value,
        provider: Option<&str>,
        is_credential: bool,
        given: &mut Given,
    ) -> Result<(), Withheld> {
        if !refers(part) {
            return Ok(());
        }
        if !is_credential && let Some(name) = self.bound_outside_credentials(part) {
            return Err(Withheld { name: name.to_owned(), why: Why::NoCredential });
        }
        let to = Destination::of_request(part, provider).unwrap_or_else(|Unclear| Vec::new());
        self.to(to).fill_value(part, given)
    }

    /// The first variable with destinations that is referred to outside of `authorization` and `headers`.
    fn bound_outside_credentials<'v>(&self, value: &'v Value) -> Option<&'v str> {
        let is_bound = |name: &&str| self.names.get(*name).is_some_and(|allowed| !allowed.anywhere);
        match value {
            Value::Array(values) => values.iter().find_map(|value| self.bound_outside_credentials(value)),
            Value::Object(members) => match referred(members) {
                Some(name) => Some(name).filter(is_bound),
                None => members
                    .iter()
                    .filter(|(key, _)| !matches!(key.as_str(), "authorization" | "headers"))
                    .find_map(|(_, value)| self.bound_outside_credentials(value)),
            },
            _ => None,
        }
    }

    /// Puts the values into an object, and remembers them.
    ///
    /// # Errors
    /// [`Withheld`], the first.
    pub(crate) fn fill_members(&self, members: &mut Map<String, Value>, given: &mut Given) -> Result<(), Withheld> {
        members.values_mut().try_for_each(|value| self.fill_value(value, given))
    }

    /// The same of any value.
    pub(crate) fn fill_value(&self, value: &mut Value, given: &mut Given) -> Result<(), Withheld> {
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
    pub(crate) fn give(&self, name: &str, given: &mut Given) -> Result<String, Withheld> {
        let withheld = |why| Withheld { name: name.to_owned(), why };
        let allowed = self.names.get(name).ok_or_else(|| withheld(Why::NotAllowed))?;
        if !allowed.anywhere {
            let refused = self.to.iter().find(|destination| !allowed.to.contains(destination));
            if refused.is_some() || self.to.is_empty() {
                return Err(withheld(Why::Elsewhere(refused.cloned())));
            }
        }
        let value = std::env::var(name).ok().filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| withheld(Why::NotSet))?;
        given.0.add(&value);
        Ok(value)
    }
}

impl Given {
    /// Remembers a value that is no variable's, and is kept out of everything like one.
    #[cfg(feature = "mcp")]
    pub(crate) fn remember(&mut self, value: &str) {
        self.0.add(value);
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What takes them out of everything that a tool returns.
    pub(crate) fn redaction(&self) -> Redaction {
        let given = self.clone();
        Redaction::new(move |text| given.text(text))
    }

    pub(crate) fn item(&self, item: Item) -> Item {
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
    pub(crate) fn value(&self, value: Value) -> Value {
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
    pub(crate) fn text(&self, text: &str) -> String {
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
