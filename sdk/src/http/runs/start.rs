//! `POST /runs`.

use std::collections::BTreeMap;

use axum::{Extension, Json, extract::State, http::StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::read::{Found, find};
use crate::{
    client::NewRun,
    http::{access::Caller, agents, error::ApiError, service::Service, thread::check_id},
    wire::{AgentRequest, ChatRequest, RequestInput, SpecRef},
};

/// Maximum number of labels, and of bytes in each.
const MAX_LABELS: usize = 16;
const MAX_LABEL_BYTES: usize = 256;

/// The body of `POST /runs`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct NewRunBody {
    /// Name of an agent in the code; absent with a `spec`.
    #[serde(default)]
    agent: Option<String>,
    /// An agent as data; without a version, the newest one now.
    #[serde(default)]
    spec: Option<SpecRef>,
    /// A string, or a list of items.
    #[serde(default)]
    input: Option<RequestInput>,
    /// Id of the run; a run that exists with this id is not started again.
    #[serde(default)]
    id: Option<String>,
    /// Id of a stored conversation, which the run continues.
    #[serde(default)]
    thread: Option<String>,
    /// Starts a chat, which takes messages; without an input.
    #[serde(default)]
    chat: bool,
    #[serde(default)]
    context: Map<String, Value>,
    #[serde(default)]
    max_turns: Option<u32>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

/// The agent of a new run.
enum Agent {
    Code(String),
    Spec(SpecRef),
}

/// Starts a run or a chat.
pub(in crate::http) async fn start(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Json(body): Json<NewRunBody>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let agent = match (body.agent, body.spec) {
        (Some(agent), None) => {
            shared.startable(&caller, &agent)?;
            Agent::Code(agent)
        }
        (None, Some(spec)) => Agent::Spec(agents::startable(&shared, &caller, spec).await?),
        _ => return Err(ApiError::invalid("name one agent: \"agent\", or \"spec\" for an agent as data")),
    };
    if let Some(id) = &body.id {
        check_id("run", id)?;
        if !shared.access.may_see(&caller, id) || !shared.access.may_decide(&caller, id) {
            return Err(ApiError::forbidden("start a run with this id"));
        }
        if let Found::Foreign = find(&shared, id).await? {
            return Err(ApiError::other_run(id));
        }
    }
    if let Some(thread) = &body.thread {
        check_id("thread", thread)?;
        if !shared.access.may_use_thread(&caller, thread) {
            return Err(ApiError::forbidden("use this thread"));
        }
    }
    let id = body.id;
    check_labels(&body.labels)?;
    let mut run = if body.chat {
        let is_plain = body.thread.is_none() && body.context.is_empty() && body.max_turns.is_none();
        if body.input.is_some() || !is_plain {
            let message = "a chat begins without \"input\", \"thread\", \"context\" and \"max_turns\"; send its \
                           messages to POST /runs/{id}/messages";
            return Err(ApiError::invalid(message));
        }
        NewRun::chat(match agent {
            Agent::Code(agent) => ChatRequest::new(agent),
            Agent::Spec(spec) => ChatRequest::of_spec(spec),
        })
    } else {
        let Some(input) = body.input else {
            return Err(ApiError::invalid("the run has no \"input\": send a string, or a list of items"));
        };
        let mut request = match agent {
            Agent::Code(agent) => AgentRequest::new(agent, ""),
            Agent::Spec(spec) => AgentRequest::of_spec(spec, ""),
        };
        (request.input, request.context, request.max_turns) = (input, body.context, body.max_turns);
        request.thread = body.thread;
        NewRun::new(request)
    };
    if let Some(id) = id {
        run = run.id(id);
    }
    for (name, value) in body.labels {
        run = run.label(name, value);
    }
    let id = shared.runs.start_run(run).await?;
    Ok((StatusCode::CREATED, Json(json!({"id": id}))))
}

fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), ApiError> {
    let is_long = |(name, value): (&String, &String)| name.len().max(value.len()) > MAX_LABEL_BYTES;
    if labels.len() > MAX_LABELS || labels.iter().any(is_long) {
        let message = format!("a run has at most {MAX_LABELS} labels of {MAX_LABEL_BYTES} bytes each");
        return Err(ApiError::invalid(message));
    }
    Ok(())
}
