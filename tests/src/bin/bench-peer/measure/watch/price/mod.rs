//! The events and bytes that notes about runs, questions and verdicts add to a history.

mod desk;

use std::collections::BTreeMap;

use prost::Message;
use serde_json::Value;
use temporal_agents_testing::history::History;
use temporalio_common::protos::temporal::api::{
    common::v1::Payload,
    history::v1::{HistoryEvent, history_event::Attributes},
};

use self::desk::Work;

const ROWS: [(&str, Work); 5] = [
    ("a tool", Work::Tool),
    ("a tool with an approval", Work::Question),
    ("a tool at which the run pauses and resumes", Work::Pause),
    ("an agent inside", Work::Nested),
    ("an agent inside whose guardrail trips", Work::NestedTrips),
];

/// Runs each row once, and prints its history and the records in it.
pub(super) async fn print() -> anyhow::Result<()> {
    let env = desk::environment().await?;
    println!("Records in the history of a run of two turns:\n");
    println!("| run | record | events | bytes |");
    println!("|---|---|---:|---:|");
    for (name, work) in ROWS {
        let history = desk::history_of(&env, work).await?;
        println!("| {name} | *the whole history* | {} | {} |", history.events.len(), history.encoded_len());
        for (record, (events, bytes)) in records(&history) {
            println!("| | {record} | {events} | {bytes} |");
        }
    }
    println!();
    env.finish().await?;
    Ok(())
}

/// Returns the number and the bytes of events by the name of the record.
fn records(history: &History) -> BTreeMap<String, (usize, usize)> {
    let mut records = BTreeMap::<_, (usize, usize)>::new();
    for event in &history.events {
        if let Some(name) = name_of(event) {
            let (events, bytes) = records.entry(name).or_default();
            *events += 1;
            // The history holds the event with its tag and its length.
            *bytes += History { events: vec![event.clone()] }.encoded_len();
        }
    }
    records
}

/// Returns the name of a record; `None` for an event that any workflow with activities has.
fn name_of(event: &HistoryEvent) -> Option<String> {
    match event.attributes.as_ref()? {
        Attributes::WorkflowPropertiesModifiedEventAttributes(modified) => {
            let fields = modified.upserted_memo.as_ref()?.fields.iter().collect::<BTreeMap<_, _>>();
            let names = fields.into_iter().map(|(key, payload)| match &json(payload)["note"]["kind"] {
                Value::String(kind) => format!("`{key}` ({kind})"),
                _ => format!("`{key}`"),
            });
            Some(names.collect::<Vec<_>>().join(" and "))
        }
        Attributes::MarkerRecordedEventAttributes(marker) => {
            let patch = marker.details.get("patch-data")?.payloads.first()?;
            Some(format!("marker of {}", json(patch)["id"]))
        }
        Attributes::UpsertWorkflowSearchAttributesEventAttributes(_) => {
            Some("search attribute of the patches".to_owned())
        }
        Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(_) => Some("decision, accepted".to_owned()),
        Attributes::WorkflowExecutionUpdateCompletedEventAttributes(_) => Some("decision, completed".to_owned()),
        _ => None,
    }
}

fn json(payload: &Payload) -> Value {
    serde_json::from_slice(&payload.data).unwrap_or_default()
}
