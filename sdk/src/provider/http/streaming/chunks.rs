//! The chunks of a streamed body, with limits of time and size.

use std::time::Duration;

use reqwest::{Response, header::CONTENT_TYPE};
use temporal_agents_core::wire::ModelFailureKind;
use tokio::time::{Instant, timeout_at};

use super::{
    super::{
        answer::Answer,
        body::{MOST_BYTES, MOST_STREAM_BYTES},
        silence::{end_of, no_first_chunk, no_next_chunk},
    },
    Streamed,
};
use crate::provider::ModelError;

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Server-sent events.
    Events,
    /// One JSON object, or what a server sends in its place.
    Whole,
}

/// The chunks of a body.
pub(super) struct Chunks<'a> {
    response: Response,
    streamed: &'a Streamed<'a>,
    /// The latest time at which the next chunk may arrive, and the limit that it results from.
    deadline: Instant,
    has_begun: bool,
    /// Decided by the first byte that is not white space.
    form: Option<Form>,
    bytes: usize,
}

impl<'a> Chunks<'a> {
    /// Creates the chunks of a response whose first one arrives until `deadline`.
    pub(super) fn new(response: Response, deadline: Instant, streamed: &'a Streamed<'a>) -> Self {
        Self { response, streamed, deadline, has_begun: false, form: None, bytes: 0 }
    }

    /// Returns the form of the body, as far as it has arrived. An empty body is a whole one.
    pub(super) fn form(&self) -> Form {
        self.form.unwrap_or(Form::Whole)
    }

    /// Returns the next chunk; `None` at the end of the body.
    ///
    /// # Errors
    /// The connection broke, the next chunk is late, or the body is too large.
    pub(super) async fn next(&mut self, answer: &Answer) -> Result<Option<impl AsRef<[u8]> + use<>>, ModelError> {
        let Ok(received) = timeout_at(self.deadline, self.response.chunk()).await else {
            return Err(answer.failure(ModelFailureKind::Timeout, &self.late()));
        };
        let Some(chunk) = received.map_err(|error| self.streamed.transport.unanswered(error))? else {
            return Ok(None);
        };
        self.has_begun = true;
        self.deadline = deadline(self.streamed.silence.chunk);
        self.form = self.form.or_else(|| form(&self.response, &chunk));
        self.bytes = self.bytes.saturating_add(chunk.len());
        let limit = if self.form() == Form::Events { MOST_STREAM_BYTES } else { MOST_BYTES };
        if self.bytes > limit {
            return Err(answer.over(limit));
        }
        Ok(Some(chunk))
    }

    fn late(&self) -> String {
        let silence = self.streamed.silence;
        if self.has_begun { no_next_chunk(silence.chunk) } else { no_first_chunk(silence.first_chunk) }
    }
}

/// Returns the end of a limit that begins now.
pub(super) fn deadline(limit: Duration) -> Instant {
    end_of(Instant::now(), limit)
}

/// Returns the form of a body that begins with this chunk; `None` if it is only white space.
/// Servers send whole answers as streams and streams as JSON, so the first character counts before
/// the content type.
fn form(response: &Response, chunk: &[u8]) -> Option<Form> {
    let first = *chunk.trim_ascii_start().first()?;
    let is_stream = || {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        content_type.is_some_and(|value| value.trim().to_ascii_lowercase().starts_with("text/event-stream"))
    };
    // The fields `data`, `event`, `id` and `retry`, and comments.
    let is_field = matches!(first, b'd' | b'e' | b'i' | b'r' | b':');
    Some(if first != b'{' && (is_field || is_stream()) { Form::Events } else { Form::Whole })
}
