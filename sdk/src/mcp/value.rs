//! The value of a header or of a variable: a string, or a reference to a variable of the worker.

use std::{ffi::OsString, fmt};

use serde_json::Value;
use temporal_agents_core::wire::worker_env::referred;

use crate::secret::worker_env::{AllowedEnv, Given, Withheld};

/// The value of a header, or of a variable of a server's environment: a string, or a
/// [`worker_env!`](crate::worker_env) reference, which is resolved when the connection is opened.
///
/// A value of eight bytes or more counts as a credential, whether it is literal or a reference: if
/// a response or an error of the server quotes it, `[redacted]` replaces it. Exceptions are a path,
/// a number, an address without a password, the value of a variable whose name ends in a word such
/// as `REGION`, `DEFAULT_LEVEL` or `DIR`, and a [`plain`](Self::plain) value.
#[derive(Clone)]
pub struct McpValue(Kind);

#[derive(Clone)]
enum Kind {
    Text(OsString),
    Plain(OsString),
    Variable { before: String, name: String },
}

impl McpValue {
    /// Creates a value that is not a credential, such as the name of a tenant: responses of the
    /// server may contain it.
    ///
    /// ```
    /// use temporal_agents::mcp::{McpTransport, McpValue};
    ///
    /// let crm = McpTransport::stdio("mcp-server-crm", [""; 0])
    ///     .env("COMPANY", McpValue::plain("Acme Corporation"));
    /// ```
    pub fn plain(text: impl Into<OsString>) -> Self {
        Self(Kind::Plain(text.into()))
    }

    /// `true` unless the author has declared the value [`plain`](Self::plain).
    pub(super) fn may_be_credential(&self) -> bool {
        !matches!(self.0, Kind::Plain(_))
    }

    /// Returns the value with a prefix.
    pub(super) fn after(self, before: &str) -> Self {
        let join = |text: OsString| {
            let mut whole = OsString::from(before);
            whole.push(text);
            whole
        };
        Self(match self.0 {
            Kind::Text(text) => Kind::Text(join(text)),
            Kind::Plain(text) => Kind::Plain(join(text)),
            Kind::Variable { before: later, name } => Kind::Variable { before: format!("{before}{later}"), name },
        })
    }

    /// Returns the string, with a reference resolved.
    pub(super) fn filled(&self, env: &AllowedEnv, given: &mut Given) -> Result<OsString, Withheld> {
        match &self.0 {
            Kind::Text(text) | Kind::Plain(text) => Ok(text.clone()),
            Kind::Variable { before, name } => Ok(format!("{before}{}", env.give(name, given)?).into()),
        }
    }
}

impl From<Value> for McpValue {
    /// Converts a string or a reference; any other value becomes its JSON.
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
    /// Leaves out the string, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Text(_) | Kind::Plain(_) => f.write_str("McpValue(..)"),
            Kind::Variable { name, .. } => write!(f, "McpValue(worker_env {name:?})"),
        }
    }
}
