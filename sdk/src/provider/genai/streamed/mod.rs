//! A streamed call: the provider's events, joined to the body of the same answer without streaming.
//!
//! The crate's own result of a stream is not that of a whole answer: texts and thoughts lose their
//! order and their boundaries, blocks that the crate does not know are left out, and so are the
//! counts of reasoning. So the events are read as the provider sends them (the crate passes them to
//! a function), and [`response`](super::response) projects the body that they become.
//!
//! | file | contents |
//! |---|---|
//! | `anthropic` | the events of Anthropic's Messages |
//! | `completion` | the chunks of Chat Completions |
//!
//! # Design
//! **Only these two APIs.** Google sends the signature of a text after it, but the item of a
//! signature comes first, so no part of the text would have a position; and which parts the whole
//! answer has, its stream does not tell. The streams of other APIs (`bedrock_api`, `ollama`) have
//! no events of their own. Calls of these are made without streaming.
//!
//! **What is limited.** The crate joins the lines of an event before anybody sees them, so an event
//! is limited by the time of the call alone; the sum of the events is limited, and so is what is
//! kept of them. A server that ignores the stream and sends a whole answer cannot be read, because
//! the crate drops what is not an event: it is asked again. The crate logs errors within a stream,
//! and events that it does not know, with their data.

mod anthropic;
mod completion;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ::genai::{
    Client, Error, ServiceTarget,
    chat::{ChatOptions, ChatRequest, ChatStream},
    webc,
};
use futures::StreamExt;
use serde_json::{Map, Value};
use tokio::time::timeout;

use self::{anthropic::MessageEvents, completion::CompletionChunks};
use super::{
    dialect::{Dialect, Shape},
    failure,
    response::Said,
};
use crate::{
    provider::{
        ModelDeltas, ModelError,
        http::{
            body::{MOST_BYTES, MOST_STREAM_BYTES},
            redact::Redactor,
            refusals::{self, Ask},
            silence::{Silence, no_first_chunk, no_next_chunk},
        },
    },
    wire::ModelFailureKind,
};

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
    Refused(Ask),
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

/// Returns the content of a body that a stream became.
///
/// # Errors
/// Description of a body that is not one of the API.
pub(super) fn said(dialect: &Dialect, body: &Value) -> Result<Said, &'static str> {
    match dialect.shape {
        Shape::Anthropic => anthropic::said(body),
        _ => completion::said(&dialect.adapter, body),
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
            Shape::Anthropic => Box::new(MessageEvents::default()),
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

    /// Reads the stream until its last event.
    async fn read(&self, mut stream: ChatStream, events: &Events) -> Result<(), Broken> {
        loop {
            let (limit, late): (Duration, fn(Duration) -> String) = if events.has_begun() {
                (self.silence.chunk, no_next_chunk)
            } else {
                (self.silence.first_chunk, no_first_chunk)
            };
            // The crate's first event precedes the request.
            let Ok(next) = timeout(limit, stream.next()).await else {
                return Err(Broken::Failed(failure::failure(ModelFailureKind::Timeout, &late(limit))));
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

    fn conclude(&self, events: Events) -> Result<Outcome, ModelError> {
        let State { reading, end, bytes, .. } = events.into_state();
        let answer = failure::answer(&Value::Null, self.redactor);
        match end {
            Some(End::Invalid { data, what }) => Err(failure::success(data, self.redactor).invalid(what)),
            Some(End::TooLarge(limit)) => Err(answer.over(limit)),
            _ if bytes == 0 => Ok(Outcome::Refused(Ask::Whole)),
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
    Refused(crate::provider::http::answer::Answer),
    Failed(ModelError),
}

/// The events so far. Clones are the same events: the crate has one, and the call another.
#[derive(Clone)]
struct Events(Arc<Mutex<State>>);

struct State {
    reading: Box<dyn Reading>,
    deltas: ModelDeltas,
    /// Set once no more events are read.
    end: Option<End>,
    /// The sum of the events, in bytes.
    bytes: usize,
}

enum End {
    /// The last event was read.
    Whole,
    /// An event is not one of the API.
    Invalid { data: String, what: &'static str },
    /// The events, or what is kept of them, exceed this limit in bytes.
    TooLarge(usize),
}

impl Events {
    fn new(reading: Box<dyn Reading>, deltas: ModelDeltas) -> Self {
        Self(Arc::new(Mutex::new(State { reading, deltas, end: None, bytes: 0 })))
    }

    fn read(&self, name: &str, data: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { reading, deltas, end, bytes } = &mut *state;
        *bytes = bytes.saturating_add(data.len());
        // The crate also passes on comments, and a body that is not a stream, both without data.
        if end.is_some() || data.is_empty() {
            return;
        }
        *end = match reading.read(name, data, deltas) {
            Err(what) => Some(End::Invalid { data: data.to_owned(), what }),
            Ok(true) => Some(End::Whole),
            Ok(false) if reading.kept() > MOST_BYTES => Some(End::TooLarge(MOST_BYTES)),
            Ok(false) if *bytes > MOST_STREAM_BYTES => Some(End::TooLarge(MOST_STREAM_BYTES)),
            Ok(false) => None,
        };
    }

    fn has_begun(&self) -> bool {
        self.state(|state| state.bytes > 0)
    }

    fn is_over(&self) -> bool {
        self.state(|state| state.end.is_some())
    }

    fn state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the events out; the crate, which holds a clone, reads no more.
    fn into_state(self) -> State {
        let nothing =
            State { reading: Box::new(MessageEvents::default()), deltas: ModelDeltas::new(drop), end: None, bytes: 0 };
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), nothing)
    }
}
