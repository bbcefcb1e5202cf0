//! `/kept-decisions`: the decisions that hold for the caller's later runs.
//!
//! | path | content |
//! |---|---|
//! | `GET /kept-decisions` | the caller's own decisions, the newest first |
//! | `DELETE /kept-decisions/{id}` | forgets one of them, for runs that begin later |
//!
//! # Design
//! **Only the caller's own.** A run that is started here has the caller's name as its user, for
//! whom its decisions are kept; so the name is the whole permission. A caller without a name has
//! none.
//!
//! **The id says what the decision is about.** It is the digest of agent, tool, place and
//! arguments: a newer decision about the same calls has the same id.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::StatusCode,
};
use schemars::JsonSchema;
use serde::Serialize;
use temporal_agents_core::wire::{Decision, kept_decision::KeptDecision};

use super::{
    access::Caller,
    error::ApiError,
    service::{Service, Shared},
};
use crate::store::{DecisionStore, StoredDecision};

/// Most decisions in the list; of more, the newest. One that is forgotten makes room for an older.
const MAX_ROWS: u32 = 1_000;

/// A decision that holds for later runs of the caller.
#[derive(Debug, Serialize, JsonSchema)]
struct KeptRow {
    /// Id to forget it by.
    id: String,
    /// Name of the agent that makes the calls.
    agent: String,
    /// Name of the tool.
    tool: String,
    /// Name of the device, toolset or MCP server that has the tool, or `hosted:` and the label of
    /// an MCP server that the provider calls; absent = the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// The arguments of the call that was decided: JSON text of at most 4 KiB.
    arguments: String,
    /// `true` if the decision is only about calls with these arguments.
    same_arguments: bool,
    /// `true` if the calls are made without a question.
    approved: bool,
    /// Output that the model gets for a call that is not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Name of the person who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// RFC 3339, UTC.
    kept_at: String,
}

impl KeptRow {
    fn of(stored: StoredDecision) -> Self {
        let StoredDecision { decision: kept, arguments, kept_at } = stored;
        let id = id(&kept);
        let KeptDecision { agent, tool, place, arguments: digest, decision } = kept;
        let Decision { approve, message, supplied: _, arguments: _, by } = decision;
        Self {
            id,
            agent,
            tool,
            place: Some(place).filter(|place| !place.is_empty()),
            arguments,
            same_arguments: digest.is_some(),
            approved: approve,
            message,
            by,
            kept_at: prost_types::Timestamp::from(kept_at).to_string(),
        }
    }
}

/// The decisions of the caller, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct KeptList {
    decisions: Vec<KeptRow>,
}

/// `GET /kept-decisions`.
pub(super) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
) -> Result<Json<KeptList>, ApiError> {
    let found = of_caller(&**store(&shared)?, &caller).await?;
    Ok(Json(KeptList { decisions: found.into_iter().map(KeptRow::of).collect() }))
}

/// The answer to a request to forget.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Forgotten {
    /// `false` if the caller has no such decision, for example because the request was sent before.
    forgotten: bool,
}

/// `DELETE /kept-decisions/{id}`. Runs that have begun continue to apply the decision.
pub(super) async fn forget(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(wanted): Path<String>,
) -> Result<Json<Forgotten>, ApiError> {
    let store = store(&shared)?;
    let found = of_caller(&**store, &caller).await?.into_iter().find(|stored| id(&stored.decision) == wanted);
    let (Some(user), Some(found)) = (&caller.name, found) else { return Ok(Json(Forgotten { forgotten: false })) };
    let forgotten = store.forget(user, &found.decision).await.map_err(unavailable)?;
    Ok(Json(Forgotten { forgotten }))
}

async fn of_caller(store: &dyn DecisionStore, caller: &Caller) -> Result<Vec<StoredDecision>, ApiError> {
    let Some(user) = &caller.name else { return Ok(Vec::new()) };
    store.decisions(user, MAX_ROWS).await.map_err(unavailable)
}

fn id(decision: &KeptDecision) -> String {
    decision.subject().to_string()
}

/// Returns the store of decisions.
///
/// # Errors
/// 404 if the service has none.
fn store(shared: &Shared) -> Result<&Arc<dyn DecisionStore>, ApiError> {
    let message = "this service keeps no decisions; AgentsService::decision_store sets their store";
    shared.decisions.0.as_ref().ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, "no_decision_store", message))
}

fn unavailable(source: impl std::fmt::Display) -> ApiError {
    tracing::warn!(error = %source, "the store of decisions has failed");
    let message = "the store of decisions is unavailable; send the same request again";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "decision_store_unavailable", message)
}
