//! The calls of all runs that wait for people.
//!
//! # Design
//! **Questions come from records, never from workers:** the memos of workflows, which the server's
//! list contains, the rows of tasks, and the store of the questions of sessions. So they are there
//! while workers are down, and a look costs a few requests, however many runs wait.
//!
//! **Unknown is not none.** A run whose record cannot be read, or has no room for all questions, is
//! asked itself (`runs/recorded.rs`). If that fails too, the list says that it is not complete:
//! without it an approver would believe that nothing waits.
//!
//! **One watcher for all readers.** It looks at the open runs every second as long as the event
//! stream has a reader; each reader gets the questions that its caller may see, whenever these have
//! changed.

mod stored;
mod watcher;

use axum::{
    Extension, Json,
    extract::{Query, State},
};
use futures::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::wire::{AgentInterruption, InterruptionKind, McpQuestion, asked_questions::PendingQuestion};

use self::stored::{StoredPlace, stored_questions};
pub(super) use self::{stored::answer_stored, watcher::QuestionWatch};
use super::{
    access::Caller,
    error::ApiError,
    runs::{self, OpenQuestions, Row},
    service::{Service, Shared},
    sse::{self, EventStream},
};

/// Number of runs whose questions a list has, by default and at most.
const MAX_RUNS: usize = 500;
/// Number of runs whose worker or history is asked at the same time.
const MAX_QUERIES: usize = 16;
/// Number of runs that are named, if their questions cannot be read.
const MAX_NAMED: usize = 5;

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
    /// `true` if the arguments, or the question of an MCP server, are not here in full: `GET
    /// /runs/{id}` has them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
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
        let AgentInterruption { id, agent, tool, arguments, server, kind, question, expires_at } = call.clone();
        let question = question.map(AskedValue::from);
        let (question_id, waits_for) = (id, kind);
        let (run_id, is_cut) = (None, false);
        Self { run_id, question_id, agent, tool, arguments, is_cut, waits_for, server, question, expires_at }
    }

    /// Returns a question in the record of a run.
    pub(super) fn of_record(recorded: PendingQuestion) -> Self {
        let PendingQuestion { id, agent, tool, arguments, is_cut, server, kind, question, expires_at } = recorded;
        let question = question.map(AskedValue::from);
        let (run_id, question_id, waits_for) = (None, id, kind);
        Self { run_id, question_id, agent, tool, arguments, is_cut, waits_for, server, question, expires_at }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn in_run(self, run_id: &str) -> Self {
        Self { run_id: Some(run_id.to_owned()), ..self }
    }
}

impl From<McpQuestion> for AskedValue {
    fn from(McpQuestion { message, schema }: McpQuestion) -> Self {
        Self { message, schema }
    }
}

/// The query of `GET /questions`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct QuestionQuery {
    /// Maximum number of runs whose questions are listed: 500 by default, and at most.
    limit: Option<usize>,
    /// The `next` of the page before.
    after: Option<String>,
}

/// The calls that wait.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct QuestionList {
    questions: Vec<Question>,
    /// Cursor of the next page, which may have no questions; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// `false` if questions are missing that neither this page nor a later one has.
    complete: bool,
    /// The reason why questions are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The open questions of a run, as far as they are known.
#[derive(Clone, Debug, PartialEq)]
struct RunQuestions {
    run_id: String,
    questions: Vec<Question>,
    /// `true` if the run may have more.
    is_incomplete: bool,
}

/// A place in the list of questions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct QuestionPlace {
    /// The place in the store of questions; absent after its end.
    stored: Option<StoredPlace>,
    /// The place among the runs; absent after their end.
    runs: Option<runs::Place>,
}

impl QuestionPlace {
    fn begin() -> Self {
        Self { stored: Some(StoredPlace::default()), runs: Some(runs::Place::default()) }
    }

    fn is_end(&self) -> bool {
        self.stored.is_none() && self.runs.is_none()
    }
}

impl QuestionList {
    /// Returns the questions of these runs.
    fn new(found: Vec<RunQuestions>, next: Option<String>) -> Self {
        let missing: Vec<&str> =
            found.iter().filter(|run| run.is_incomplete).map(|run| &*run.run_id).take(MAX_NAMED + 1).collect();
        let reason = (!missing.is_empty()).then(|| {
            let more = if missing.len() > MAX_NAMED { " and others" } else { "" };
            let named = missing[..missing.len().min(MAX_NAMED)].join(", ");
            format!("questions of these runs cannot be read, and no worker answers: {named}{more}")
        });
        let complete = reason.is_none();
        let questions = found.into_iter().flat_map(|run| run.questions).collect();
        Self { questions, next, complete, reason }
    }
}

