//! Prints the events of a run as they happen, from the workflow's own history: agent, turn, tools,
//! results, tokens.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::Context;
use serde::de::DeserializeOwned;
use temporal_agents::wire::{InputSegment, Item, ItemView, ModelReply, ModelRequest, ToolReply, ToolRequest, Usage};
use temporal_agents_testing::history::{self, History};
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::{
    common::v1::Payloads,
    history::v1::{HistoryEvent, history_event::Attributes},
};

/// Interval between reads of the history.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// A printer that polls the history of a workflow and prints new events, also across
/// continue-as-new.
#[derive(Debug, Default)]
pub struct Progress {
    /// The run whose history is read; `None` before the first look.
    run_id: Option<String>,
    histories: u32,
    seen: usize,
    /// The scheduled activities of the run, by the id of the event that scheduled them.
    scheduled: BTreeMap<i64, Scheduled>,
    /// The turn that was printed last; several turns may be in progress.
    speaker: String,
    /// The agent of the latest turn, by run: an agent that is called as a tool has a separate run.
    agents: BTreeMap<String, String>,
    /// The calls of the models, by run and call id.
    calls: BTreeMap<(String, String), Called>,
    told_outputs: BTreeSet<(String, String)>,
    /// `true` if activities, workflows or operations of other services have been called: their
    /// results look like those of inline tools.
    elsewhere: bool,
    usage: Usage,
    warned: BTreeSet<(String, i32)>,
}

#[derive(Debug)]
enum Scheduled {
    Model { activity_id: String, turn: String },
    Tool { activity_id: String, request: Box<ToolRequest> },
}

#[derive(Debug)]
struct Called {
    name: String,
    /// Id of the call's activity. The ids of an agent that is called as a tool begin with it.
    activity_id: String,
    is_agent: bool,
}

impl Progress {
    /// Returns a printer that has read no event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Prints the new events since the last look, and returns the whole history of the latest run.
    ///
    /// # Errors
    /// The history cannot be read.
    pub async fn look(&mut self, client: &Client, workflow_id: &str) -> anyhow::Result<History> {
        loop {
            let history = history::fetch(client, workflow_id, self.run_id.as_deref()).await?;
            if self.run_id.is_none() {
                self.run_id = first_run_of(&history);
                self.histories = 1;
                continue;
            }
            for event in &history.events[self.seen.min(history.events.len())..] {
                self.tell(event)?;
            }
            self.seen = history.events.len();
            let Some(next) = next_run_of(&history) else { return Ok(history) };
            println!("~ continues as new: a fresh history, the same conversation");
            self.run_id = Some(next);
            self.histories += 1;
            self.seen = 0;
            self.scheduled.clear();
        }
    }

    /// Prints a failed attempt that will be retried; history records it only when the call has
    /// ended.
    pub fn tell_retry(&mut self, activity_id: &str, attempt: i32, failure: &str) {
        if self.warned.insert((activity_id.to_owned(), attempt)) {
            println!("  ! attempt {} failed, Temporal tries again: {failure}", attempt - 1);
        }
    }

    /// Returns the number of histories that the workflow has had.
    pub fn histories(&self) -> u32 {
        self.histories
    }

    /// Returns the usage of the workflow so far, as one line.
    pub fn summary(&self) -> String {
        let Usage { requests, input_tokens, output_tokens, .. } = self.usage;
        let calls = if requests == 1 { "call" } else { "calls" };
        format!("Used {requests} model {calls}, {input_tokens} tokens in, {output_tokens} out.")
    }

