//! Fills the values of environment variables into a model call, the settings of a tool, or the
//! connection data of an MCP server, and removes them from everything that is returned.
//!
//! The values are filled in as late as possible: what a worker remembers of a conversation, and
//! what it reads from history, contains references only.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use temporal_agents_core::{
    tool::Redaction,
    wire::{
        Item,
        worker_env::{referred, refers},
    },
};

use super::{
    destination::{Destination, UnknownDestination},
    without_secret::Secrets,
};

/// The variables that definitions may refer to, and the allowed destinations of their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedEnv {
    names: BTreeMap<String, Allowed>,
    /// Destinations of the values to fill in. Empty if they are unknown: then only values that are
    /// allowed for any destination are filled in.
    to: Vec<Destination>,
}

/// The allowed destinations of one variable.
#[derive(Clone, Debug, Default)]
struct Allowed {
    anywhere: bool,
    to: BTreeSet<Destination>,
}

/// The secrets that were filled into a call, to be removed from its results.
#[derive(Clone, Default)]
pub(crate) struct Given(Secrets);

/// A reference to a variable that is not filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Withheld {
    name: String,
    why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// The variable is allowed for no destination.
    NotAllowed,
    /// The variable is allowed for other destinations; this is the first one that is not allowed.
    /// `None` if the destination cannot be determined.
    Elsewhere(Option<Destination>),
    /// The variable is bound to destinations, and the reference is where the model could read the
    /// value.
    NoCredential,
    /// The variable is allowed, but not set on this worker.
    NotSet,
}

impl Withheld {
    /// Returns the error message: `who` is the subject that refers to the variable, and `receiver`
    /// the destination of its value. The message ends with the remedy.
    pub(crate) fn told(&self, who: &str, receiver: &str) -> String {
        let name = &self.name;
        let why = match &self.why {
            Why::NotSet => "is not set on this worker; set it and restart the worker".to_owned(),
            Why::NoCredential => {
                "this worker sends to certain destinations only, and there only as a credential (`authorization`, \
                 `headers`, extra_headers, extra_query): elsewhere the model could read it; Resources::allow_env \
                 allows it for any destination"
                    .to_owned()
            }
            Why::NotAllowed => {
                format!(
                    "this worker does not send anywhere; add it to Resources::allow_env if it may be sent to \
                     {receiver}"
                )
            }
            Why::Elsewhere(Some(to)) => format!(
                "this worker does not send to {to}, only to other destinations; add \
                 Resources::allow_env_for({}, [{name:?}]) if it may be sent there",
                to.to_rust_expression()
            ),
            Why::Elsewhere(None) => {
                "this worker sends to certain destinations only, and the destination here cannot be determined: an \
                 address beside it is not plain https, or the model provider has no name"
                    .to_owned()
            }
        };
        format!("{who} to the environment variable {name:?}, which {why}")
    }
}

impl AllowedEnv {
    /// Allows variables for any destination.
    pub(crate) fn allow(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        for name in names {
            self.names.entry(name.into()).or_default().anywhere = true;
        }
    }

    /// Allows variables for one destination.
    pub(crate) fn allow_for(&mut self, to: &Destination, names: impl IntoIterator<Item = impl Into<String>>) {
        for name in names {
            self.names.entry(name.into()).or_default().to.insert(to.clone());
        }
    }

    /// Returns a copy for values that are sent to all of these destinations.
    pub(crate) fn to(&self, destinations: impl Into<Vec<Destination>>) -> Self {
        Self { names: self.names.clone(), to: destinations.into() }
    }

    /// Fills the values into a part of a request, whose addresses determine the destinations. A
    /// variable that is bound to a destination is filled in as a credential only: elsewhere the
    /// model could read it, and disclose it.
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
        // An unknown destination leaves the list empty, so that only variables for any destination
        // are filled in.
        let to = Destination::of_request(part, provider).unwrap_or_else(|UnknownDestination| Vec::new());
        self.to(to).fill_value(part, given)
    }

    /// Returns the first variable bound to destinations that is referred to outside of
    /// `authorization` and `headers`.
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

    /// Fills the values into an object, and remembers them.
    ///
    /// # Errors
    /// The first [`Withheld`].
    pub(crate) fn fill_members(&self, members: &mut Map<String, Value>, given: &mut Given) -> Result<(), Withheld> {
        members.values_mut().try_for_each(|value| self.fill_value(value, given))
    }

    /// Fills the values into any JSON value, and remembers them.
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

    /// Returns the value of a variable, and remembers it.
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
    /// Remembers a value that is not that of a variable, and that is removed from results in the
    /// same way.
    #[cfg(any(feature = "mcp", test))]
    pub(crate) fn remember(&mut self, value: &str) {
        self.0.add(value);
    }

    /// Returns `true` if no values were filled in.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the length in bytes of the beginning of a text, of which more follows, that can be
    /// passed on without the values.
    pub(crate) fn settled(&self, text: &str) -> usize {
        if self.0.is_empty() { text.len() } else { self.0.settled(text) }
    }

    /// Returns the redaction that removes the values from the result of a tool.
    pub(crate) fn redaction(&self) -> Redaction {
        let given = self.clone();
        Redaction::new(move |text| given.text(text))
    }

    /// Returns the item without the values.
    pub(crate) fn item(&self, item: Item) -> Item {
        let holds_one = |text: &str| self.0.are_in(text);
        let value = item.to_value();
        if !any_string(&value, &holds_one) {
            return item;
        }
        match self.value(value) {
            Value::Object(members) => Item::from(members),
            _ => item,
        }
    }

    /// Returns the JSON value without the values of variables, also in its keys.
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

    /// Returns the string without the values.
    pub(crate) fn text(&self, text: &str) -> String {
        self.0.without(text).into_owned()
    }
}

/// Returns `true` if `is_such` holds for any string or key in the value.
fn any_string(value: &Value, is_such: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_such(text),
        Value::Array(values) => values.iter().any(|value| any_string(value, is_such)),
        Value::Object(members) => members.iter().any(|(key, value)| is_such(key) || any_string(value, is_such)),
        _ => false,
    }
}
