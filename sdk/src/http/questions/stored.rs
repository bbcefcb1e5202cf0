//! The questions of agentic sessions in a store, which any process decides.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use temporal_agents_core::{
    drive::refusal::refusal,
    tool::BoxError,
    wire::{AgentDecision, ApprovalRuling},
};

use super::{Question, RunQuestions};
use crate::{
    http::{access::Caller, error::ApiError, service::Shared},
    store::StoredQuestion,
};

/// Number of questions that are read together, and maximum number of those that a request looks at.
const PAGE: u32 = 200;
const MAX_SCANNED: usize = 10_000;

/// A place in the store: the latest question that was looked at.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StoredPlace {
    /// Milliseconds since 1970, and the id; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<(u64, String)>,
}

impl StoredPlace {
    fn of(question: &StoredQuestion) -> Self {
        let since = question.asked_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Self { after: Some((millis, question.id.clone())) }
    }

    fn after(&self) -> Option<(SystemTime, &str)> {
        let (millis, id) = self.after.as_ref()?;
        Some((SystemTime::UNIX_EPOCH + Duration::from_millis(*millis), id))
    }
}

/// Returns the open questions after a place, oldest first, at most this many, and the place after
/// them; `None` after the last.
///
/// # Errors
/// 502 if the store fails.
pub(super) async fn stored_questions(
    shared: &Shared,
    may_see: &(dyn Fn(&str) -> bool + Sync),
    mut place: StoredPlace,
    limit: usize,
) -> Result<(Vec<RunQuestions>, Option<StoredPlace>), ApiError> {
    let mut found = Vec::new();
    let Some(store) = &shared.question_store.0 else { return Ok((found, None)) };
    let mut scanned = 0;
    let now = SystemTime::now();
    while scanned < MAX_SCANNED {
        let page = store.open_questions(place.after(), PAGE).await.map_err(unavailable)?;
        let is_last = page.len() < PAGE as usize;
        scanned += page.len();
        for question in page {
            if found.len() == limit {
                return Ok((found, Some(place)));
            }
            place = StoredPlace::of(&question);
            // The session rejects the call, or does not run any more.
            if question.expires_at > now && may_see(&question.workflow_id) {
                found.push(of_stored(question));
            }
        }
        if is_last {
            return Ok((found, None));
        }
    }
    Ok((found, Some(place)))
}

/// Decides a question in the store. Returns `false` if the store has no such question of this
/// workflow.
///
/// # Errors
/// 404 or 403 for a caller who may not see or decide it, 400 for an answer that does not fit the
/// call, 409 if it was decided in another way or has expired, 502 if the store fails.
pub(in crate::http) async fn answer_stored(
    shared: &Shared,
    caller: &Caller,
    run_id: &str,
    mut decision: AgentDecision,
) -> Result<bool, ApiError> {
    let Some(store) = &shared.question_store.0 else { return Ok(false) };
    // The id of a question of a session begins with that of its workflow.
    if !decision.interruption_id.strip_prefix(run_id).is_some_and(|rest| rest.starts_with('/')) {
        return Ok(false);
    }
    let id = decision.interruption_id.clone();
    let question = store.question(&id).await.map_err(unavailable)?;
    let Some(question) = question.filter(|question| question.workflow_id == run_id) else { return Ok(false) };
    if !shared.access.may_see(caller, run_id) {
        return Err(ApiError::no_run(run_id));
    }
    shared.check_may_decide(caller, run_id)?;
    if let Some(reason) = refusal(&question.call, &decision.decision) {
        return Err(ApiError::invalid(reason));
    }
    decision.by = decision.by.or_else(|| caller.name.clone());
    let ruling = ApprovalRuling::from(decision);
    let is_late = question.expires_at <= SystemTime::now();
    if !is_late && store.rule(&id, &ruling).await.map_err(unavailable)? {
        return Ok(true);
    }
    match store.ruling(&id).await.map_err(unavailable)? {
        Some(first) if first == ruling => Ok(true),
        Some(_) => Err(ApiError::conflict(format!("call {id:?} was decided before, in another way"))),
        None => Err(ApiError::conflict(format!("the question about call {id:?} has expired"))),
    }
}

fn of_stored(question: StoredQuestion) -> RunQuestions {
    let StoredQuestion { id, workflow_id, call, asked_at: _, expires_at } = question;
    let expires = expires_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let question = Question {
        question_id: id,
        expires_at: u64::try_from(expires.as_millis()).ok(),
        ..Question::of(&call).in_run(&workflow_id)
    };
    RunQuestions { run_id: workflow_id, questions: vec![question], is_incomplete: false }
}

#[expect(clippy::needless_pass_by_value, reason = "the argument of a closure of map_err")]
fn unavailable(error: BoxError) -> ApiError {
    tracing::warn!(%error, "the store of questions fails");
    ApiError::server("the store of questions fails")
}
