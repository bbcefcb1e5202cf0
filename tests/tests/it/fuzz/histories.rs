//! Histories, changed: a transcript, or an error.

use std::{fs, path::Path};

use proptest::{collection::vec, prelude::any, sample::Index};
use prost::Message;
use temporal_agents::client::transcript::Transcript;
use temporal_agents_testing::history::{self, History};
use temporalio_common::{
    data_converters::DataConverter,
    protos::temporal::api::{
        common::v1::{Payload, Payloads},
        history::v1::{HistoryEvent, history_event::Attributes},
    },
};
use tokio::runtime::Runtime;

use super::{
    cases::check,
    documents::{Change, Document, change, documents},
};

const CASES: u32 = 100;
/// A transcript has so many times the bytes of its history at most: what is said once is told once, as Markdown.
const GROWTH: usize = 16;

fn histories() -> anyhow::Result<Vec<History>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/histories/v0.1");
    let mut paths: Vec<_> =
        fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    paths.into_iter().map(|path| Ok(history::load(path)?)).collect()
}

/// The payloads that a transcript is made of.
fn payloads(event: &mut HistoryEvent) -> Vec<&mut Payload> {
    let payloads: &mut Option<Payloads> = match &mut event.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => &mut started.input,
        Some(Attributes::WorkflowExecutionCompletedEventAttributes(completed)) => &mut completed.result,
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => &mut scheduled.input,
        Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => &mut completed.result,
        _ => return Vec::new(),
    };
    payloads.iter_mut().flat_map(|payloads| &mut payloads.payloads).collect()
}

/// Drops, repeats and swaps events.
fn shuffle(history: &mut History, change: Change) {
    let count = history.events.len();
    if count == 0 {
        return;
    }
    let (place, other) = (change.place.index(count), change.other.index(count));
    match change.kind % 4 {
        0 => drop(history.events.remove(place)),
        1 => history.events.swap(place, other),
        2 => history.events.insert(place, history.events[other].clone()),
        _ => history.events[place].event_id = i64::from(change.kind) - 100,
    }
}

#[test]
fn a_changed_history_is_a_transcript_or_an_error() -> anyhow::Result<()> {
    let (runtime, histories) = (Runtime::new()?, histories()?);
    // Payloads are changed as the documents that they are: one out of the same history, wherever it comes to lie.
    let mut originals = Vec::new();
    for mut history in histories.clone() {
        for payload in history.events.iter_mut().flat_map(payloads) {
            if let Ok(json) = serde_json::from_slice(&payload.data) {
                originals.push(("payload".to_owned(), json));
            }
        }
    }
    let inputs = (any::<Index>(), vec(change(), 0..3), vec((any::<Index>(), documents(originals)), 0..3));
    check(CASES, &inputs, |(which, events, contents): (Index, Vec<Change>, Vec<(Index, Document)>)| {
        let mut history = which.get(&histories).clone();
        for change in events {
            shuffle(&mut history, change);
        }
        for (place, document) in contents {
            let mut all: Vec<&mut Payload> = history.events.iter_mut().flat_map(payloads).collect();
            if !all.is_empty() {
                let place = place.index(all.len());
                all[place].data = document.text;
            }
        }
        let bytes = history.encoded_len();
        let Ok(transcript) = runtime.block_on(Transcript::of_history(history, &DataConverter::default())) else {
            return Ok(());
        };
        let page = transcript.to_markdown();
        anyhow::ensure!(page.len() <= GROWTH * bytes, "{bytes} bytes became {}", page.len());
        for number in 0..=transcript.calls().len() {
            // A request, or the reason why it cannot be had.
            let _ = transcript.request_of(u32::try_from(number)?);
        }
        serde_json::to_string(&transcript)?;
        Ok(())
    })
}
