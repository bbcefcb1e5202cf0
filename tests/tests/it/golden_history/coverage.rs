//! Each kind of command and handler has a golden history, so that a change of one cannot replay unnoticed.
//!
//! `tests/golden/kinds.json` lists the kinds. The ids of activities are listed as the source has them, so a new one
//! fails here until it is listed and recorded. `mutations` changes each in turn.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::LazyLock,
};

use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;
use temporal_agents_testing::history;
use temporalio_common::protos::temporal::api::{
    common::v1::Payload,
    history::v1::{HistoryEvent, history_event::Attributes},
};

use crate::tidy::{read, sources};

#[derive(Deserialize)]
struct Kinds {
    /// Templates of the ids of activities, as they are in the source.
    activity_ids: BTreeSet<String>,
    /// Ids without a golden history, and why.
    unrecorded_ids: BTreeMap<String, String>,
    /// Types of activities, or the part before the name of a tool, a server or a store.
    activity_types: BTreeSet<String>,
    /// Messages to a workflow: `update name` or `signal name`.
    handlers: BTreeSet<String>,
    timers: Vec<Timer>,
    /// Files that start timers without a golden history, and why.
    unrecorded_timers: BTreeMap<String, String>,
    commands: BTreeSet<String>,
}

/// The timers that a file starts.
#[derive(Deserialize)]
struct Timer {
    file: String,
    /// A regular expression that finds their summary.
    summary: String,
}

static KINDS: LazyLock<Kinds> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../golden/kinds.json")).expect("kinds.json lists the kinds")
});

/// What the golden histories hold, a line each: `id ..`, `type ..`, `update ..`, `signal ..`, `timer ..`, `command ..`.
static HELD: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/histories/v0.1");
    let files = fs::read_dir(folder).expect("the folder of golden histories");
    let mut held = BTreeSet::new();
    for file in files {
        let history = history::load(file.expect("a file").path()).expect("a history");
        held.extend(history.events.iter().flat_map(lines));
    }
    held
});

/// Returns the JSON of a payload.
fn decoded(payload: &Payload) -> Value {
    serde_json::from_slice(&payload.data).unwrap_or_default()
}

fn lines(event: &HistoryEvent) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match event.attributes.as_ref().expect("an event has attributes") {
        Attributes::ActivityTaskScheduledEventAttributes(scheduled) => {
            let name = scheduled.activity_type.as_ref().map(|kind| kind.name.clone()).unwrap_or_default();
            vec![format!("id {}", scheduled.activity_id), format!("type {name}")]
        }
        Attributes::MarkerRecordedEventAttributes(marker) if marker.marker_name == "core_local_activity" => {
            let data = decoded(&marker.details["data"].payloads[0]);
            vec![
                "command LOCAL_ACTIVITY".to_owned(),
                format!("id {}", text(&data["activity_id"])),
                format!("type {}", text(&data["activity_type"])),
            ]
        }
        Attributes::TimerStartedEventAttributes(_) => {
            let summary = event.user_metadata.as_ref().and_then(|metadata| metadata.summary.as_ref());
            vec![format!("timer {}", summary.map(|summary| text(&decoded(summary))).unwrap_or_default())]
        }
        Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) => {
            let input = accepted.accepted_request.as_ref().and_then(|request| request.input.as_ref());
            vec![format!("update {}", input.map(|input| &*input.name).unwrap_or_default())]
        }
        Attributes::WorkflowExecutionSignaledEventAttributes(signaled) => {
            vec![format!("signal {}", signaled.signal_name)]
        }
        _ => vec![format!("command {}", event.event_type().as_str_name().trim_start_matches("EVENT_TYPE_"))],
    }
}

/// Returns `true` if an id has the form of a template. A placeholder at the start is the id of a run or of another
/// activity, any other one is a number.
fn has_form(template: &str) -> Regex {
    let mut form = String::from("^id ");
    for (at, part) in template.split('{').enumerate() {
        let literal = match (at, part.split_once('}')) {
            (0, _) => {
                form.push_str(if part.is_empty() { "" } else { "(?:.+-)?" });
                part
            }
            (at, Some((placeholder, literal))) => {
                let is_first = at == 1 && template.starts_with('{');
                form.push_str(match placeholder {
                    "when" => "(?:resume-)?mcp",
                    _ if is_first => ".+",
                    _ => r"\d+",
                });
                literal
            }
            (_, None) => unreachable!("{template} closes its placeholders"),
        };
        form.push_str(literal);
    }
    // Parts of an effect, and effects of an agent inside it, continue the id.
    Regex::new(&(form + "(?:-.+)?$")).expect("a valid expression")
}