    fn tell(&mut self, event: &HistoryEvent) -> anyhow::Result<()> {
        match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                let activity_id = scheduled.activity_id.clone();
                let kind = scheduled.activity_type.as_ref().map(|kind| kind.name.as_str()).unwrap_or_default();
                let what = if kind == temporal_agents::wire::MODEL_ACTIVITY {
                    let request: ModelRequest = read(scheduled.input.as_ref())?;
                    let turn = format!("{} · turn {}", request.agent, request.turn);
                    self.tell_model_call(&activity_id, &turn, &request);
                    Scheduled::Model { activity_id, turn }
                } else if let Ok(request) = read(scheduled.input.as_ref()) {
                    Scheduled::Tool { activity_id, request: Box::new(request) }
                } else {
                    // Neither a model nor a tool of the agents: the list of an MCP server's tools,
                    // or an activity of another worker.
                    self.elsewhere |= !kind.starts_with("agents.");
                    say(&activity_id, &format!("  .. {kind}"));
                    return Ok(());
                };
                self.scheduled.insert(event.event_id, what);
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                match self.scheduled.remove(&completed.scheduled_event_id) {
                    Some(Scheduled::Model { activity_id, turn }) => {
                        self.tell_answer(&activity_id, turn, &read(completed.result.as_ref())?);
                    }
                    Some(Scheduled::Tool { activity_id, request }) => {
                        let reply: ToolReply = read(completed.result.as_ref())?;
                        say(&activity_id, &format!("  <- {} = {}", request.tool, shortened(&reply.output.to_text())));
                        self.told_outputs.insert((run_of(&activity_id).to_owned(), request.call_id.clone()));
                    }
                    None => {}
                }
            }
            Some(Attributes::NexusOperationScheduledEventAttributes(scheduled)) => {
                self.elsewhere = true;
                println!("  .. {}.{} at {}", scheduled.service, scheduled.operation, scheduled.endpoint);
            }
            Some(Attributes::ActivityTaskCancelRequestedEventAttributes(request)) => {
                if let Some(Scheduled::Model { activity_id, turn }) = self.scheduled.get(&request.scheduled_event_id) {
                    say(activity_id, &format!("{turn} · is cancelled"));
                }
            }
            Some(Attributes::ActivityTaskFailedEventAttributes(failed)) => {
                let message = failed.failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default();
                println!("  ! activity failed: {}", shortened(&message));
            }
            _ => {}
        }
        Ok(())
    }

    fn tell_model_call(&mut self, activity_id: &str, turn: &str, request: &ModelRequest) {
        let items = request.input.segments.iter().filter_map(|segment| match segment {
            InputSegment::Items { items } => Some(items),
            _ => None,
        });
        for item in items.flatten() {
            self.tell_output(activity_id, item);
        }
        let answers = |call: &&mut Called| activity_id.starts_with(&format!("{}-", call.activity_id));
        for call in self.calls.values_mut().filter(answers) {
            call.is_agent = true;
        }
        let run = run_of(activity_id).to_owned();
        if let Some(before) = self.agents.insert(run, request.agent.clone()).filter(|before| *before != request.agent) {
            say(activity_id, &format!("  => {before} hands off to {}", request.agent));
        }
        say(activity_id, &format!("{turn} · asks {}", request.model));
        turn.clone_into(&mut self.speaker);
    }

    /// Prints outputs without an activity: those of inline tools, and of agents called as tools.
    fn tell_output(&mut self, activity_id: &str, item: &Item) {
        let ItemView::FunctionCallOutput { call_id, output } = item.view() else { return };
        let call = (run_of(activity_id).to_owned(), call_id.to_owned());
        if !self.told_outputs.insert(call.clone()) {
            return;
        }
        let text = shortened(&output.as_str().map_or_else(|| output.to_string(), str::to_owned));
        let line = match self.calls.get(&call) {
            Some(Called { name, .. }) if name.starts_with("transfer_to_") => return,
            Some(Called { name, is_agent: true, .. }) => format!("  <- {name} = {text} (an agent)"),
            Some(Called { name, .. }) if self.elsewhere => format!("  <- {name} = {text}"),
            Some(Called { name, .. }) => format!("  <- {name} = {text} (inline)"),
            None => return, // printed before, in an earlier run of a session
        };
        say(activity_id, &line);
    }

    fn tell_answer(&mut self, activity_id: &str, turn: String, reply: &ModelReply) {
        if self.speaker != turn {
            say(activity_id, &format!("{turn} · answers"));
            self.speaker = turn;
        }
        let response = &reply.response;
        self.usage.add(&response.usage);
        let tools = activity_id.trim_end_matches("model");
        let mut calls = 0;
        for item in &response.output {
            let line = match item.view() {
                ItemView::FunctionCall(call) => {
                    let called = Called {
                        name: call.name.to_owned(),
                        activity_id: format!("{tools}tool-{calls}"),
                        is_agent: false,
                    };
                    self.calls.insert((run_of(activity_id).to_owned(), call.call_id.to_owned()), called);
                    calls += 1;
                    format!("  -> {}({})", call.name, shortened(&call.arguments))
                }
                ItemView::Message { .. } => format!("  says {}", shortened(&item.text().unwrap_or_default())),
                ItemView::Reasoning => "  reasons".to_owned(),
                _ => format!("  {}", item.kind()),
            };
            say(activity_id, &line);
        }
        if let Some(reason) = &response.incomplete {
            say(activity_id, &format!("  ! the answer was cut short: {reason}"));
        }
        let Usage { input_tokens, output_tokens, .. } = response.usage;
        say(activity_id, &format!("  {input_tokens} tokens in, {output_tokens} out"));
    }
}

/// Prints a line, indented if the activity is of an agent that runs inside another one.
fn say(activity_id: &str, line: &str) {
    println!("{:1$}{line}", "", 4 * depth(activity_id));
}

/// Returns the nesting depth of the agent whose activity this is. Calls of `r-2-tool-0` are made
/// one level below `r-2-tool-0` itself.
fn depth(activity_id: &str) -> usize {
    let parts: Vec<&str> = activity_id.split('-').collect();
    parts.windows(3).filter(|part| matches!(part[0], "tool" | "guardrail")).count()
}

/// Returns the run that an activity belongs to: its id `<run>-<turn>-model` or
/// `<run>-<turn>-tool-<n>` without the rest.
fn run_of(activity_id: &str) -> &str {
    let parts = if activity_id.ends_with("-model") { 3 } else { 4 };
    activity_id.rsplitn(parts, '-').last().unwrap_or_default()
}

/// Returns the first run of the workflow, which may be the run of this history.
fn first_run_of(history: &History) -> Option<String> {
    history.events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
            Some(started.first_execution_run_id.clone())
        }
        _ => None,
    })
}

/// Returns the run that continues this one, if any.
fn next_run_of(history: &History) -> Option<String> {
    history.events.iter().rev().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(continued)) => {
            Some(continued.new_execution_run_id.clone())
        }
        _ => None,
    })
}

fn read<T: DeserializeOwned>(payloads: Option<&Payloads>) -> anyhow::Result<T> {
    let payload = payloads.and_then(|payloads| payloads.payloads.first()).context("an activity without a payload")?;
    Ok(serde_json::from_slice(&payload.data)?)
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 160;
    let line = text.replace('\n', " ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST).chain(['…']).collect()
}
