//! Plays a folder of scenarios, several at a time.

use std::{
    any::Any,
    fs, io,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
};

use futures::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use temporal_agents_core::wire::item::IS_ERROR;

use super::{
    Host, Observed,
    format::Scenario,
    recorder::Recorded,
    venue::{NotPlayed, Played, Venue},
};
use crate::environment::EnvironmentError;

/// A reason for which a whole suite cannot be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", .path.display())]
    Read {
        /// The file, or the folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file is not a JSON object with a name.
    #[error("{} is not a scenario: it has no name", .path.display())]
    Nameless {
        /// The file.
        path: PathBuf,
    },
    /// The server could not be started.
    #[error(transparent)]
    Server(#[from] EnvironmentError),
}

/// A reason for which one scenario could not be played.
#[derive(Debug, thiserror::Error)]
enum ScenarioError {
    #[error("the scenario cannot be read: {0}")]
    Format(#[from] serde_json::Error),
    #[error("unsupported scenario format {format}; this driver supports format 1")]
    Version { format: u32 },
    #[error(transparent)]
    NotPlayed(#[from] NotPlayed),
    #[error("panicked: {0}")]
    Panicked(String),
}

/// Plays every `*.json` of a folder on a host and passes each scenario's observations to `tell` as
/// soon as they are available, in no particular order.
///
/// An error in one scenario is reported in that scenario's observations.
///
/// # Errors
/// [`SuiteError`] when the folder cannot be read or the server does not start.
pub async fn run(folder: &Path, host: Host, tell: impl FnMut(Observed)) -> Result<(), SuiteError> {
    play_all(&load(folder)?, host, tell).await
}

/// Plays scenarios, passed by name, on a host and passes each scenario's observations to `tell` as
/// soon as they are available, in no particular order.
///
/// An error in one scenario is reported in that scenario's observations.
///
/// # Errors
/// [`SuiteError::Server`] when the server does not start.
pub async fn play_all(
    scenarios: &[(String, Value)],
    host: Host,
    mut tell: impl FnMut(Observed),
) -> Result<(), SuiteError> {
    let venue = Venue::open(host).await?;
    let mut results =
        stream::iter(scenarios).map(|(name, json)| observe(name, json, &venue)).buffer_unordered(venue.at_a_time());
    while let Some(observed) = results.next().await {
        tell(observed);
    }
    drop(results);
    venue.close().await;
    Ok(())
}

/// Reads the scenarios of a folder by name, without their expectations.
fn load(folder: &Path) -> Result<Vec<(String, Value)>, SuiteError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| SuiteError::Read { path, source }
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        files.push(entry.map_err(unreadable(folder))?.path());
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(unreadable(&path))?;
        let mut json: Value = serde_json::from_str(&text).unwrap_or_default();
        let Some(name) = json["name"].as_str().map(str::to_owned) else { return Err(SuiteError::Nameless { path }) };
        if let Some(members) = json.as_object_mut() {
            members.shift_remove("expect");
        }
        Ok((name, json))
    };
    files.into_iter().map(read).collect()
}

/// Plays one scenario; errors and panics become its observations.
async fn observe(name: &str, json: &Value, venue: &Venue) -> Observed {
    let played = AssertUnwindSafe(play_one(name, json, venue)).catch_unwind().await;
    let played = played.unwrap_or_else(|panic| Err(ScenarioError::Panicked(message_of(&*panic))));
    played.unwrap_or_else(|error| {
        let expect = json!({"driver_error": error.to_string()});
        Observed { name: name.to_owned(), expect, activities: None, attempts: None, facts: Vec::new() }
    })
}

/// Removes from all outputs of calls the member that this library adds and does not send to
/// OpenAI's APIs.
fn without_own_members(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "function_call_output") {
                members.shift_remove(IS_ERROR);
            }
            members.values_mut().for_each(without_own_members);
        }
        Value::Array(values) => values.iter_mut().for_each(without_own_members),
        _ => {}
    }
}

async fn play_one(name: &str, json: &Value, venue: &Venue) -> Result<Observed, ScenarioError> {
    let scenario: Scenario = serde_json::from_value(json.clone())?;
    if scenario.format != 1 {
        return Err(ScenarioError::Version { format: scenario.format });
    }
    let Played { observed: mut expect, activities, attempts, recorder } = venue.play(scenario, json).await?;
    let Recorded { calls, tool_invocations, complaint } = recorder.recorded();
    expect["calls"] = calls.into();
    expect["tool_invocations"] = tool_invocations.into();
    if let Some(complaint) = complaint {
        expect["driver_error"] = complaint.into();
    }
    without_own_members(&mut expect);
    Ok(Observed { name: name.to_owned(), expect, activities, attempts, facts: recorder.take_facts() })
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
