//! Acts on a run: decisions, outputs, messages, cancellation.

use axum::{
    Extension, Json,
    extract::{Path, State},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use temporal_agents_core::wire::{AgentDecision, ChatMessage, ChatRequest, SuppliedOutput};
use uuid::Uuid;

use super::{
    read::{Found, find, seen},
    row::{Kind, Row},
};
use crate::http::{
    access::Caller,
    answers::{self, Answer},
    error::ApiError,
    openapi::{Accepted, Acknowledged},
    questions::answer_stored,
    service::{Service, Shared},
    thread::check_message,
};

/// The body of `POST /runs/{id}/decisions`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct DecisionBody {
    question_id: String,
    approved: bool,
    /// Output that the model gets for a call that was rejected.
    #[serde(default)]
    message: Option<String>,
    /// Arguments with which a call that was approved is made, in place of the model's.
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    /// Also decides all other calls of this tool by this agent in this run.
    #[serde(default)]
    always: bool,
}

/// The body of `POST /runs/{id}/outputs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct OutputBody {
    question_id: String,
    output: Value,
}

/// The body of `POST /runs/{id}/messages`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct MessageBody {
    text: String,
    /// Id of the message; one that is sent again counts once.
    #[serde(default)]
    id: Option<String>,
}

/// The answer to a decision or an output that counts.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct AnswerAccepted {
    accepted: bool,
}

/// The answer to a message that a chat has accepted.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct MessageAccepted {
    /// Id of the message.
    message_id: String,
}

/// Approves or rejects a call that waits.
pub(in crate::http) async fn decide(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Json(body): Json<DecisionBody>,
) -> Result<Json<AnswerAccepted>, ApiError> {
    let DecisionBody { question_id, approved, message, arguments, always } = body;
    if arguments.is_some() && (!approved || always) {
        let message = "\"arguments\" are for one call that is approved: send \"approved\": true, without \"always\"";
        return Err(ApiError::invalid(message));
    }
    let mut decision = match (approved, message) {
        (true, None) => match arguments {
            Some(arguments) => AgentDecision::approve_with(question_id, arguments),
            None => AgentDecision::approve(question_id),
        },
        (true, Some(_)) => {
            return Err(ApiError::invalid("\"message\" is for a call that is rejected: send \"approved\": false"));
        }
        (false, Some(message)) => AgentDecision::reject_with(question_id, message),
        (false, None) => AgentDecision::reject(question_id),
    };
    decision.always = always;
    if answer_stored(&shared, &caller, &id, decision.clone()).await? {
        return Ok(Json(AnswerAccepted { accepted: true }));
    }
    let row = open(&shared, &caller, &id).await?;
    answer(&shared, &caller, &row, Answer::Decision(decision)).await
}

/// Supplies the output of a call that the client has made.
pub(in crate::http) async fn supply_output(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Json(OutputBody { question_id, output }): Json<OutputBody>,
) -> Result<Json<AnswerAccepted>, ApiError> {
    let output = SuppliedOutput::new(question_id, output);
    if answer_stored(&shared, &caller, &id, output.clone().into()).await? {
        return Ok(Json(AnswerAccepted { accepted: true }));
    }
    let row = open(&shared, &caller, &id).await?;
    answer(&shared, &caller, &row, Answer::Output(output)).await
}

/// Sends a message to a chat. Returns once the chat has accepted or refused it.
pub(in crate::http) async fn send_message(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Json(MessageBody { text, id: message_id }): Json<MessageBody>,
) -> Result<Accepted<MessageAccepted>, ApiError> {
    let row = seen(&shared, &caller, &id).await?;
    shared.check_may_decide(&caller, &id)?;
    if row.kind != Kind::Chat {
        let message = format!("run {id:?} is not a chat; start one with POST /runs and \"chat\": true");
        return Err(ApiError::conflict(message));
    }
    // A chat with a thread starts again, from the request of its latest execution: with its user, its tools
    // and its trust. Without that, it stays ended.
    let can_restart = row.thread.is_some() && matches!(find(&shared, &id).await?, Found::Run(_));
    if !can_restart {
        check_open(&row)?;
    }
    let message_id = message_id.unwrap_or_else(|| Uuid::new_v4().to_string());
    let mut chat = ChatRequest::new(row.agent.unwrap_or_default());
    chat.thread = row.thread;
    chat.user = caller.name;
    check_message(&message_id, &text)?;
    // The reply is in the events.
    shared.send_message(row.mode, &id, chat, ChatMessage::new(&*message_id, text)).await?;
    Ok(Accepted(MessageAccepted { message_id }))
}

/// Requests the cancellation of a run.
pub(in crate::http) async fn cancel(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Acknowledged, ApiError> {
    let row = open(&shared, &caller, &id).await?;
    shared.cancel(row.mode, &id).await?;
    Ok(Acknowledged)
}

/// Returns a run that has not ended, on which the caller may act.
async fn open(shared: &Shared, caller: &Caller, id: &str) -> Result<Row, ApiError> {
    let row = seen(shared, caller, id).await?;
    shared.check_may_decide(caller, id)?;
    check_open(&row)?;
    Ok(row)
}

/// # Errors
/// 409 for a run that has ended.
fn check_open(row: &Row) -> Result<(), ApiError> {
    if row.is_open() { Ok(()) } else { Err(ApiError::conflict(format!("run {:?} has ended", row.id))) }
}

/// Sends an answer. The same answer again changes nothing.
async fn answer(shared: &Shared, caller: &Caller, row: &Row, answer: Answer) -> Result<Json<AnswerAccepted>, ApiError> {
    answers::send(shared, caller, (row.mode, &row.id), "", vec![answer]).await?;
    Ok(Json(AnswerAccepted { accepted: true }))
}
