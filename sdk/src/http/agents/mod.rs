//! `/agents`: the agents that callers may start, and the editing of agents as data.
//!
//! | path | content |
//! |---|---|
//! | `GET /agents` | the agents in the code, and the newest versions of those that are data |
//! | `GET /agents/{name}`, `?version=2` | a spec; its version is also the `ETag` |
//! | `GET /agents/{name}/versions` | the versions of an agent, newest first |
//! | `PUT /agents/{name}` | adds a version, after the one in `If-Match` |
//!
//! # Design
//! **A version is never changed.** To edit is to add a version after the one that was read, which
//! the request names: `If-Match: "3"`, or `If-None-Match: *` for the first. Of two editors one is
//! refused, and a repeated request is answered like the first.
//!
//! **What is stored can run.** A spec is checked with the specs that its handoffs reach, and
//! against the parts that the service knows, before it is stored. Agents that hand off to each
//! other are stored in steps: one without the handoff, the other, then the first with it.

mod picture;
mod put;
mod read;
mod tagged;

use std::sync::Arc;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use temporal_agents_core::wire::SpecRef;

pub(super) use self::{
    picture::picture,
    put::put,
    read::{list, read, versions},
};
use super::{access::Caller, error::ApiError, service::Shared};
use crate::store::{AgentStore, AgentVersion};

/// Returns the store of agents.
///
/// # Errors
/// 404 if the service has none.
fn store(shared: &Shared) -> Result<&Arc<dyn AgentStore>, ApiError> {
    let message = "this service has no agents as data; AgentsService::agent_store sets their store";
    shared.store.0.as_ref().ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "no_agent_store", message))
}

/// Returns the error of a store that is unavailable.
fn unavailable(source: impl std::fmt::Display) -> ApiError {
    tracing::warn!(error = %source, "the store of agents has failed");
    let message = "the store of agents is unavailable; send the same request again";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "agent_store_unavailable", message)
}

/// Returns the version of a spec that a run is to have, and checks that the caller may start it.
///
/// # Errors
/// 404 for an unknown agent or version, 403.
pub(super) async fn startable(shared: &Shared, caller: &Caller, spec: SpecRef) -> Result<SpecRef, ApiError> {
    let store = store(shared)?;
    if !shared.access.may_start(caller, &spec.name) {
        return Err(ApiError::forbidden("start this agent"));
    }
    match store.read(&spec.name, spec.version).await.map_err(unavailable)? {
        Some((found, _)) => Ok(SpecRef::new(spec.name, found.version)),
        None => Err(unknown(&spec)),
    }
}

fn unknown(spec: &SpecRef) -> ApiError {
    let message = match spec.version {
        Some(version) => format!("agent {:?} has no version {version}; see GET /agents/{{name}}/versions", spec.name),
        None => format!("there is no agent {:?} as data; GET /agents lists them", spec.name),
    };
    ApiError::new(StatusCode::NOT_FOUND, "unknown_agent", message)
}

/// A version of an agent as data.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct VersionRow {
    name: String,
    version: u32,
    /// RFC 3339, UTC.
    created_at: String,
    /// Name of the caller who stored the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<String>,
}

impl VersionRow {
    fn of(version: &AgentVersion) -> Self {
        let AgentVersion { name, version, created_at, author } = version;
        let created_at = prost_types::Timestamp::from(*created_at).to_string();
        Self { name: name.clone(), version: *version, created_at, author: author.clone() }
    }
}
