//! A streamed call: the provider's events, joined to the body of the same answer without streaming.
//!
//! The crate's own result of a stream is not that of a whole answer: texts and thoughts lose their
//! order and their boundaries, blocks that the crate does not know are left out, and so are the
//! counts of reasoning. So the events are read as the provider sends them (the crate passes them to
//! a function), and [`response`](super::response) projects the body that they become.
//!
//! | file | contents |
//! |---|---|
//! | `events` | the events so far, which the crate passes on; also of Claude on Vertex |
//! | `completion` | the chunks of Chat Completions |
//!
//! # Design
//! **Only these two APIs.** Google sends the signature of a text after it, but the item of a
//! signature comes first, so no part of the text would have a position; and its stream does not
//! show which parts the whole answer has. The streams of other APIs (`bedrock_api`, `ollama`) have
//! no events of their own. Calls of these are made without streaming.
//!
//! **Limits.** The crate joins the lines of an event before it passes them on, so an event is
//! limited by the time of the call alone; the sum of the events is limited, and so is the part of
//! them that is kept. A server that ignores the stream and sends a whole answer cannot be read,
//! because the crate drops what is not an event: the call is repeated without streaming. The crate
//! logs errors within a stream, and events that it does not know, with their data.

pub(super) mod completion;
mod events;

use std::{sync::Arc, time::Duration};

use ::genai::{
    Client, Error, ServiceTarget,
    chat::{ChatOptions, ChatRequest, ChatStream},
    webc,
};
use futures::StreamExt;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use self::{
    completion::CompletionChunks,
    events::{End, Events, State},
};
use super::{
    dialect::{Dialect, Shape},
    failure,
};
use crate::provider::{
    ModelDeltas, ModelError,
    anthropic::MessageEvents,
    http::{
        answer::Answer,
        classify,
        redact::Redactor,
        refusals::{self, RequestForm},
        silence::{Silence, end_of, no_first_chunk, no_next_chunk},
    },
};
use temporal_agents_core::wire::ModelFailureKind;

/// The events of an answer, as they are joined to a body.
trait Reading: Send {
    /// Reads an event, and sends the deltas in it. Returns `true` if it is the last one.
    ///
    /// # Errors
    /// Description of an event that is not one of the API.
    fn read(&mut self, name: &str, data: &str, deltas: &ModelDeltas) -> Result<bool, &'static str>;

    /// Returns the approximate number of bytes that are kept.
    fn kept(&self) -> usize;

    /// Returns the body of the answer; `None` if the stream ended before the answer did.
    fn body(self: Box<Self>) -> Option<Map<String, Value>>;
}

/// The outcome of a streamed request.
pub(super) enum Outcome {
    /// The body of the answer.
    Body(Value),
    /// The server refuses the stream, or does not stream: the answer is to be requested in this
    /// form.
    Refused(RequestForm),
}

/// A request for a stream.
pub(super) struct StreamedCall<'a> {
    pub(super) client: &'a Client,
    pub(super) dialect: &'a Dialect,
    pub(super) silence: Silence,
    pub(super) redactor: &'a Arc<Redactor>,
    pub(super) address: &'a str,
    pub(super) deltas: &'a ModelDeltas,
}

/// Returns the reason that a call is not streamed.
pub(super) fn differs(dialect: &Dialect, options: &ChatOptions) -> Option<&'static str> {
    let empty = Map::new();
    let body = options.extra_body.as_ref().and_then(Value::as_object).unwrap_or(&empty);
    match dialect.shape {
        Shape::OpenAi => crate::provider::chat_chunks::differs(body),
        Shape::Anthropic => {
            let is_off = body.get("stream") == Some(&Value::Bool(false));
            is_off.then_some("the extra arguments set `stream` to false")
        }
        Shape::Gemini => Some("Google's streams do not have the positions of their parts"),
        Shape::Plain => Some("the streams of this adapter have no events"),
    }
}

