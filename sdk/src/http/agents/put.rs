//! `PUT /agents/{name}`: adds a version of an agent as data.

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use temporal_agents_core::{agent::spec::Surroundings, wire::agent_spec::LoadedSpec};

use super::{
    VersionRow, store,
    tagged::{Follows, Tagged},
    unavailable,
};
use crate::{
    http::{
        access::Caller,
        error::ApiError,
        openapi::{Answer, Created, Operation, Schemas},
        service::{Service, Shared},
    },
    store::{AgentStore, AgentVersion, LoadError, Loaded, PutAgentError, Start, load},
};

/// `PUT /agents/{name}`. The body is the spec, which may leave out its name.
pub(in crate::http) async fn put(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    follows: Follows,
    Json(body): Json<Value>,
) -> Result<Put, ApiError> {
    if !shared.access.may_edit_spec(&caller, &name) {
        let message = "the caller may not edit this agent; AccessPolicy::may_edit_spec decides that";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message));
    }
    let store = store(&shared)?;
    let newest = follows.version()?;
    let start = Start::Candidate { name: &name, version: newest.saturating_add(1), json: &body };
    let spec = match checked(&shared, &name, load(&**store, start).await)? {
        Ok(LoadedSpec { version: _, spec }) => serde_json::to_value(spec).map_err(ApiError::server)?,
        Err(issues) => return Ok(Put::Invalid(InvalidSpec::of(&name, issues))),
    };
    match store.put(&name, &spec, newest, caller.name.as_deref()).await {
        Ok(stored) => Ok(Put::Stored(tagged(&stored))),
        Err(PutAgentError::Conflict { newest: found }) => {
            // A repeated request finds the version that the first one has stored.
            match repeated(&**store, &name, newest, &spec).await? {
                Some(stored) => Ok(Put::Found(tagged(&stored))),
                None => Err(conflict(&name, found)),
            }
        }
        Err(error) => Err(unavailable(error)),
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

/// The answer to a spec that was sent.
pub(in crate::http) enum Put {
    Stored(Tagged<VersionRow>),
    /// An earlier request has stored the same.
    Found(Tagged<VersionRow>),
    Invalid(InvalidSpec),
}

/// The answer to a spec that cannot run.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct InvalidSpec {
    error: SpecError,
}

/// The problems of a spec.
#[derive(Debug, Serialize, JsonSchema)]
struct SpecError {
    /// `invalid_spec`.
    code: &'static str,
    /// A message for people.
    message: String,
    /// All problems.
    issues: Vec<String>,
}

impl InvalidSpec {
    fn of(name: &str, issues: Vec<String>) -> Self {
        let message = format!("the spec of agent {name:?} cannot be stored: {}", issues.join("; "));
        Self { error: SpecError { code: "invalid_spec", message, issues } }
    }
}

impl IntoResponse for Put {
    fn into_response(self) -> Response {
        match self {
            Self::Stored(stored) => (StatusCode::CREATED, stored).into_response(),
            Self::Found(found) => found.into_response(),
            Self::Invalid(invalid) => (StatusCode::UNPROCESSABLE_ENTITY, Json(invalid)).into_response(),
        }
    }
}

impl Answer for Put {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        Created::<VersionRow>::describe(operation, schemas);
        <Json<VersionRow> as Answer>::describe(operation, schemas);
        let content = Some(("application/json", schemas.written::<InvalidSpec>()));
        operation.response(StatusCode::UNPROCESSABLE_ENTITY, "The spec cannot run.", content);
    }
}

fn tagged(stored: &AgentVersion) -> Tagged<VersionRow> {
    Tagged { version: stored.version, body: VersionRow::of(stored) }
}

fn conflict(name: &str, newest: u32) -> ApiError {
    let message = if newest == 0 {
        format!("there is no agent {name:?} yet; send If-None-Match: *")
    } else {
        format!("the newest version of agent {name:?} is {newest}; read it, and send your change with its ETag")
    };
    ApiError::new(StatusCode::PRECONDITION_FAILED, "version_conflict", message)
}
