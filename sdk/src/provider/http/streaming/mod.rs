//! A model call whose answer arrives in parts.
//!
//! The request is for a stream, an API's [`Reading`] joins the events to the body that the same
//! answer has without streaming, and the API's projection reads that body. So a streamed answer and
//! a whole one become the same response.
//!
//! A stream that ends before the answer does is an invalid response, which is requested five times
//! in all: each attempt is billed, and a gateway that cuts streams does so every time. A connection
//! that breaks is a failed connection, as without streaming.
//!
//! [`chunks`] has the chunks of a body, with limits of time and size.

mod chunks;
#[cfg(test)]
pub(crate) mod prefixes;

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::ModelFailureKind;
use tokio::time::timeout_at;

use self::chunks::{Chunks, Form, deadline};
use super::{
    answer::Answer,
    body::MOST_BYTES,
    classify,
    outgoing::Outgoing,
    refusals::{self, Refusals, RequestForm},
    silence::{Silence, no_first_chunk},
    sse::{Event, Events},
    transport::Transport,
};
use crate::provider::{ModelDeltas, ModelError};

/// The events of an answer, as they are joined to a body.
pub(crate) trait Reading: Default {
    /// `true` if a stream of the API has the usage only on request, in `stream_options`.
    const USAGE_ON_REQUEST: bool;

    /// Reads an event, and sends the deltas in it. Returns `true` if it is the last one.
    ///
    /// # Errors
    /// Description of an event that is not one of the API.
    fn read(&mut self, event: &Event, deltas: &ModelDeltas) -> Result<bool, &'static str>;

    /// Returns the approximate number of bytes that are kept.
    fn kept(&self) -> usize;

    /// Returns the body of the answer; `None` if the stream ended before the answer did.
    fn body(self) -> Option<Map<String, Value>>;

    /// Returns the reason that the streamed answer to a request may differ from the whole one.
    fn differs(request: &Map<String, Value>) -> Option<&'static str>;
}

/// A streamed call of one model.
#[derive(Debug)]
pub(crate) struct Streamed<'a> {
    pub(crate) transport: &'a Transport,
    /// Path of the request.
    pub(crate) path: &'a str,
    pub(crate) refusals: &'a Refusals,
    pub(crate) silence: Silence,
    /// Name of the model.
    pub(crate) model: &'a str,
}

impl Streamed<'_> {
    /// Makes the call; returns its whole answer. A call that cannot be streamed is made without.
    pub(crate) async fn answer<R: Reading>(
        &self,
        mut outgoing: Outgoing,
        deltas: &ModelDeltas,
    ) -> Result<Answer, ModelError> {
        if let Some(reason) = R::differs(&outgoing.body) {
            self.refusals.warn(self.model, reason);
            // The servers refuse the options of a stream outside of one.
            outgoing.body.shift_remove("stream_options");
            return self.transport.exchange(self.path, &outgoing).await;
        }
        let mut form = self.refusals.known(self.model).unwrap_or(RequestForm::Stream);
        loop {
            set_form(&mut outgoing.body, form, R::USAGE_ON_REQUEST);
            if form == RequestForm::Whole {
                let answer = self.transport.exchange(self.path, &outgoing).await?;
                if answer.status.is_success() {
                    self.refusals.remember(self.model, form);
                }
                return Ok(answer);
            }
            let deadline = deadline(self.silence.first_chunk);
            let sent = timeout_at(deadline, self.transport.send(self.path, &outgoing)).await;
            let late = |_| classify::failure(ModelFailureKind::Timeout, &no_first_chunk(self.silence.first_chunk));
            let response = sent.map_err(late)??;
            if !response.status().is_success() {
                let answer = self.transport.whole(response, &outgoing).await?;
                let Some(next) = refusals::next(&answer, outgoing.body.contains_key("stream_options")) else {
                    return Ok(answer);
                };
                form = next;
                continue;
            }
            self.refusals.remember(self.model, form);
            let answer = self.transport.head(&response);
            return self.read::<R>(answer, Chunks::new(response, deadline, self), deltas).await;
        }
    }

    /// Reads the body: a stream, or the whole answer of a server that does not stream.
    async fn read<R: Reading>(
        &self,
        mut answer: Answer,
        mut chunks: Chunks<'_>,
        deltas: &ModelDeltas,
    ) -> Result<Answer, ModelError> {
        let mut reading = R::default();
        let mut events = Events::new(MOST_BYTES);
        let mut has_events = false;
        while let Some(chunk) = chunks.next(&answer).await? {
            if chunks.form() == Form::Whole {
                answer.body.extend_from_slice(chunk.as_ref());
                continue;
            }
            let Ok(read) = events.read(chunk.as_ref()) else { return Err(answer.too_large()) };
            for event in read {
                has_events = true;
                let is_last = reading.read(&event, deltas).map_err(|what| broken(&mut answer, event, what))?;
                if reading.kept() > MOST_BYTES {
                    return Err(answer.too_large());
                }
                if is_last {
                    return self.conclude(answer, reading);
                }
            }
        }
        if chunks.form() == Form::Whole {
            return Ok(answer);
        }
        // An event that was cut off is not one: the stream ended early, which is reported below.
        if let Some(event) = events.end() {
            has_events = true;
            let _ = reading.read(&event, deltas);
        }
        if !has_events {
            return Err(answer.failure(ModelFailureKind::InvalidResponse, "the stream has no events"));
        }
        self.conclude(answer, reading)
    }

    fn conclude<R: Reading>(&self, mut answer: Answer, reading: R) -> Result<Answer, ModelError> {
        let Some(body) = reading.body() else {
            let what = "the stream ended before the answer was complete";
            return Err(answer.failure(ModelFailureKind::InvalidResponse, what));
        };
        let has_usage = body.get("usage").is_some_and(|usage| !usage.is_null());
        let is_error = body.get("error").is_some_and(|error| !error.is_null());
        if R::USAGE_ON_REQUEST && !has_usage && !is_error {
            self.refusals.remember(self.model, RequestForm::Whole);
        }
        answer.body = Value::Object(body).to_string().into_bytes();
        Ok(answer)
    }
}

/// Writes the members of a request for a stream.
fn set_form(body: &mut Map<String, Value>, form: RequestForm, usage_on_request: bool) {
    if form == RequestForm::Whole {
        body.shift_remove("stream");
    } else {
        body.insert("stream".to_owned(), true.into());
    }
    if form != RequestForm::Stream {
        body.shift_remove("stream_options");
    } else if usage_on_request {
        let options = body.entry("stream_options").or_insert_with(|| json!({}));
        if let Value::Object(options) = options {
            options.insert("include_usage".to_owned(), true.into());
        }
    }
}

/// Returns the failure of an event that is not one of the API; its data is quoted.
fn broken(answer: &mut Answer, event: Event, what: &str) -> ModelError {
    answer.body = event.data.into_bytes();
    answer.invalid(what)
}
