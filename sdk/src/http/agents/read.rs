//! Lists agents and their versions, and reads specs.

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
    http::header,
    response::IntoResponse,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{row, store, unavailable, unknown};
use crate::{
    http::{access::Caller, error::ApiError, service::Service},
    wire::SpecRef,
};

/// Rows in a list by default, and at most.
const DEFAULT_ROWS: u32 = 50;
const MAX_ROWS: u32 = 500;

/// The query of `GET /agents`.
#[derive(Debug, Deserialize)]
pub(in crate::http) struct ListQuery {
    /// Only agents as data whose names follow this one.
    after: Option<String>,
    limit: Option<u32>,
}

/// `GET /agents`.
pub(in crate::http) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Query(ListQuery { after, limit }): Query<ListQuery>,
) -> Result<Json<Value>, ApiError> {
    let agents: Vec<Value> = shared.agents.keys().map(|name| json!({"name": name})).collect();
    let mut listed = json!({"agents": agents});
    if let Some(store) = &shared.store.0 {
        let limit = limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
        let found = store.list(after.as_deref(), limit).await.map_err(unavailable)?;
        if found.len() == limit as usize {
            listed["next"] = json!(found.last().map(|last| &last.name));
        }
        let is_shown =
            |name: &str| shared.access.may_start(&caller, name) || shared.access.may_read_spec(&caller, name);
        listed["specs"] = found.iter().filter(|found| is_shown(&found.name)).map(row).collect();
    }
    Ok(Json(listed))
}

/// The query of `GET /agents/{name}`.
#[derive(Debug, Deserialize)]
pub(in crate::http) struct ReadQuery {
    /// Default: the newest version.
    version: Option<u32>,
}

/// `GET /agents/{name}`.
pub(in crate::http) async fn read(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(ReadQuery { version }): Query<ReadQuery>,
) -> Result<impl IntoResponse, ApiError> {
    let store = store(&shared)?;
    if !shared.access.may_read_spec(&caller, &name) {
        return Err(ApiError::forbidden("read specs of this agent"));
    }
    match store.read(&name, version).await.map_err(unavailable)? {
        None => {
            let mut spec = SpecRef::newest(name);
            spec.version = version;
            Err(unknown(&spec))
        }
        Some((found, spec)) => {
            let mut body = row(&found);
            body["spec"] = spec;
            Ok(([(header::ETAG, format!("\"{}\"", found.version))], Json(body)))
        }
    }
}

/// The query of `GET /agents/{name}/versions`.
#[derive(Debug, Deserialize)]
pub(in crate::http) struct VersionsQuery {
    /// Only versions before this one.
    before: Option<u32>,
    limit: Option<u32>,
}

/// `GET /agents/{name}/versions`.
pub(in crate::http) async fn versions(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(VersionsQuery { before, limit }): Query<VersionsQuery>,
) -> Result<Json<Value>, ApiError> {
    let store = store(&shared)?;
    if !shared.access.may_read_spec(&caller, &name) {
        return Err(ApiError::forbidden("read specs of this agent"));
    }
    let limit = limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let found = store.versions(&name, before, limit).await.map_err(unavailable)?;
    if found.is_empty() && before.is_none() {
        return Err(unknown(&SpecRef::newest(name)));
    }
    Ok(Json(json!({"versions": found.iter().map(row).collect::<Vec<_>>()})))
}