fn finds(expression: &Regex) -> bool {
    HELD.iter().any(|line| expression.is_match(line))
}

/// Returns the templates of activity ids in the deterministic half.
fn templates() -> BTreeSet<String> {
    let forms = [
        r#"\.effect\(\s*(?:format_args!\(\s*)?"([^"]+)""#,
        r#"format!\(\s*"([^"]+)""#,
        r#"const ACTIVITY_ID: &str = "([^"]+)""#,
    ]
    .map(|form| Regex::new(form).expect("a valid expression"));
    let is_id = Regex::new(r"^(?:[a-z-]|\{[a-z_]*\})+$").expect("a valid expression");
    let placeholder = Regex::new(r"\{[^}]*\}").expect("a valid expression");
    let mut found = BTreeSet::new();
    for directory in ["sdk/core/src/drive", "sdk/src/workflow"] {
        for file in sources(directory) {
            let source = read(directory, &file);
            let literals = forms.iter().flat_map(|form| form.captures_iter(&source)).map(|found| found[1].to_owned());
            found.extend(literals.filter(|literal| {
                let named = placeholder.replace_all(literal, "").contains(|letter: char| letter.is_ascii_lowercase());
                is_id.is_match(literal) && (named || literal.contains("{when}"))
            }));
        }
    }
    // Its second placeholder is the time at which the servers are asked.
    if found.remove("{turn}-{when}-{at}") {
        found.extend(["{turn}-mcp-{at}", "{turn}-resume-mcp-{at}"].map(str::to_owned));
    }
    found
}

#[test]
fn each_activity_id_of_the_source_is_listed() {
    let listed = KINDS.activity_ids.iter().chain(KINDS.unrecorded_ids.keys());
    assert_eq!(templates(), listed.cloned().collect());
}

#[test]
fn each_file_that_starts_timers_is_listed() {
    let starts = Regex::new(r"(?m)^[^/]*\bctx\s*\.(?:timer|pause)\(").expect("a valid expression");
    let files = sources("sdk/src/workflow").into_iter().filter(|file| {
        // The context only forwards.
        !file.starts_with("context") && starts.is_match(&read("sdk/src/workflow", file))
    });
    let found: BTreeSet<String> = files.map(|file| format!("workflow/{}", file.display())).collect();
    let listed = KINDS.timers.iter().map(|timer| &timer.file).chain(KINDS.unrecorded_timers.keys());
    assert_eq!(found, listed.cloned().collect());
}

#[test]
fn each_listed_kind_has_a_golden_history() {
    let literal = |kind: &str, name: &str| {
        let name = name.replace('.', r"\.");
        Regex::new(&format!(r"^{kind} {name}(\.|$)")).expect("a valid expression")
    };
    let mut missing: Vec<String> = Vec::new();
    let ids = KINDS.activity_ids.iter().map(|template| (template.clone(), has_form(template)));
    let types = KINDS.activity_types.iter().map(|name| (name.clone(), literal("type", name)));
    let timers = KINDS.timers.iter().map(|timer| {
        let summary = Regex::new(&format!("^timer .*{}", timer.summary)).expect("a valid expression");
        (format!("timer of {}", timer.file), summary)
    });
    let handlers = KINDS.handlers.iter().map(|handler| {
        let (kind, name) = handler.split_once(' ').expect("kind and name");
        (handler.clone(), literal(kind, name))
    });
    let commands = KINDS.commands.iter().map(|name| (name.clone(), literal("command", name)));
    for (kind, expression) in ids.chain(types).chain(timers).chain(handlers).chain(commands) {
        if !finds(&expression) {
            missing.push(format!("{kind} ({})", expression.as_str()));
        }
    }
    assert_eq!(missing, Vec::<String>::new(), "record a golden history for each");
}