impl StreamedCall<'_> {
    /// Makes the request, and reads the stream to its end.
    pub(super) async fn run(
        &self,
        target: ServiceTarget,
        request: ChatRequest,
        options: &ChatOptions,
    ) -> Result<Outcome, ModelError> {
        let reading: Box<dyn Reading> = match self.dialect.shape {
            Shape::Anthropic => Box::<MessageEvents>::default(),
            _ => Box::new(CompletionChunks::new(&self.dialect.adapter)),
        };
        let events = Events::new(reading, self.deltas.clone());
        let has_options = options.capture_usage == Some(true);
        let options = options.clone().with_raw_frame_fn({
            let events = events.clone();
            move |_, frame| events.read(frame.event.unwrap_or_default(), frame.data)
        });
        let asked = self.client.exec_chat_stream(target, request, Some(&options)).await;
        let stream = asked.map_err(|error| self.failure(error))?.stream;
        match self.read(stream, &events).await {
            Err(Broken::Refused(answer)) => match refusals::next(&answer, has_options) {
                Some(next) => Ok(Outcome::Refused(next)),
                None => Err(failure::refused(&answer)),
            },
            Err(Broken::Failed(error)) => Err(error),
            Ok(()) => self.conclude(events),
        }
    }

    /// Reads the stream until its last event. Events that the crate does not pass on, such as
    /// comments, are signs of life; the events' own limits also end a stream of nothing else.
    async fn read(&self, mut stream: ChatStream, events: &Events) -> Result<(), Broken> {
        // The crate's first event precedes the request.
        let begun = Instant::now();
        loop {
            let next = tokio::select! {
                biased;
                next = stream.next() => next,
                () = events.ended() => return Ok(()),
                late = self.silent(begun, events) => {
                    return Err(Broken::Failed(classify::failure(ModelFailureKind::Timeout, &late)));
                }
            };
            if events.is_over() {
                return Ok(());
            }
            match next {
                None => return Ok(()),
                // An event that the crate cannot read was read above.
                Some(Ok(_) | Err(Error::ChatResponse { .. } | Error::StreamParse { .. } | Error::JsonValueExt(_))) => {}
                Some(Err(error)) => return Err(self.broken(error)),
            }
        }
    }

    /// Waits until the stream has been silent for too long; returns the description of that.
    async fn silent(&self, begun: Instant, events: &Events) -> String {
        loop {
            let latest = events.latest();
            let (limit, late): (Duration, fn(Duration) -> String) = match latest {
                Some(_) => (self.silence.chunk, no_next_chunk),
                None => (self.silence.first_chunk, no_first_chunk),
            };
            sleep_until(end_of(latest.unwrap_or(begun), limit)).await;
            if events.latest() == latest {
                return late(limit);
            }
        }
    }

    fn conclude(&self, events: Events) -> Result<Outcome, ModelError> {
        let State { reading, end, bytes, .. } = events.into_state();
        let answer = failure::answer(&Value::Null, self.redactor);
        match end {
            Some(End::Invalid { data, what }) => Err(failure::success(data, self.redactor).invalid(what)),
            Some(End::TooLarge(limit)) => Err(answer.over(limit)),
            _ if bytes == 0 => Ok(Outcome::Refused(RequestForm::Whole)),
            _ => reading.body().map(|body| Outcome::Body(Value::Object(body))).ok_or_else(|| {
                let what = "the stream ended before the answer was complete";
                answer.failure(ModelFailureKind::InvalidResponse, what)
            }),
        }
    }

    fn failure(&self, error: Error) -> ModelError {
        failure::of(error, self.address, self.redactor)
    }

    /// Finds the failure in an error of the crate, which boxes it.
    fn broken(&self, error: Error) -> Broken {
        let error = match error {
            Error::WebStream { model_iden, cause, error } => match error.downcast::<Error>() {
                Ok(error) => *error,
                Err(error) => match error.downcast::<reqwest::Error>() {
                    Ok(error) => Error::WebModelCall { model_iden, webc_error: webc::Error::Reqwest(*error) },
                    Err(error) => Error::WebStream { model_iden, cause, error },
                },
            },
            error => error,
        };
        match error {
            Error::HttpError { status, body, headers, .. } => {
                Broken::Refused(failure::refused_answer(status, *headers, body, self.redactor))
            }
            error => Broken::Failed(self.failure(error)),
        }
    }
}

/// The reason that a stream could not be read.
enum Broken {
    /// An unsuccessful status.
    Refused(Answer),
    Failed(ModelError),
}

#[cfg(test)]
mod tests;
