//! Prints what a run does, as it happens, from the workflow's own history: agent, turn, tools, results, tokens.

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

/// How often the history is read.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// Reads the history of a workflow again and again and prints what is new.
#[derive(Debug)]
pub struct Progress {
    seen: usize,
    /// What each activity is, by the id of the event that scheduled it.
    scheduled: BTreeMap<i64, Scheduled>,
    told_outputs: BTreeSet<String>,
    tool_names: BTreeMap<String, String>,
    usage: Usage,
    warned: BTreeSet<(String, i32)>,
}

#[derive(Debug)]
enum Scheduled {
    Model,
    Tool(Box<ToolRequest>),
}

impl Progress {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self {
            seen: 0,
            scheduled: BTreeMap::new(),
            told_outputs: BTreeSet::new(),
            tool_names: BTreeMap::new(),
            usage: Usage::default(),
            warned: BTreeSet::new(),
        }
    }

    /// Prints what is new since the last look, and gives the whole history.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub async fn look(&mut self, client: &Client, workflow_id: &str) -> anyhow::Result<History> {
        let history = history::fetch(client, workflow_id, None).await?;
        for event in &history.events[self.seen.min(history.events.len())..] {
            self.tell(event)?;
        }
        self.seen = history.events.len();
        Ok(history)
    }

    /// Prints a failed attempt that is going to be repeated; history knows of it only when the call has ended.
    pub fn tell_retry(&mut self, activity_id: &str, attempt: i32, failure: &str) {
        if self.warned.insert((activity_id.to_owned(), attempt)) {
            println!("  ! attempt {} failed, Temporal tries again: {failure}", attempt - 1);
        }
    }

    /// What the run has used so far.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    fn tell(&mut self, event: &HistoryEvent) -> anyhow::Result<()> {
        match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                let kind = scheduled.activity_type.as_ref().map(|kind| kind.name.as_str()).unwrap_or_default();
                if kind == temporal_agents::workflow::MODEL_ACTIVITY {
                    let request: ModelRequest = read(scheduled.input.as_ref())?;
                    self.tell_model_call(&request);
                    self.scheduled.insert(event.event_id, Scheduled::Model);
                } else {
                    let request: ToolRequest = read(scheduled.input.as_ref())?;
                    self.scheduled.insert(event.event_id, Scheduled::Tool(Box::new(request)));
                }
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(completed)) => {
                match self.scheduled.get(&completed.scheduled_event_id) {
                    Some(Scheduled::Model) => {
                        let reply: ModelReply = read(completed.result.as_ref())?;
                        self.tell_answer(&reply);
                    }
                    Some(Scheduled::Tool(request)) => {
                        let reply: ToolReply = read(completed.result.as_ref())?;
                        println!("  <- {} = {}", request.tool, shortened(&reply.output.to_text()));
                        self.told_outputs.insert(request.call_id.clone());
                    }
                    None => {}
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

    fn tell_model_call(&mut self, request: &ModelRequest) {
        let items = request.input.segments.iter().filter_map(|segment| match segment {
            InputSegment::Items { items } => Some(items),
            _ => None,
        });
        for item in items.flatten() {
            self.tell_output(item);
        }
        println!("{} · turn {} · asks {}", request.agent, request.turn, request.model);
    }

    /// Outputs that no activity gave: inline tools, and handoffs.
    fn tell_output(&mut self, item: &Item) {
        let ItemView::FunctionCallOutput { call_id, output } = item.view() else { return };
        if !self.told_outputs.insert(call_id.to_owned()) {
            return;
        }
        let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
        match self.tool_names.get(call_id) {
            Some(name) if name.starts_with("transfer_to_") => println!("  => handoff: {name}"),
            Some(name) => println!("  <- {name} = {} (inline)", shortened(&text)),
            None => println!("  <- {call_id} = {}", shortened(&text)),
        }
    }

    fn tell_answer(&mut self, reply: &ModelReply) {
        let response = &reply.response;
        self.usage.add(&response.usage);
        for item in &response.output {
            match item.view() {
                ItemView::FunctionCall(call) => {
                    self.tool_names.insert(call.call_id.to_owned(), call.name.to_owned());
                    println!("  -> {}({})", call.name, shortened(&call.arguments));
                }
                ItemView::Message { .. } => {
                    println!("  says {}", shortened(&item.text().unwrap_or_default()));
                }
                ItemView::Reasoning => println!("  reasons"),
                _ => println!("  {}", item.kind()),
            }
        }
        if let Some(reason) = &response.incomplete {
            println!("  ! the answer was cut short: {reason}");
        }
        let Usage { input_tokens, output_tokens, .. } = response.usage;
        println!("  {input_tokens} tokens in, {output_tokens} out");
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
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
