//! Streams that end at each of their bytes: each start of a recorded stream is the whole answer, or an
//! error.

use std::{fs, path::Path, sync::Arc};

use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;
use temporal_agents_core::wire::ModelResponse;

use super::Reading;
use crate::provider::{
    ModelDeltas, ModelError,
    http::{answer::Answer, body::MOST_BYTES, redact::Redactor, sse::Events},
};

/// Reads each start of each stream in `tests/apis/<api>/answers`; returns the number of streams.
///
/// # Panics
/// A start is an answer that differs from the whole one in what it holds.
pub(crate) fn check<R: Reading>(api: &str, project: impl Fn(&Answer) -> Result<ModelResponse, ModelError>) -> usize {
    let answers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/apis").join(api).join("answers");
    let mut streams = 0;
    for entry in fs::read_dir(answers).expect("the recorded answers") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "sse") {
            continue;
        }
        let stream = fs::read(&path).expect("a recorded stream");
        let whole = outcome::<R>(&stream, &project).expect("an end").expect("an answer");
        for end in 0..stream.len() {
            let Some(Ok(start)) = outcome::<R>(&stream[..end], &project) else { continue };
            let content = |response: &ModelResponse| (response.output.clone(), response.incomplete.clone());
            assert_eq!(content(&start), content(&whole), "{} ends after {end} bytes", path.display());
        }
        streams += 1;
    }
    streams
}

/// Reads a stream as far as it goes. Returns `None` if it ends before the answer does.
fn outcome<R: Reading>(
    stream: &[u8],
    project: &impl Fn(&Answer) -> Result<ModelResponse, ModelError>,
) -> Option<Result<ModelResponse, ModelError>> {
    let deltas = ModelDeltas::new(drop);
    let mut reading = R::default();
    let mut events = Events::new(MOST_BYTES);
    let mut read = events.read(stream).expect("a small stream");
    read.extend(events.end());
    for event in read {
        match reading.read(&event, &deltas) {
            Ok(true) => break,
            Ok(false) => {}
            Err(_) => return None,
        }
    }
    let body = Value::Object(reading.body()?);
    Some(project(&Answer {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: body.to_string().into_bytes(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        place: None,
    }))
}
