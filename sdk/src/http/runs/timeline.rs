//! `GET /runs/{id}/timeline.svg`.
//!
//! A picture takes some ten times the memory of the history that it shows while it is drawn, so the
//! service draws few at the same time.
//!
//! The history of a workflow has more than its facts: queues, attempts, sessions. A run without a
//! history, or with one that this process cannot decode, is drawn from its facts.

use axum::{
    Extension,
    extract::{Path, State},
    http::StatusCode,
};
use futures::StreamExt;
use temporal_agents_core::wire::{RunEvent, RunMode};
use tokio::time::timeout;

use super::{
    read::{QUIET, events_of, seen},
    row::Row,
};
use crate::{
    client::transcript::{FactTimeline, Transcript, TranscriptError},
    http::{
        access::Caller,
        error::ApiError,
        service::{Service, Shared},
        svg::Svg,
    },
};

/// Maximum number of executions of a workflow that are read at once: the latest ones.
const MAX_EXECUTIONS: usize = 16;

/// `GET /runs/{id}/timeline.svg`: the calls and waits of a run up to now.
pub(in crate::http) async fn timeline(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Svg, ApiError> {
    let row = seen(&shared, &caller, &id).await?;
    // Never closed: the service lives as long as its requests.
    let _turn = shared.timelines.acquire().await.map_err(ApiError::server)?;
    let image = match of_history(&shared, &row).await? {
        Some(image) => Some(image),
        None => of_facts(&shared, &row).await?,
    };
    image.map(Svg).ok_or_else(|| {
        let message = format!("run {id:?} has no timeline: it has not called a model yet");
        ApiError::new(StatusCode::NOT_FOUND, "no_timeline", message)
    })
}

/// Returns the image of a workflow whose history the server has; `None` if it is of no use.
async fn of_history(shared: &Shared, row: &Row) -> Result<Option<String>, ApiError> {
    let chain = executions(shared, row).await?.filter(|chain| chain.iter().any(|execution| !execution.runs.is_empty()));
    Ok(chain.map(|chain| Transcript::chain_to_svg(&chain)))
}

/// Returns the image of the facts so far; `None` if they have no call.
async fn of_facts(shared: &Shared, row: &Row) -> Result<Option<String>, ApiError> {
    let mut drawn = FactTimeline::new(format!("run {}", row.id));
    observe_facts(shared, row, |event| drawn.observe(event)).await?;
    Ok(drawn.has_calls().then(|| drawn.into_svg(row.is_open())))
}

/// Returns the latest executions of a workflow, oldest first; `None` for a run without a history
/// that this process can read.
///
/// # Errors
/// 502 if the server refuses.
pub(super) async fn executions(shared: &Shared, row: &Row) -> Result<Option<Vec<Transcript>>, ApiError> {
    if row.mode != RunMode::Temporal || row.stored.is_some() {
        return Ok(None);
    }
    let client = &shared.workflows()?.client;
    match Transcript::latest_of_chain(client, &row.id, MAX_EXECUTIONS).await {
        Ok(chain) => Ok(Some(chain)),
        Err(TranscriptError::Server(error)) => Err(ApiError::server(error)),
        Err(error) => {
            tracing::debug!(%error, run = row.id, "the run is read from its facts");
            Ok(None)
        }
    }
}

/// Observes the facts of a run up to now.
///
/// # Errors
/// 502 if the server or the database refuses.
pub(super) async fn observe_facts(
    shared: &Shared,
    row: &Row,
    mut observe: impl FnMut(&RunEvent),
) -> Result<(), ApiError> {
    let mut facts = events_of(shared, row, None, false).await?;
    loop {
        // A run that has not ended is read to its present end when no further fact comes at once.
        let next = if row.is_open() { timeout(QUIET, facts.next()).await } else { Ok(facts.next().await) };
        match next {
            Ok(Some(Ok(event))) => observe(&event),
            Ok(Some(Err(error))) => return Err(error),
            Ok(None) | Err(_) => return Ok(()),
        }
    }
}
