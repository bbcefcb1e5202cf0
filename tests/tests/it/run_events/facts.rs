//! Facts of runs in a form in which those of two hosts are equal.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::Value;
use temporal_agents::wire::RunEvent;

/// The members that differ between hosts: ids of executions, times, attempts and failures.
const OF_HOST: [&str; 8] = ["version", "cursor", "run", "time", "attempts", "earlier_failure", "failure", "execution"];

/// Facts by run and path: what runs side by side has no order on any host.
type Lanes = BTreeMap<String, Vec<String>>;

fn lanes(events: &[RunEvent]) -> Lanes {
    let mut runs: Vec<&str> = Vec::new();
    let mut lanes: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for event in events {
        // The end of an execution is a fact of hosts that have executions.
        if event.kind.name() == "run_continued" {
            continue;
        }
        if !runs.contains(&&*event.run) {
            runs.push(&event.run);
        }
        let run = runs.iter().position(|run| *run == event.run).unwrap_or_default();
        let Ok(Value::Object(mut members)) = serde_json::to_value(event) else { panic!("an event is an object") };
        members.retain(|member, _| !OF_HOST.contains(&&**member));
        let id = event.id.strip_prefix(&event.run).unwrap_or(&event.id).to_owned();
        members.insert("id".to_owned(), id.clone().into());
        let lane = format!("run {run} {}", event.path.join("/"));
        let kind = event.kind.name().to_owned();
        lanes.entry(lane).or_default().push((format!("{kind} {id}"), Value::Object(members).to_string()));
    }
    lanes.into_iter().map(|(lane, facts)| (lane, in_call_order(facts))).collect()
}

/// Sorts outputs that follow one another: their order is that in which their calls have ended.
fn in_call_order(mut facts: Vec<(String, String)>) -> Vec<String> {
    let is_output = |(kind, _): &(String, String)| kind.starts_with("tool_output") || kind.starts_with("tool_failed");
    facts.chunk_by_mut(|one, next| is_output(one) && is_output(next)).for_each(|outputs| {
        if outputs.iter().all(is_output) {
            outputs.sort_by(|(one, _), (other, _)| {
                let id = |kind: &str| kind.split_once(' ').map(|(_, id)| id.to_owned());
                id(one).cmp(&id(other))
            });
        }
    });
    facts.into_iter().map(|(_, fact)| fact).collect()
}

/// The scenarios whose facts differ between two hosts.
#[derive(Default)]
pub(crate) struct Differences(String, usize);

impl Differences {
    /// Compares the facts of a scenario on two hosts.
    pub(crate) fn compare(&mut self, name: &str, one: &[RunEvent], other: &[RunEvent]) {
        let (one, other) = (lanes(one), lanes(other));
        if one == other {
            return;
        }
        self.1 += 1;
        let _ = writeln!(self.0, "\n# {name}");
        for lane in one.keys().chain(other.keys().filter(|lane| !one.contains_key(*lane))) {
            let empty = Vec::new();
            let (one, other) = (one.get(lane).unwrap_or(&empty), other.get(lane).unwrap_or(&empty));
            let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
            if at < one.len() || at < other.len() {
                let line = |facts: &[String]| facts.get(at).cloned().unwrap_or_else(|| "nothing".to_owned());
                let _ = writeln!(self.0, "{lane}, fact {at}\n  {}\n  {}", line(one), line(other));
            }
        }
    }

    /// Fails if facts differ.
    pub(crate) fn finish(self) {
        assert!(self.1 == 0, "the facts of {} scenarios differ{}", self.1, self.0);
    }
}
