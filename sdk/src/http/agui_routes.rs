//! The paths of AG-UI: `POST /agui/{agent}` runs or resumes, `GET /agui/{agent}/{thread}` returns
//! to a thread after a lost connection.
//!
//! A thread is a chat, and the id of an AG-UI run is the id of its message. So a request that is
//! sent again has the same run and the same events.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, State},
    response::sse::Event,
};
use futures::stream::{self, StreamExt};
use serde_json::Value;
use temporal_agents_core::wire::{
    AgentDecision, DecidedInterruption, Item, ItemView, SuppliedOutput, Verdict, run_state::InterruptionKind,
};

use super::{
    access::Caller,
    agui::{AguiEvent, AguiMapper, AguiMessage, AguiRole, InputAnswer, ResumeDecision, ResumeEntry, RunAgentInput},
    answers::Answer,
    error::ApiError,
    service::{Service, Shared, client_tools},
    sse::{self, Cut, EventStream},
    thread::Thread,
    turn::{self, Turn, TurnStep},
};

/// `POST /agui/{agent}`.
pub(super) async fn run(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(agent): Path<String>,
    Json(input): Json<RunAgentInput>,
) -> Result<EventStream<AguiEvent>, ApiError> {
    let thread = Thread::find(&shared, &caller, &agent, &input.thread_id).await?;
    check_tools(&shared, &agent, &input)?;
    let answers = answers(&thread, &input).await?;
    let is_resumed = !answers.is_empty();
    let turn = if is_resumed {
        thread.answer(&input.run_id, answers).await?
    } else {
        if input.ends_with_result() {
            return Err(ApiError::conflict("no call of this thread waits for the results in the request"));
        }
        let Some(text) = input.last_user_text() else {
            return Err(ApiError::invalid("the request has neither a message of the user nor an answer to a call"));
        };
        let toolsets = input.toolsets().map_err(ApiError::invalid)?;
        thread.send(&input.run_id, &text, toolsets).await?
    };
    let mut mapper = AguiMapper::new(input.thread_id, input.run_id, is_resumed).with_messages(input.messages);
    let start = mapper.start(None);
    Ok(respond(&shared, start, mapper, turn))
}

/// `GET /agui/{agent}/{thread}`: the conversation so far, and then the run that is open.
pub(super) async fn connect(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path((agent, thread_id)): Path<(String, String)>,
) -> Result<EventStream<AguiEvent>, ApiError> {
    let thread = Thread::find(&shared, &caller, &agent, &thread_id).await?;
    let (transcript, turn) = thread.open().await?;
    let current = transcript.current.as_ref();
    let run_id = current.and_then(|message| message.id.clone()).unwrap_or_else(|| format!("{thread_id}/connect"));
    let mut messages = messages(&transcript.items);
    if let Some(message) = current {
        messages.push(AguiMessage::new(message.id.clone().unwrap_or_default(), AguiRole::User, &*message.text));
    }
    let mut mapper = AguiMapper::new(thread_id, run_id, false);
    let mut start = mapper.start(Some(messages));
    let Some(turn) = turn else {
        start.extend(mapper.finished(None));
        let events = stream::iter(start).map(|event| sse::sent(sse::data(&event)));
        return Ok(EventStream::new(&shared.streams, events, last_event));
    };
    Ok(respond(&shared, start, mapper, turn))
}

fn respond(shared: &Shared, start: Vec<AguiEvent>, mapper: AguiMapper, turn: Turn) -> EventStream<AguiEvent> {
    let rest = stream::unfold((mapper, turn), |(mut mapper, mut turn)| async move {
        if mapper.is_over() {
            return None;
        }
        let step = turn.next().await?;
        let events = events(&mut mapper, step);
        Some((stream::iter(events), (mapper, turn)))
    });
    let events = stream::iter(start).chain(rest.flatten());
    EventStream::new(&shared.streams, events.map(|event| sse::sent(sse::data(&event))), last_event)
}

/// Returns the end of a stream that was cut. The protocol has no cursor: the frontend returns to
/// the thread.
fn last_event(cut: Cut, _cursor: Option<String>) -> Event {
    let (message, code) = (cut.message().to_owned(), cut.code().to_owned());
    sse::data(&AguiEvent::RunError { message, code, usage: Vec::new() })
}

