//! `POST /runs`.

use std::collections::BTreeMap;

use axum::{Extension, Json, extract::State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use temporal_agents_core::wire::{AgentRequest, ChatRequest, RequestInput, RunMode, SpecRef};
use uuid::Uuid;

use crate::{
    client::{IdConflict, NewRun, TypedAttribute},
    http::{
        access::Caller, agents, error::ApiError, openapi::Created, runs::RunStore, service::Service, thread::check_id,
    },
};

/// The body of `POST /runs`.
#[derive(Debug, Deserialize, JsonSchema)]
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
    /// Place of the run; by default that of the service.
    #[serde(default)]
    mode: Option<RunMode>,
    /// Id of a stored conversation, which the run or the chat continues.
    #[serde(default)]
    thread: Option<String>,
    /// Names of toolsets and devices whose tools the agents have beside their own; devices of the
    /// caller.
    #[serde(default)]
    toolsets: Vec<String>,
    /// `true` if nobody answers for the content of the run.
    #[serde(default)]
    untrusted: bool,
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
    /// Details of the workflow: Markdown of at most 8 KiB.
    #[serde(default)]
    details: Option<String>,
}

/// The answer to a run that was started, or that exists.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct Started {
    /// Id of the run, which is its workflow's.
    id: String,
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
) -> Result<Created<Started>, ApiError> {
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
    }
    if let Some(thread) = &body.thread {
        check_id("thread", thread)?;
        if !shared.access.may_use_thread(&caller, thread) {
            return Err(ApiError::forbidden("use this thread"));
        }
    }
    let mut id = body.id;
    let mut run = if body.chat {
        if body.input.is_some() || !body.context.is_empty() || body.max_turns.is_some() {
            let message = "a chat begins without \"input\", \"context\" and \"max_turns\"; send its messages to POST \
                           /runs/{id}/messages";
            return Err(ApiError::invalid(message));
        }
        let mut request = match agent {
            Agent::Code(agent) => ChatRequest::new(agent),
            Agent::Spec(spec) => ChatRequest::of_spec(spec),
        };
        request.thread = body.thread;
        if request.thread.is_none() && shared.keeps_chats {
            let id = id.get_or_insert_with(|| Uuid::new_v4().to_string());
            request.thread = shared.chat_thread(&caller, id)?;
        }
        (request.toolsets, request.untrusted, request.user) = (body.toolsets, body.untrusted, caller.name);
        NewRun::chat(request)
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
        (request.toolsets, request.untrusted, request.user) = (body.toolsets, body.untrusted, caller.name);
        NewRun::new(request)
    };
    run = run.id_conflict(body.id_conflict);
    if let Some(mode) = body.mode {
        run = run.mode(mode);
    }
    if let Some(id) = id {
        run = run.id(id);
    }
    if let Some(summary) = body.summary {
        run = run.summary(summary);
    }
    if let Some(details) = body.details {
        run = run.details(details);
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
    let described = RunStore::describe(&run);
    let id = match shared.runs.start_run(run).await {
        Ok(id) => {
            shared.run_store.record_start(&shared, &id).await;
            id
        }
        Err(error) => {
            // The answer has the error, and so has the run for those who look for it later.
            shared.run_store.record_failed_start(&shared, described, &error).await;
            return Err(error.into());
        }
    };
    Ok(Created(Started { id }))
}
