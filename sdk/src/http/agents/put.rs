//! `PUT /agents/{name}`: adds a version of an agent as data.

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{row, store, unavailable};
use crate::{
    agent::spec::Surroundings,
    http::{
        access::Caller,
        error::ApiError,
        service::{Service, Shared},
    },
    store::{AgentStore, AgentVersion, LoadError, Loaded, PutAgentError, Start, load},
    wire::agent_spec::LoadedSpec,
};

/// `PUT /agents/{name}`. The body is the spec, which may leave out its name.
pub(in crate::http) async fn put(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<Response, ApiError> {
    if !shared.access.may_edit_spec(&caller, &name) {
        let message = "the caller may not edit this agent; AccessPolicy::may_edit_spec decides that";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message));
    }
    let store = store(&shared)?;
    let newest = precondition(&headers)?;
    let start = Start::Candidate { name: &name, version: newest.saturating_add(1), json: &body };
    let spec = match checked(&shared, &name, load(&**store, start).await)? {
        Ok(LoadedSpec { version: _, spec }) => serde_json::to_value(spec).map_err(ApiError::server)?,
        Err(issues) => return Ok(invalid(&name, &issues)),
    };
    match store.put(&name, &spec, newest, caller.name.as_deref()).await {
        Ok(stored) => Ok(accepted(StatusCode::CREATED, &stored)),
        Err(PutAgentError::Conflict { newest: found }) => {
            // A repeated request finds the version that the first one has stored.
            match repeated(&**store, &name, newest, &spec).await? {
                Some(stored) => Ok(accepted(StatusCode::OK, &stored)),
                None => Err(conflict(&name, found)),
            }
        }
        Err(error) => Err(unavailable(error)),
    }
}

/// Returns the version after which the caller wants to store: 0 for the first.
fn precondition(headers: &HeaderMap) -> Result<u32, ApiError> {
    let header = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
    match (header(header::IF_MATCH), header(header::IF_NONE_MATCH)) {
        (None, Some("*")) => Ok(0),
        (Some(tag), None) => {
            let version = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).and_then(|tag| tag.parse().ok());
            let message = "If-Match must be the ETag of one version, such as \"3\" with its quotes";
            version.filter(|version| *version > 0).ok_or_else(|| ApiError::invalid(message))
        }
        _ => {
            let message = "send the version that you have read: If-Match: \"3\", or If-None-Match: * for a new agent";
            Err(ApiError::new(StatusCode::PRECONDITION_REQUIRED, "precondition_required", message))
        }
    }
}

/// Returns the spec if it and all that it reaches can run, as far as the service knows; otherwise
/// the problems.
fn checked(
    shared: &Shared,
    name: &str,
    loaded: Result<Loaded, LoadError>,
) -> Result<Result<LoadedSpec, Vec<String>>, ApiError> {
    let Loaded { specs, issues } = match loaded {
        Ok(loaded) => loaded,
        Err(error @ LoadError::Store(_)) => return Err(unavailable(error)),
        Err(error) => return Ok(Err(vec![error.to_string()])),
    };
    let found: Vec<String> = issues.iter().map(ToString::to_string).collect();
    let Some(spec) = specs.first().filter(|first| first.spec.name == name).cloned() else { return Ok(Err(found)) };
    match &shared.parts {
        Some(parts) => {
            let taken = shared.agents.keys().cloned().collect();
            let resolved = parts.resolve(&specs, &Surroundings { taken, has_model: true, found });
            let lines = |issues: &[_]| issues.iter().map(ToString::to_string).collect();
            Ok(resolved.map(|_| spec).map_err(|error| lines(&error.issues)))
        }
        None if found.is_empty() => Ok(Ok(spec)),
        None => Ok(Err(found)),
    }
}

/// Returns the version that an earlier request of the same content has stored after `newest`.
async fn repeated(
    store: &dyn AgentStore,
    name: &str,
    newest: u32,
    spec: &Value,
) -> Result<Option<AgentVersion>, ApiError> {
    let found = store.read(name, Some(newest.saturating_add(1))).await.map_err(unavailable)?;
    Ok(found.filter(|(_, stored)| stored == spec).map(|(version, _)| version))
}

fn accepted(status: StatusCode, stored: &AgentVersion) -> Response {
    (status, [(header::ETAG, format!("\"{}\"", stored.version))], Json(row(stored))).into_response()
}

fn invalid(name: &str, issues: &[String]) -> Response {
    let message = format!("the spec of agent {name:?} cannot be stored: {}", issues.join("; "));
    let error = json!({"code": "invalid_spec", "message": message, "issues": issues});
    (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"error": error}))).into_response()
}

fn conflict(name: &str, newest: u32) -> ApiError {
    let message = if newest == 0 {
        format!("there is no agent {name:?} yet; send If-None-Match: *")
    } else {
        format!("the newest version of agent {name:?} is {newest}; read it, and send your change with its ETag")
    };
    ApiError::new(StatusCode::PRECONDITION_FAILED, "version_conflict", message)
}
