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

use axum::http::StatusCode;
use serde_json::Value;
use sha2::{Digest, Sha256};
use temporal_agents_core::{
    tool::schema::parse_arguments,
    wire::{AgentDecision, AgentState, DecisionAnswer, RunMode, SuppliedOutput, Verdict},
};
use tokio::time::timeout;

use super::{access::Caller, error::ApiError, service::Shared};

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

/// Sends answers in the name of the caller. A request that is sent again changes nothing. Returns
/// `true` if all calls have waited until now.
///
/// # Errors
/// 404 for a call that neither waits nor was answered, before anything is sent; 409 for a call that
/// was answered in another way; 422 for edited arguments that do not fit the tool; 400 for an
/// answer that does not fit its call; 504 and 503 as [`Shared::state`].
pub(super) async fn send(
    shared: &Shared,
    caller: &Caller,
    run: (RunMode, &str),
    request: &str,
    answers: Vec<Answer>,
) -> Result<bool, ApiError> {
    let (mode, id) = run;
    let Some(state) = shared.state(mode, id).await? else { return Err(ApiError::no_run(id)) };
    let waits = state.interruptions.iter().map(|call| &*call.id);
    let known: Vec<&str> = waits.chain(state.decided.iter().map(|decided| &*decided.id)).collect();
    if let Some(unknown) = answers.iter().find(|answer| !known.contains(&answer.question())) {
        return Err(ApiError::no_question(unknown.question()));
    }
    for answer in &answers {
        check_arguments(shared, &state, answer)?;
    }
    let waits = |answer: &Answer| state.interruptions.iter().any(|call| call.id == answer.question());
    let are_new = answers.iter().all(waits);
    for answer in answers {
        let question = answer.question().to_owned();
        let update_id = answer.update_id(request);
        match shared.answer(run, caller, update_id, answer).await? {
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

/// Checks the edited arguments of a call against the schema of its tool, as far as the service knows
/// the tool: of its agents, and of the parts of agents as data. The run checks all of them.
///
/// # Errors
/// 422 with the violations.
fn check_arguments(shared: &Shared, state: &AgentState, answer: &Answer) -> Result<(), ApiError> {
    let Answer::Decision(AgentDecision { interruption_id, decision: Verdict::ApproveWith { arguments }, .. }) = answer
    else {
        return Ok(());
    };
    let Some(call) = state.interruptions.iter().find(|call| call.id == *interruption_id) else { return Ok(()) };
    let arguments = Value::Object(arguments.clone()).to_string();
    let mut violations = None;
    for tool in shared.tools(&call.agent, &call.tool) {
        match parse_arguments(tool.name(), &arguments, tool.accepts()) {
            Ok(_) => return Ok(()),
            Err(invalid) => violations = Some(invalid.issues),
        }
    }
    let Some(violations) = violations else { return Ok(()) };
    let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
    let message = format!(
        "the arguments do not fit tool {:?}: {}; nothing was sent, so change them and send the decision again",
        call.tool,
        violations.join("; ")
    );
    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_arguments", message))
}

/// Waits for the answer of a worker; `None` after 20 seconds.
pub(super) async fn in_time<T>(answer: impl Future<Output = T>) -> Option<T> {
    timeout(WORKER_TIMEOUT, answer).await.ok()
}
