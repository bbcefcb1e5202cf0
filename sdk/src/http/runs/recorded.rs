//! The open questions of a run: as its record has them, and in full.
//!
//! # Design
//! **The record is exact, and small** (`wire/asked_questions.rs`): the memo of a workflow, the row of
//! a task. A list needs nothing else. Only for a question that the record has no room for, and for a
//! record that this process cannot read, a worker or the history of the run is asked, in this order.
//!
//! **Unknown is not none.** What cannot be found out is an error, or is said beside the list.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use temporal_agents_core::wire::asked_questions::{AskedQuestions, QUESTIONS_MEMO};
use temporalio_client::Memo;
use temporalio_common::protos::temporal::api::workflow::v1::WorkflowExecutionInfo;
use tokio::time::{Instant, timeout};

use super::{asked::AskedInHistory, read::QUIET, row::Row};
use crate::{
    client::{RunEventsError, TaskQuestions},
    http::{error::ApiError, questions::Question, service::Shared},
};

/// Time in which a worker must answer the query for the state of a run.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Time in which the history of a run that waits must be read.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(20);

/// The open questions in the record of a run.
#[derive(Clone, Debug)]
pub(in crate::http) enum Recorded {
    /// All of them.
    All(Vec<Question>),
    /// Those that the record has room for.
    Part(Vec<Question>),
    /// The record cannot be read.
    Unreadable,
}

/// The open questions of a run, as far as they can be found out.
#[derive(Clone, Debug)]
pub(in crate::http) struct OpenQuestions {
    pub(in crate::http) questions: Vec<Question>,
    /// `true` if there are more.
    pub(in crate::http) has_more: bool,
}

impl Recorded {
    /// Returns the questions in the memo of a workflow that has not ended.
    pub(super) fn of_memo(memo: &Memo) -> Self {
        match memo.get::<AskedQuestions>(QUESTIONS_MEMO) {
            Ok(None) => Self::All(Vec::new()),
            Ok(Some(asked)) => Self::of(asked),
            Err(_) => Self::Unreadable,
        }
    }

    /// Returns the questions in the row of a task.
    pub(super) fn of_task(questions: TaskQuestions) -> Self {
        match questions {
            TaskQuestions::InFull(calls) => Self::All(calls.iter().map(Question::of).collect()),
            TaskQuestions::Recorded(None) => Self::All(Vec::new()),
            TaskQuestions::Recorded(Some(asked)) => Self::of(*asked),
            TaskQuestions::Unreadable => Self::Unreadable,
        }
    }

    fn of(asked: AskedQuestions) -> Self {
        let is_part = asked.left_out > 0 && !asked.without_inbox;
        let questions = asked.open().into_iter().map(Question::of_record).collect();
        if is_part { Self::Part(questions) } else { Self::All(questions) }
    }

    /// Returns `true` if the run waits for people, as far as the record can be read.
    pub(super) fn waits(&self) -> bool {
        match self {
            Self::All(questions) => !questions.is_empty(),
            Self::Part(_) => true,
            Self::Unreadable => false,
        }
    }

    /// Returns `true` if the run may wait for people.
    pub(super) fn may_wait(&self) -> bool {
        self.waits() || matches!(self, Self::Unreadable)
    }
}

/// Returns a digest of the record in the memo of a workflow: another digest means other questions.
pub(super) fn digest(info: &WorkflowExecutionInfo) -> u64 {
    let mut hasher = DefaultHasher::new();
    let payload = info.memo.as_ref().and_then(|memo| memo.fields.get(QUESTIONS_MEMO));
    payload.map(|payload| &payload.data).hash(&mut hasher);
    hasher.finish()
}

/// Returns the open questions of a run for a list: long arguments may be cut.
///
/// # Errors
/// The record cannot be read, no worker answers, and neither can the history be read.
pub(in crate::http) async fn listed_questions(shared: &Shared, row: &Row) -> Result<OpenQuestions, ApiError> {
    let recorded = match &row.recorded {
        Recorded::All(questions) => return Ok(OpenQuestions { questions: questions.clone(), has_more: false }),
        Recorded::Part(questions) => Some(questions),
        Recorded::Unreadable => None,
    };
    if let Some(questions) = of_worker(shared, row).await {
        return Ok(OpenQuestions { questions, has_more: false });
    }
    match recorded {
        // The history has the same record.
        Some(questions) => Ok(OpenQuestions { questions: questions.clone(), has_more: true }),
        None => Ok(OpenQuestions { questions: of_history(shared, row).await?, has_more: false }),
    }
}

/// Returns the open questions of a run, in full if a worker answers.
///
/// # Errors
/// Those of [`listed_questions`].
pub(super) async fn all_questions(shared: &Shared, row: &Row) -> Result<OpenQuestions, ApiError> {
    if let Recorded::All(questions) = &row.recorded
        && questions.iter().any(Question::is_cut)
    {
        let in_full = of_worker(shared, row).await;
        return Ok(OpenQuestions { questions: in_full.unwrap_or_else(|| questions.clone()), has_more: false });
    }
    listed_questions(shared, row).await
}

/// Returns the questions in the state of a run; `None` if no worker answers.
async fn of_worker(shared: &Shared, row: &Row) -> Option<Vec<Question>> {
    let state = timeout(QUERY_TIMEOUT, shared.state(row.mode, &row.id)).await.ok()?.ok()?;
    Some(state?.interruptions.iter().map(Question::of).collect())
}

/// Returns the questions that are open according to the history, whose arguments may be cut.
async fn of_history(shared: &Shared, row: &Row) -> Result<Vec<Question>, ApiError> {
    let mut events = shared.watch(row.mode, &row.id, None, false)?;
    let mut asked = AskedInHistory::default();
    let deadline = Instant::now() + HISTORY_TIMEOUT;
    // The history is read to its present end when no further fact comes at once.
    while let Ok(Some(event)) = timeout(QUIET, events.next()).await {
        if Instant::now() > deadline {
            // Facts keep coming: a worker is at work.
            return Err(ApiError::no_worker());
        }
        match event {
            Ok(event) if event.is_opaque => return Err(ApiError::server("a history cannot be decoded")),
            Ok(event) => asked.observe(&event),
            // The run has ended, and is deleted.
            Err(RunEventsError::NotFound { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(asked.open().iter().map(Question::of).collect())
}
