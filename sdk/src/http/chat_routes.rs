//! The paths of the AI SDK: `POST /chat/{agent}` sends a message, or the decisions in the latest
//! one; `GET /chat/{agent}/{chat}/stream` returns to a stream after a lost connection.

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
    http::HeaderName,
    response::sse::Event,
};
use futures::stream::{self, StreamExt};
use schemars::JsonSchema;
use serde::Deserialize;
use temporal_agents_core::wire::{AgentDecision, AgentState, SuppliedOutput};
use uuid::Uuid;

use super::{
    access::Caller,
    ai_sdk::{
        chunk::Chunk,
        mapper::{AiSdkMapper, Version},
        request::{ChatPost, Trigger},
    },
    answers::Answer,
    error::ApiError,
    openapi::StreamIfAny,
    service::{Service, Shared},
    sse::{self, Cut, EventStream},
    thread::Thread,
    turn::{self, Turn, TurnStep},
};

/// The header that says which form the stream has.
const STREAM_HEADER: (HeaderName, &str) = (HeaderName::from_static("x-vercel-ai-ui-message-stream"), "v1");

/// The query of both paths.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct StreamQuery {
    /// Major version of the package `ai`: 6 by default, or 7.
    #[serde(default = "six")]
    v: u32,
    /// `true` sends a message only when it is complete; for clients of version 6, which cannot take
    /// back the text of an attempt that has failed.
    #[serde(default)]
    whole: bool,
}

fn six() -> u32 {
    6
}

impl StreamQuery {
    fn version(&self) -> Result<Version, ApiError> {
        match (self.v, self.whole) {
            (6, false) => Ok(Version::V6),
            (6, true) => Ok(Version::V6Whole),
            (7, _) => Ok(Version::V7),
            (other, _) => Err(ApiError::invalid(format!("v={other} is not supported; send v=6 or v=7"))),
        }
    }
}

/// `POST /chat/{agent}`.
pub(super) async fn send(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(agent): Path<String>,
    Query(query): Query<StreamQuery>,
    Json(post): Json<ChatPost>,
) -> Result<EventStream<Chunk>, ApiError> {
    let version = query.version()?;
    let thread = Thread::find(&shared, &caller, &agent, &post.id).await?;
    let answers = answers(&thread, &post).await?;
    if !answers.is_empty() {
        // The same answers are the same updates, whoever sends them again.
        let continued = post.continues_assistant().unwrap_or_default();
        let turn = thread.answer(&format!("answers-{continued}"), answers).await?;
        let message_id = post.continues_assistant().unwrap_or_else(|| Uuid::new_v4().to_string());
        let mapper = AiSdkMapper::new(message_id, version).continuing(post.call_ids());
        return Ok(respond(&shared, mapper, turn));
    }
    let Some((message_id, text)) = post.last_user_message() else {
        return Err(ApiError::invalid("the request has neither a message of the user nor an answer to a call"));
    };
    // Another answer to the same message is another message of the chat.
    let is_new = message_id.is_empty() || post.trigger == Trigger::RegenerateMessage;
    let message_id = if is_new { Uuid::new_v4().to_string() } else { message_id };
    let turn = thread.send(&message_id, &text, post.toolsets).await?;
    Ok(respond(&shared, AiSdkMapper::new(format!("{message_id}-answer"), version), turn))
}

/// `GET /chat/{agent}/{chat}/stream`; 204 if no message is being answered.
pub(super) async fn resume(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path((agent, chat)): Path<(String, String)>,
    Query(query): Query<StreamQuery>,
) -> Result<StreamIfAny<Chunk>, ApiError> {
    let version = query.version()?;
    let thread = Thread::find(&shared, &caller, &agent, &chat).await?;
    let (transcript, turn) = thread.open().await?;
    let Some(turn) = turn else { return Ok(StreamIfAny(None)) };
    let message_id = transcript.current.and_then(|message| message.id).unwrap_or_default();
    let mapper = AiSdkMapper::new(format!("{message_id}-answer"), version);
    Ok(StreamIfAny(Some(respond(&shared, mapper, turn))))
}

fn respond(shared: &Shared, mut mapper: AiSdkMapper, turn: Turn) -> EventStream<Chunk> {
    let start = mapper.start();
    let rest = stream::unfold((mapper, turn), |(mut mapper, mut turn)| async move {
        if mapper.is_over() {
            return None;
        }
        let step = turn.next().await?;
        let chunks = chunks(&mut mapper, step);
        Some((stream::iter(chunks), (mapper, turn)))
    });
    let chunks = stream::iter(start).chain(rest.flatten()).map(|chunk| sse::data(&chunk));
    let done = stream::iter([Event::default().data("[DONE]")]);
    EventStream::new(&shared.streams, chunks.chain(done).map(sse::sent), last_event).with_header(STREAM_HEADER)
}

/// Returns the end of a stream that was cut. The protocol has no cursor: the page returns to the
/// stream.
fn last_event(cut: Cut, _cursor: Option<String>) -> Event {
    sse::data(&Chunk::Error { error_text: cut.message().to_owned() })
}

/// Returns the chunks of a step.
fn chunks(mapper: &mut AiSdkMapper, step: Result<TurnStep, ApiError>) -> Vec<Chunk> {
    match step {
        Ok(TurnStep::Event(event)) => mapper.event(&event),
        Ok(TurnStep::Problem(problem)) => mapper.problem(problem.as_ref()),
        Ok(TurnStep::Paused(waiting)) => mapper.paused(&waiting),
        Ok(TurnStep::Finished(_)) => mapper.finished(),
        Ok(TurnStep::Reply(text)) => {
            let mut chunks = mapper.event(&turn::message(text));
            chunks.extend(mapper.finished());
            chunks
        }
        Ok(TurnStep::Failed { message, .. }) => mapper.failed(&message),
        Ok(TurnStep::Cancelled) => mapper.cancelled(),
        Err(error) => mapper.failed(error.message()),
    }
}

/// Returns the answers to calls that wait, from the latest message of the agent.
async fn answers(thread: &Thread, post: &ChatPost) -> Result<Vec<Answer>, ApiError> {
    let decisions = post.decisions();
    if post.continues_assistant().is_none() || (decisions.is_empty() && !post.has_outputs()) {
        return Ok(Vec::new());
    }
    let state = thread.state().await?;
    let waiting = state.as_ref().map(AgentState::calls_without_output).unwrap_or_default();
    let mut outputs = post.find_outputs(&waiting);
    // A request without an answer may be one that is sent again. Of several calls with one id, it
    // answers the latest.
    if decisions.is_empty() && outputs.is_empty() {
        let supplied = state.as_ref().map(AgentState::calls_with_output).unwrap_or_default();
        outputs = post.outputs_sent_again(&supplied);
    }
    let decisions = decisions.into_iter().map(|decided| {
        Answer::Decision(match (decided.approved, decided.reason) {
            (true, _) => AgentDecision::approve(decided.approval_id),
            (false, Some(reason)) => AgentDecision::reject_with(decided.approval_id, reason),
            (false, None) => AgentDecision::reject(decided.approval_id),
        })
    });
    let outputs = outputs.into_iter().map(|(id, output)| Answer::Output(SuppliedOutput::new(id, output)));
    Ok(decisions.chain(outputs).collect())
}
