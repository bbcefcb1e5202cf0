//! `GET /runs/{id}/usage`.

use axum::{
    Extension, Json,
    extract::{Path, State},
};
use temporal_agents_core::wire::{EventKind, Usage};

use super::{
    read::seen,
    timeline::{executions, observe_facts},
};
use crate::http::{access::Caller, error::ApiError, service::Service};

/// `GET /runs/{id}/usage`: the tokens and the cost of the model calls of a run up to now, nested
/// runs included; of a workflow that has continued as new often, those of its latest executions.
pub(in crate::http) async fn usage(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Usage>, ApiError> {
    let row = seen(&shared, &caller, &id).await?;
    // Never closed: the service lives as long as its requests.
    let _turn = shared.timelines.acquire().await.map_err(ApiError::server)?;
    let mut sum = Usage::default();
    match executions(&shared, &row).await? {
        Some(chain) => chain.iter().for_each(|execution| sum.add(&execution.usage)),
        None => {
            observe_facts(&shared, &row, |event| {
                if let EventKind::ModelCallAnswered { usage, .. } = &event.kind {
                    sum.add(usage);
                }
            })
            .await?;
        }
    }
    Ok(Json(sum))
}