/// Returns the AG-UI events of a step.
fn events(mapper: &mut AguiMapper, step: Result<TurnStep, ApiError>) -> Vec<AguiEvent> {
    match step {
        Ok(TurnStep::Event(event)) => mapper.event(&event),
        Ok(TurnStep::Problem(problem)) => mapper.problem(problem.as_ref()),
        Ok(TurnStep::Paused(waiting)) => mapper.paused(&waiting),
        Ok(TurnStep::Finished(output)) => mapper.finished(Some(&output)),
        Ok(TurnStep::Reply(text)) => {
            let mut events = mapper.event(&turn::message(text));
            events.extend(mapper.finished(None));
            events
        }
        Ok(TurnStep::Failed { code, message }) => mapper.failed(&message, &code),
        Ok(TurnStep::Cancelled) => mapper.cancelled(),
        Err(error) => mapper.failed(error.message(), error.code()),
    }
}

/// Checks that the agents know the tools that the frontend executes.
fn check_tools(shared: &Arc<Shared>, agent: &str, input: &RunAgentInput) -> Result<(), ApiError> {
    let known = shared.agents.get(agent).map(client_tools).unwrap_or_default();
    match input.tools.iter().find(|tool| !known.contains(&tool.name)) {
        None => Ok(()),
        Some(tool) => Err(ApiError::invalid(format!(
            "agent {agent:?} has no client tool {:?}; the client tools of an agent are declared with \
             ToolDef::client: {known:?}",
            tool.name
        ))),
    }
}

/// Returns the answers in a request: those in `resume`, and the results of client tools.
async fn answers(thread: &Thread, input: &RunAgentInput) -> Result<Vec<Answer>, ApiError> {
    if input.resume.is_empty() && !input.may_contain_results() {
        return Ok(Vec::new());
    }
    let Some(state) = thread.state().await? else { return Ok(Vec::new()) };
    let is_waiting = |entry: &ResumeEntry| state.interruptions.iter().any(|call| call.id == entry.interrupt_id);
    let mut answers = Vec::new();
    for entry in &input.resume {
        let waiting = state.interruptions.iter().find(|call| call.id == entry.interrupt_id);
        let is_answered = |decided: &DecidedInterruption| {
            decided.id == entry.interrupt_id && matches!(decided.decision, Verdict::SupplyOutput { .. })
        };
        let kind = match waiting {
            Some(call) => Some(call.kind),
            None => state.decided.iter().any(is_answered).then_some(InterruptionKind::Input),
        };
        answers.push(answer(entry, kind).map_err(ApiError::invalid)?);
    }
    let mut results = input.find_results(&state.calls_without_output());
    // A request without an answer to a call that waits may be one that is sent again. Of several
    // calls with one id, it answers the latest.
    if results.is_empty() && !input.resume.iter().any(is_waiting) {
        results = input.results_sent_again(&state.calls_with_output());
    }
    answers.extend(results.into_iter().map(|(id, output)| Answer::Output(SuppliedOutput::new(id, output))));
    Ok(answers)
}

/// Returns the answer of an entry to a question of this kind: values for a question of an MCP
/// server, a decision for others. A call of no kind no longer waits, maybe because of this request.
fn answer(entry: &ResumeEntry, kind: Option<InterruptionKind>) -> Result<Answer, String> {
    let id = &*entry.interrupt_id;
    let is_input = match kind {
        Some(kind) => kind == InterruptionKind::Input,
        None => entry.decision().is_err() && entry.input_answer().is_ok(),
    };
    if is_input {
        return Ok(match entry.input_answer()? {
            InputAnswer::Answer(values) => Answer::Output(SuppliedOutput::new(id, Value::Object(values).to_string())),
            InputAnswer::Declined => Answer::Decision(AgentDecision::reject(id)),
        });
    }
    Ok(Answer::Decision(match entry.decision()? {
        ResumeDecision::Approve => AgentDecision::approve(id),
        ResumeDecision::ApproveWith { arguments } => AgentDecision::approve_with(id, arguments),
        ResumeDecision::Reject { message: Some(message) } => AgentDecision::reject_with(id, message),
        ResumeDecision::Reject { message: None } => AgentDecision::reject(id),
    }))
}

/// Returns the conversation as messages.
fn messages(items: &[Item]) -> Vec<AguiMessage> {
    let message = |(place, item): (usize, &Item)| {
        let id = item.get("id").and_then(Value::as_str).map_or_else(|| format!("item-{place}"), str::to_owned);
        match item.view() {
            ItemView::Message { role, .. } => {
                let role = if role == "user" { AguiRole::User } else { AguiRole::Assistant };
                Some(AguiMessage::new(id, role, item.text().unwrap_or_default()))
            }
            ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => {
                Some(AguiMessage::calling(call.call_id, call.name, &call.arguments))
            }
            ItemView::FunctionCallOutput { call_id, output } | ItemView::NativeCallOutput { call_id, output } => {
                let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                Some(AguiMessage::result(&id, call_id, &text))
            }
            _ => None,
        }
    };
    items.iter().enumerate().filter_map(message).collect()
}
