//! The calls of all runs that wait for people.
//!
//! # Design
//! **One watcher for all readers.** It looks at the open runs every two seconds as long as the
//! event stream has a reader; each reader gets the runs that its caller may see, whenever these
//! have changed.
//!
//! **Workers may be down.** The questions of a run whose worker does not answer are read from its
//! history. If that fails too, the event stream keeps the questions that the run had. Otherwise the
//! whole list is an error: a list without these questions would tell an approver that nothing waits.

mod watcher;

use axum::{Extension, Json, extract::State};
use futures::stream::unfold;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub(super) use self::watcher::QuestionWatch;
use super::{
    access::Caller,
    error::ApiError,
    runs,
    service::Service,
    sse::{self, EventStream},
};
use crate::wire::{AgentInterruption, InterruptionKind, McpQuestion};

/// A call that waits for a person.
#[expect(clippy::struct_field_names, reason = "the names are those of the JSON")]
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Question {
    /// Id of the run; absent where the run is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    /// Id to decide by.
    question_id: String,
    /// Name of the agent that made the call.
    agent: String,
    /// Name of the tool.
    tool: String,
    /// The arguments as the model wrote them: JSON text.
    arguments: String,
    /// Kind of answer: a decision, an output, or an input.
    waits_for: InterruptionKind,
    /// Label of the hosted MCP server that requests approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The question of an MCP server, with the schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<AskedValue>,
    /// Time at which the question expires, in milliseconds since the Unix epoch; absent = never.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

/// The value that an MCP server requests.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct AskedValue {
    message: String,
    /// JSON schema of the answer.
    schema: Value,
}

impl Question {
    pub(super) fn of(call: &AgentInterruption) -> Self {
        let asked = call.question.as_ref();
        Self {
            run_id: None,
            question_id: call.id.clone(),
            agent: call.agent.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            waits_for: call.kind,
            server: call.server.clone(),
            question: asked
                .map(|McpQuestion { message, schema }| AskedValue { message: message.clone(), schema: schema.clone() }),
            expires_at: call.expires_at,
        }
    }

    fn of_run(run_id: &str, call: &AgentInterruption) -> Self {
        Self { run_id: Some(run_id.to_owned()), ..Self::of(call) }
    }
}

/// The calls that wait.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct QuestionList {
    questions: Vec<Question>,
}

/// `GET /questions`.
pub(super) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
) -> Result<Json<QuestionList>, ApiError> {
    let may_see = |id: &str| shared.access.may_see(&caller, id);
    let found = runs::open_runs(&shared, may_see).await?;
    let mut questions = Vec::new();
    for run in found {
        questions.extend(run.calls?.iter().map(|call| Question::of_run(&run.id, call)));
    }
    Ok(Json(QuestionList { questions }))
}

/// `GET /questions/events`: the list, whenever it has changed.
pub(super) async fn events(State(shared): Service, Extension(caller): Extension<Caller>) -> EventStream<QuestionList> {
    let watched = QuestionWatch::subscribe(&shared);
    let limits = shared.streams.clone();
    let state = (shared, caller, watched, None, false);
    let events = unfold(state, |(shared, caller, mut watched, mut latest, mut has_failed)| async move {
        loop {
            match watched.next().await? {
                Ok(all) => {
                    let is_visible = |question: &&Question| {
                        question.run_id.as_deref().is_some_and(|id| shared.access.may_see(&caller, id))
                    };
                    let questions: Vec<Question> = all.iter().filter(is_visible).cloned().collect();
                    if latest.as_ref() != Some(&questions) {
                        let list = QuestionList { questions: questions.clone() };
                        latest = Some(questions);
                        return Some((sse::sent(sse::data(&list)), (shared, caller, watched, latest, has_failed)));
                    }
                }
                // Later the server is unavailable for a while, and the list stays.
                Err(error) if latest.is_none() && !has_failed => {
                    has_failed = true;
                    return Some((sse::failed(&error), (shared, caller, watched, latest, has_failed)));
                }
                Err(_) => {}
            }
        }
    });
    EventStream::new(&limits, events, sse::cut)
}
