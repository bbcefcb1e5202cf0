//! Each id, type, timer and handler name of a golden history matters: with another one, the history does not replay.
//!
//! A replay compares the commands of the code with the events of the history. So a changed event stands for a changed
//! line of code, and needs no build. `each_listed_kind_has_a_golden_history` makes sure that there is an event of each
//! kind. `cargo test -p temporal-agents-tests --test it golden_history -- --nocapture` prints all changes.

use std::collections::BTreeMap;

use serde_json::Value;
use temporal_agents_testing::{ReplayCheck, history::History};
use temporalio_common::protos::temporal::api::{
    common::v1::Payloads,
    enums::v1::EventType,
    history::v1::{HistoryEvent, WorkflowPropertiesModifiedEventAttributes, history_event::Attributes},
};

/// Changes one property of an event; `None` if the event does not have it.
type Change = fn(&mut HistoryEvent) -> Option<String>;

const CHANGES: [(&str, Change); 9] = [
    ("id", |event| match event.attributes.as_mut()? {
        Attributes::ActivityTaskScheduledEventAttributes(scheduled) => Some(renamed(&mut scheduled.activity_id)),
        Attributes::MarkerRecordedEventAttributes(marker) => {
            renamed_member(marker.details.get_mut("data")?, "activity_id")
        }
        _ => None,
    }),
    ("type", |event| match event.attributes.as_mut()? {
        Attributes::ActivityTaskScheduledEventAttributes(scheduled) => {
            Some(renamed(&mut scheduled.activity_type.as_mut()?.name))
        }
        Attributes::MarkerRecordedEventAttributes(marker) => {
            renamed_member(marker.details.get_mut("data")?, "activity_type")
        }
        _ => None,
    }),
    // The SDK compares neither the timer nor the operation, so another command takes its place.
    ("timer", |event| match event.attributes.as_ref()? {
        Attributes::TimerStartedEventAttributes(timer) => {
            let timer = timer.timer_id.clone();
            replaced(event);
            Some(timer)
        }
        _ => None,
    }),
    ("nexus operation", |event| match event.attributes.as_ref()? {
        Attributes::NexusOperationScheduledEventAttributes(operation) => {
            let operation = operation.operation.clone();
            replaced(event);
            Some(operation)
        }
        _ => None,
    }),
    ("child id", |event| match event.attributes.as_mut()? {
        Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child) => Some(renamed(&mut child.workflow_id)),
        _ => None,
    }),
    ("child type", |event| match event.attributes.as_mut()? {
        Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child) => {
            Some(renamed(&mut child.workflow_type.as_mut()?.name))
        }
        _ => None,
    }),
    ("update", |event| match event.attributes.as_mut()? {
        Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(update) => {
            Some(renamed(&mut update.accepted_request.as_mut()?.input.as_mut()?.name))
        }
        _ => None,
    }),
    ("signal", |event| match event.attributes.as_mut()? {
        Attributes::WorkflowExecutionSignaledEventAttributes(signal) => Some(renamed(&mut signal.signal_name)),
        _ => None,
    }),
    ("patch", |event| match event.attributes.as_mut()? {
        Attributes::MarkerRecordedEventAttributes(marker) if marker.marker_name == "core_patch" => {
            renamed_member(marker.details.get_mut("patch-data")?, "id")
        }
        _ => None,
    }),
];

/// Changes a name, and returns it as it was.
fn renamed(name: &mut String) -> String {
    let before = name.clone();
    name.push('x');
    before
}

/// Makes the event that of another command.
fn replaced(event: &mut HistoryEvent) {
    event.set_event_type(EventType::WorkflowPropertiesModified);
    event.attributes = Some(Attributes::WorkflowPropertiesModifiedEventAttributes(
        WorkflowPropertiesModifiedEventAttributes::default(),
    ));
}

/// Changes a member of a payload, and returns it as it was.
fn renamed_member(payloads: &mut Payloads, member: &str) -> Option<String> {
    let payload = payloads.payloads.first_mut()?;
    let mut data: Value = serde_json::from_slice(&payload.data).ok()?;
    let mut name = data.get(member)?.as_str()?.to_owned();
    let before = renamed(&mut name);
    data[member] = Value::String(name);
    payload.data = data.to_string().into_bytes();
    Some(before)
}

/// Returns a name without the id of its run and without numbers.
fn form(name: &str) -> String {
    let of_run = name.split_once('-').filter(|(run, _)| run.len() == 8 && run.chars().all(char::is_alphanumeric));
    let name = of_run.map_or(name, |(_, rest)| rest);
    name.split('-').map(|part| if part.parse::<u32>().is_ok() { "#" } else { part }).collect::<Vec<_>>().join("-")
}

/// Returns the history with each kind of its events changed, once for each kind.
fn mutants(history: &History) -> BTreeMap<String, History> {
    let mut mutants = BTreeMap::new();
    for (at, event) in history.events.iter().enumerate() {
        for (what, change) in CHANGES {
            let mut changed: HistoryEvent = event.clone();
            let Some(before) = change(&mut changed) else { continue };
            mutants.entry(format!("{what} {}", form(&before))).or_insert_with(|| {
                let mut mutant = history.clone();
                mutant.events[at] = changed;
                mutant
            });
        }
    }
    mutants
}

/// Checks that the history replays with none of its events changed.
pub(super) async fn check(name: &str, check: &ReplayCheck, history: &History) -> anyhow::Result<()> {
    let mut unnoticed = Vec::new();
    for (change, mutant) in mutants(history) {
        match check.replay(&mutant).await {
            Ok(()) => unnoticed.push(change),
            Err(_) => println!("{name}: another {change} is noticed"),
        }
    }
    anyhow::ensure!(unnoticed.is_empty(), "{name} replays although these were changed: {unnoticed:?}");
    Ok(())
}
