//! The value of a header or of a variable: a text, or a reference to a variable of the worker.

use std::{ffi::OsString, fmt};

use serde_json::Value;

use crate::{
    wire::worker_env::referred,
    worker::worker_env::{AllowedEnv, Given, Withheld},
};

/// What a header, or a variable of a server's environment, is set to: a text, or a [`worker_env!`](crate::worker_env) reference, which
/// is filled in when the connection is opened.
#[derive(Clone)]
pub struct McpValue(Kind);

#[derive(Clone)]
enum Kind {
    Text(OsString),
    Variable { before: String, name: String },
}

impl McpValue {
    /// The same with this text in front of it.
    pub(super) fn after(self, before: &str) -> Self {
        Self(match self.0 {
            Kind::Text(text) => {
                let mut whole = OsString::from(before);
                whole.push(text);
                Kind::Text(whole)
            }
            Kind::Variable { before: later, name } => Kind::Variable { before: format!("{before}{later}"), name },
        })
    }

    /// The text itself.
    pub(super) fn filled(&self, env: &AllowedEnv, given: &mut Given) -> Result<OsString, Withheld> {
        match &self.0 {
            Kind::Text(text) => Ok(text.clone()),
            Kind::Variable { before, name } => Ok(format!("{before}{}", env.give(name, given)?).into()),
        }
    }
}

impl From<Value> for McpValue {
    /// A text or a reference; anything else as its JSON.
    fn from(value: Value) -> Self {
        match &value {
            Value::String(text) => text.into(),
            Value::Object(members) => match referred(members) {
                Some(name) => Self(Kind::Variable { before: String::new(), name: name.to_owned() }),
                None => value.to_string().into(),
            },
            other => other.to_string().into(),
        }
    }
}

impl From<String> for McpValue {
    fn from(text: String) -> Self {
        Self(Kind::Text(text.into()))
    }
}

impl From<&String> for McpValue {
    fn from(text: &String) -> Self {
        Self(Kind::Text(text.into()))
    }
}

impl From<&str> for McpValue {
    fn from(text: &str) -> Self {
        Self(Kind::Text(text.into()))
    }
}

impl From<OsString> for McpValue {
    fn from(text: OsString) -> Self {
        Self(Kind::Text(text))
    }
}

impl fmt::Debug for McpValue {
    /// Without the text, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Text(_) => f.write_str("McpValue(..)"),
            Kind::Variable { name, .. } => write!(f, "McpValue(worker_env {name:?})"),
        }
    }
}
