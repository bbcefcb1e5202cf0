//! Answers to calls that wait: decisions, and outputs that clients supply.
//!
//! # Design
//! **Only calls that wait, or that were answered, are answered.** The inbox of a workflow keeps a
//! decision on an id that it does not know, for a call that comes later. A caller of the service
//! has seen the call that it answers, so an unknown id is a mistake, and is not sent.
//!
//! **The id of an update is a digest of the answer.** The same answer in the same request is the
//! same update, for every replica. Another answer is another update, so that the workflow can say
//! that the call was decided before.

use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::{access::Caller, error::ApiError, service::Shared};
use crate::{
    client::{AgentHandle, AgentHandleError},
    wire::{AgentDecision, AgentState, DecisionAnswer, SuppliedOutput},
};

/// Time in which a worker must answer a query or an update.
const WORKER_TIMEOUT: Duration = Duration::from_secs(20);

/// The answer to one call.
pub(super) enum Answer {
    Decision(AgentDecision),
    Output(SuppliedOutput),
}

impl Answer {
    /// Returns the id of the call's question.
    pub(super) fn question(&self) -> &str {
        match self {
            Self::Decision(decision) => &decision.interruption_id,
            Self::Output(output) => &output.interruption_id,
        }
    }

    /// Returns the id of the update that sends this answer for this request.
    fn update_id(&self, request: &str) -> String {
        let json = match self {
            Self::Decision(decision) => serde_json::to_string(decision),
            Self::Output(output) => serde_json::to_string(output),
        };
        let json = json.expect("answers are JSON with string keys");
        let digest = Sha256::new().chain_update(request).chain_update([0]).chain_update(json).finalize();
        digest[..16].iter().fold("answer-".to_owned(), |id, byte| format!("{id}{byte:02x}"))
    }
}

/// Returns the state of a workflow's runs; `None` if there is no such workflow.
///
/// # Errors
/// 504 if no worker answers, 502 if the server refuses the query.
pub(super) async fn state(shared: &Shared, workflow_id: &str) -> Result<Option<AgentState>, ApiError> {
    let handle = AgentHandle::new(&shared.client, workflow_id);
    match in_time(handle.state()).await? {
        Ok(state) => Ok(Some(state)),
        Err(AgentHandleError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Sends answers in the name of the caller. A request that is sent again changes nothing. Returns
/// `true` if all calls have waited until now.
///
/// # Errors
/// 404 for a call that neither waits nor was answered, before anything is sent; 409 for a call that
/// was answered in another way; 400 for an answer that does not fit its call; 504 and 502 as
/// [`state`].
pub(super) async fn send(
    shared: &Shared,
    caller: &Caller,
    workflow_id: &str,
    request: &str,
    answers: Vec<Answer>,
) -> Result<bool, ApiError> {
    let Some(state) = state(shared, workflow_id).await? else { return Err(ApiError::no_run(workflow_id)) };
    let waits = state.interruptions.iter().map(|call| &*call.id);
    let known: Vec<&str> = waits.chain(state.decided.iter().map(|decided| &*decided.id)).collect();
    if let Some(unknown) = answers.iter().find(|answer| !known.contains(&answer.question())) {
        return Err(ApiError::no_question(unknown.question()));
    }
    let waits = |answer: &Answer| state.interruptions.iter().any(|call| call.id == answer.question());
    let are_new = answers.iter().all(waits);
    let handle = AgentHandle::new(&shared.client, workflow_id);
    let handle = caller.name.as_ref().map_or_else(|| handle.clone(), |name| handle.by(name));
    for answer in answers {
        let question = answer.question().to_owned();
        let update_id = Some(answer.update_id(request));
        let answer = match answer {
            Answer::Decision(decision) => in_time(handle.decide_as(update_id, decision)).await?,
            Answer::Output(output) => in_time(handle.supply_output_as(update_id, output)).await?,
        };
        match answer? {
            DecisionAnswer::AlreadyDecided { .. } => {
                return Err(ApiError::conflict(format!("call {question:?} was decided before, in another way")));
            }
            DecisionAnswer::Refused { reason } => return Err(ApiError::invalid(reason)),
            DecisionAnswer::Unknown { .. } => return Err(ApiError::no_question(&question)),
            _ => {}
        }
    }
    Ok(are_new)
}

/// Waits for the answer of a worker.
///
/// # Errors
/// 504 after 20 seconds.
pub(super) async fn in_time<T>(answer: impl Future<Output = T>) -> Result<T, ApiError> {
    timeout(WORKER_TIMEOUT, answer).await.map_err(|_| ApiError::no_worker())
}
