//! Lists agents and their versions, and reads specs.

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::wire::SpecRef;

use super::{VersionRow, store, tagged::Tagged, unavailable, unknown};
use crate::http::{access::Caller, error::ApiError, service::Service};

/// Rows in a list by default, and at most.
const DEFAULT_ROWS: u32 = 50;
const MAX_ROWS: u32 = 500;

/// The query of `GET /agents`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::http) struct ListQuery {
    /// Only agents as data whose names follow this one.
    after: Option<String>,
    limit: Option<u32>,
}

/// The agents that callers may start.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct AgentList {
    /// Those in the code.
    agents: Vec<AgentEntry>,
    /// The newest versions of those that are data; absent if the service has no store of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    specs: Option<Vec<VersionRow>>,
    /// Toolsets and devices that runs may select: names, and prefixes of names that end in `*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    toolsets: Vec<String>,
    /// More follow after this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// An agent in the code.
#[derive(Debug, Serialize, JsonSchema)]
struct AgentEntry {
    name: String,
}

/// `GET /agents`.
pub(in crate::http) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Query(ListQuery { after, limit }): Query<ListQuery>,
) -> Result<Json<AgentList>, ApiError> {
    let may_start = |name: &&String| shared.access.may_start(&caller, name);
    let agents = shared.agents.keys().filter(may_start).map(|name| AgentEntry { name: name.clone() }).collect();
    let mut listed = AgentList { agents, specs: None, toolsets: shared.toolsets.clone(), next: None };
    if let Some(store) = &shared.store.0 {
        let limit = limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
        let found = store.list(after.as_deref(), limit).await.map_err(unavailable)?;
        if found.len() == limit as usize {
            listed.next = found.last().map(|last| last.name.clone());
        }
        let is_shown =
            |name: &str| shared.access.may_start(&caller, name) || shared.access.may_read_spec(&caller, name);
        listed.specs = Some(found.iter().filter(|found| is_shown(&found.name)).map(VersionRow::of).collect());
    }
    if listed.agents.is_empty() && listed.specs.as_ref().is_none_or(Vec::is_empty) {
        listed.toolsets.clear();
    }
    Ok(Json(listed))
}

/// The query of `GET /agents/{name}`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::http) struct ReadQuery {
    /// Default: the newest version.
    pub(super) version: Option<u32>,
}

/// A version of an agent as data, with its spec.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct VersionDetail {
    #[serde(flatten)]
    row: VersionRow,
    /// The spec (`AgentSpec`).
    spec: Value,
}

/// `GET /agents/{name}`.
pub(in crate::http) async fn read(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(ReadQuery { version }): Query<ReadQuery>,
) -> Result<Tagged<VersionDetail>, ApiError> {
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
            Ok(Tagged { version: found.version, body: VersionDetail { row: VersionRow::of(&found), spec } })
        }
    }
}

/// The query of `GET /agents/{name}/versions`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::http) struct VersionsQuery {
    /// Only versions before this one.
    before: Option<u32>,
    limit: Option<u32>,
}

/// Versions of an agent, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct VersionList {
    versions: Vec<VersionRow>,
}

/// `GET /agents/{name}/versions`.
pub(in crate::http) async fn versions(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(VersionsQuery { before, limit }): Query<VersionsQuery>,
) -> Result<Json<VersionList>, ApiError> {
    let store = store(&shared)?;
    if !shared.access.may_read_spec(&caller, &name) {
        return Err(ApiError::forbidden("read specs of this agent"));
    }
    let limit = limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let found = store.versions(&name, before, limit).await.map_err(unavailable)?;
    if found.is_empty() && before.is_none() {
        return Err(unknown(&SpecRef::newest(name)));
    }
    Ok(Json(VersionList { versions: found.iter().map(VersionRow::of).collect() }))
}