/// `GET /questions`.
pub(super) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Query(QuestionQuery { limit, after }): Query<QuestionQuery>,
) -> Result<Json<QuestionList>, ApiError> {
    let may_see = |id: &str| shared.access.may_see(&caller, id);
    let place = after.map(|after| runs::decoded(&after)).transpose()?.unwrap_or_else(QuestionPlace::begin);
    let limit = runs::page_limit(limit, MAX_RUNS);
    let (mut found, rows, next) = page(&shared, &may_see, place, limit).await?;
    let asked = stream::iter(rows).map(|row| async {
        let asked = runs::listed_questions(&shared, &row).await;
        RunQuestions::new(row.id, asked.ok())
    });
    found.extend(asked.buffered(MAX_QUERIES).collect::<Vec<_>>().await);
    let next = (!next.is_end()).then(|| runs::encoded(&next));
    Ok(Json(QuestionList::new(found, next)))
}

/// Returns the questions of the store and the runs that wait, after a place, at most this many; and
/// the place after them.
///
/// # Errors
/// 502 if the server or a store refuses.
async fn page(
    shared: &Shared,
    may_see: &(dyn Fn(&str) -> bool + Sync),
    place: QuestionPlace,
    limit: usize,
) -> Result<(Vec<RunQuestions>, Vec<Row>, QuestionPlace), ApiError> {
    let QuestionPlace { stored, runs } = place;
    let (found, stored) = match stored {
        Some(place) => stored_questions(shared, may_see, place, limit).await?,
        None => (Vec::new(), None),
    };
    let left = limit - found.len();
    let runs::Page { rows, next } = match runs {
        Some(place) if left > 0 => Box::pin(runs::page(shared, &runs::Filter::waiting(may_see), place, left)).await?,
        next => runs::Page { rows: Vec::new(), next },
    };
    Ok((found, rows, QuestionPlace { stored, runs: next }))
}

impl RunQuestions {
    /// Returns the questions of a run; `None` if they cannot be read.
    fn new(run_id: String, asked: Option<OpenQuestions>) -> Self {
        let is_incomplete = asked.as_ref().is_none_or(|asked| asked.has_more);
        let questions = asked.into_iter().flat_map(|asked| asked.questions);
        let questions = questions.map(|question| question.in_run(&run_id)).collect();
        Self { run_id, questions, is_incomplete }
    }
}

/// `GET /questions/events`: the list, whenever it has changed.
pub(super) async fn events(State(shared): Service, Extension(caller): Extension<Caller>) -> EventStream<QuestionList> {
    let watched = QuestionWatch::subscribe(&shared);
    let limits = shared.streams.clone();
    let state = (shared, caller, watched, None, false);
    let events = stream::unfold(state, |(shared, caller, mut watched, mut latest, mut has_failed)| async move {
        loop {
            match watched.next().await? {
                Ok(all) => {
                    let is_visible = |run: &&RunQuestions| shared.access.may_see(&caller, &run.run_id);
                    let list = first_questions(all.iter().filter(is_visible), all.is_cut);
                    if latest.as_ref() != Some(&list) {
                        let event = sse::sent(sse::data(&list));
                        latest = Some(list);
                        return Some((event, (shared, caller, watched, latest, has_failed)));
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

/// Returns the questions of the first runs. An event has no cursor: `GET /questions` has the others.
fn first_questions<'q>(runs: impl Iterator<Item = &'q RunQuestions>, is_cut: bool) -> QuestionList {
    let mut found: Vec<RunQuestions> = runs.take(MAX_RUNS + 1).cloned().collect();
    let has_more = found.len() > MAX_RUNS || is_cut;
    found.truncate(MAX_RUNS);
    let mut list = QuestionList::new(found, None);
    if has_more {
        list.complete = false;
        list.reason.get_or_insert_with(|| {
            format!("these are the questions of the first {MAX_RUNS} runs; GET /questions has all, in pages")
        });
    }
    list
}
