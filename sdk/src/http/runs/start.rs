//! `POST /runs`.

use std::collections::BTreeMap;

use axum::{Extension, Json, extract::State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    client::{IdConflict, NewRun, TypedAttribute},
    http::{access::Caller, error::ApiError, openapi::Created, service::Service, thread::check_id},
    wire::{AgentRequest, ChatRequest, RequestInput},
};

/// The body of `POST /runs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewRunBody {
    agent: String,
    /// A string, or a list of items.
    #[serde(default)]
    input: Option<RequestInput>,
    /// Id of the run; a run that exists with this id is not started again.
    #[serde(default)]
    id: Option<String>,
    /// Starts a chat, which takes messages; without an input.
    #[serde(default)]
    chat: bool,
    #[serde(default)]
    context: Map<String, Value>,
    #[serde(default)]
    max_turns: Option<u32>,
    /// Shown in lists of runs.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// The effect of an id that a run has already.
    #[serde(default)]
    id_conflict: IdConflict,
    /// Values of the workflow's memo.
    #[serde(default)]
    memo: Map<String, Value>,
    /// Search attributes of the workflow, each with its type.
    #[serde(default)]
    search_attributes: BTreeMap<String, TypedAttribute>,
    /// Summary of the workflow: one line.
    #[serde(default)]
    summary: Option<String>,
}

/// The answer to a run that was started, or that exists.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct Started {
    /// Id of the run, which is its workflow's.
    id: String,
}

/// Starts a run or a chat.
pub(in crate::http) async fn start(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Json(body): Json<NewRunBody>,
) -> Result<Created<Started>, ApiError> {
    shared.startable(&caller, &body.agent)?;
    if let Some(id) = &body.id {
        check_id("run", id)?;
        if !shared.access.may_see(&caller, id) || !shared.access.may_decide(&caller, id) {
            return Err(ApiError::forbidden("start a run with this id"));
        }
    }
    let id = body.id;
    let mut run = if body.chat {
        if body.input.is_some() || !body.context.is_empty() || body.max_turns.is_some() {
            let message = "a chat begins without \"input\", \"context\" and \"max_turns\"; send its messages to \
                           POST /runs/{id}/messages";
            return Err(ApiError::invalid(message));
        }
        NewRun::chat(ChatRequest::new(body.agent))
    } else {
        let Some(input) = body.input else {
            return Err(ApiError::invalid("the run has no \"input\": send a string, or a list of items"));
        };
        let mut request = AgentRequest::new(body.agent, "");
        (request.input, request.context, request.max_turns) = (input, body.context, body.max_turns);
        NewRun::new(request)
    };
    run = run.id_conflict(body.id_conflict);
    if let Some(id) = id {
        run = run.id(id);
    }
    if let Some(summary) = body.summary {
        run = run.summary(summary);
    }
    for (key, value) in body.memo {
        run = run.memo(key, value);
    }
    for (name, value) in &body.search_attributes {
        run = run.typed_attribute(name.clone(), value);
    }
    for (name, value) in body.labels {
        run = run.label(name, value);
    }
    let id = shared.runs.start_run(run).await?;
    Ok(Created(Started { id }))
}
