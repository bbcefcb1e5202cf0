//! The calls of all runs that wait for people.

use std::{sync::Arc, time::Duration};

use axum::{Extension, Json, extract::State, response::IntoResponse};
use futures::stream::unfold;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    access::Caller,
    error::ApiError,
    runs,
    service::{Service, Shared},
    sse,
};

/// The interval between two looks at the open runs, for readers of the event stream.
const INTERVAL: Duration = Duration::from_secs(2);

/// `GET /questions`.
pub(super) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({"questions": questions(&shared, &caller).await?})))
}

/// `GET /questions/events`: the list, whenever it has changed.
pub(super) async fn events(State(shared): Service, Extension(caller): Extension<Caller>) -> impl IntoResponse {
    sse::respond(unfold((shared, caller, None), |(shared, caller, mut latest)| async move {
        loop {
            if latest.is_some() {
                sleep(INTERVAL).await;
            }
            match questions(&shared, &caller).await {
                Ok(questions) if latest.as_ref() != Some(&questions) => {
                    latest = Some(questions);
                    let event = sse::data(&json!({"questions": latest}));
                    return Some((event, (shared, caller, latest)));
                }
                Err(error) if latest.is_none() => {
                    return Some((sse::failed(&error), (shared, caller, Some(Vec::new()))));
                }
                // Nothing new, or the server is unavailable for a while.
                Ok(_) | Err(_) => {}
            }
        }
    }))
}

async fn questions(shared: &Arc<Shared>, caller: &Caller) -> Result<Vec<Value>, ApiError> {
    let mut questions = Vec::new();
    for (row, calls) in runs::open_runs(shared, caller).await? {
        for call in &calls {
            let mut question = runs::question(call);
            question["run_id"] = json!(row.id);
            questions.push(question);
        }
    }
    Ok(questions)
}
