//! The request of one model call: the body that the projection for an API builds, and the parts
//! that the settings add.
//!
//! The order of precedence, last wins: the projection's members, `extra_args`, `extra_body`.
//! Headers and query parameters are the call's own; the provider's credentials are added later and
//! elsewhere, and a call may not replace them.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value};
use temporal_agents_core::wire::ModelFailureKind;

use crate::provider::ModelError;

/// A request without address and credentials.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) body: Map<String, Value>,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Vec<(String, String)>,
}

/// The parts that the settings add to a request beyond the members of its API.
#[derive(Debug)]
pub(crate) struct ExtraSettings {
    pub(crate) args: Option<Map<String, Value>>,
    pub(crate) body: Option<Map<String, Value>>,
    pub(crate) headers: Option<Map<String, Value>>,
    pub(crate) query: Option<Map<String, Value>>,
}

impl ExtraSettings {
    /// Returns the request with the extras merged into its body, member by member at the root.
    ///
    /// # Errors
    /// [`ModelFailureKind::BadRequest`] for a header that is invalid in HTTP, and
    /// [`ModelFailureKind::Unsupported`] for `stream`, whose response is not a single one.
    pub(crate) fn around(self, mut body: Map<String, Value>) -> Result<Outgoing, ModelError> {
        let Self { args, body: members, headers, query } = self;
        body.extend(args.into_iter().flatten());
        body.extend(members.into_iter().flatten());
        if body.get("stream").is_some_and(|stream| *stream != Value::Bool(false)) {
            return Err(unsupported("`stream` in the extra arguments: a model call is one request and one response"));
        }
        Ok(Outgoing { body, headers: header_map(headers)?, query: query_pairs(query) })
    }
}

/// Sets a member, if there is a value for it.
pub(crate) fn set(body: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body.insert(name.to_owned(), value.into());
    }
}

/// Returns the failure of a call that requests a feature which an API does not have.
pub(crate) fn unsupported(what: impl std::fmt::Display) -> ModelError {
    ModelError::new(ModelFailureKind::Unsupported, format!("unsupported: {what}"))
}

/// Refuses a setting that an API does not have, if it is set.
pub(crate) fn refuse<T: Serialize>(api: &str, setting: &str, value: Option<&T>) -> Result<(), ModelError> {
    match value {
        None => Ok(()),
        Some(_) => Err(unsupported(format_args!("the {api} API has no `{setting}`; remove it"))),
    }
}

/// The headers that a call may not set: they contain keys, and the settings of a call are in
/// history.
const CREDENTIALS: [&str; 5] = ["authorization", "api-key", "x-api-key", "x-goog-api-key", "proxy-authorization"];

fn header_map(headers: Option<Map<String, Value>>) -> Result<HeaderMap, ModelError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers.into_iter().flatten() {
        if CREDENTIALS.iter().any(|credential| name.eq_ignore_ascii_case(credential)) {
            return Err(unsupported(format_args!(
                "`{name}` in extra_headers: settings are recorded in history; configure the key in the provider on \
                 the worker"
            )));
        }
        let Some(text) = plain(&value) else { continue };
        let (Ok(header), Ok(mut value)) = (HeaderName::try_from(&name), HeaderValue::try_from(text)) else {
            let message = format!("bad request: the extra header {name:?} is invalid in HTTP");
            return Err(ModelError::new(ModelFailureKind::BadRequest, message));
        };
        // The value may be that of an environment variable of the worker.
        value.set_sensitive(true);
        map.insert(header, value);
    }
    Ok(map)
}

/// Converts query parameters. A list repeats its parameter; null leaves it out.
fn query_pairs(query: Option<Map<String, Value>>) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    for (name, value) in query.into_iter().flatten() {
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        pairs.extend(values.iter().filter_map(plain).map(|text| (name.clone(), text)));
    }
    pairs
}

/// Formats a value outside of JSON: a string unchanged, other values as JSON, null as `None`.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
