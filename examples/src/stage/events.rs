//! Prints the events of a workflow's runs as they happen: agent, turn, tools, results, tokens.

use std::{collections::BTreeSet, time::Duration};

use futures::{StreamExt, stream::Fuse};
use temporal_agents::{
    client::{RunEventStream, RunEvents},
    wire::{EventKind, RunEvent},
};
use temporal_agents_testing::event_lines::EventLines;
use temporalio_client::Client;

/// Interval between requests for the facts of agentic sessions, which are not in the stream.
const REQUEST_INTERVAL: Duration = Duration::from_millis(250);

/// Prints the events of one workflow, and of its children.
#[derive(Debug)]
pub struct Printer {
    events: RunEvents,
    workflow_id: String,
    stream: Fuse<RunEventStream>,
    lines: EventLines,
    /// Ids of the facts of agentic sessions that were printed.
    of_sessions: BTreeSet<String>,
}

impl Printer {
    /// Creates a printer that has printed nothing yet.
    pub fn new(client: &Client, workflow_id: &str) -> Self {
        let events = RunEvents::new(client);
        Self {
            stream: events.watch_live(workflow_id).fuse(),
            events,
            workflow_id: workflow_id.to_owned(),
            lines: EventLines::new(),
            of_sessions: BTreeSet::new(),
        }
    }

    /// Prints the events up to the first one that `is_last` selects. Returns `false` if the
    /// workflow has ended without it. No event is lost if the future is dropped.
    ///
    /// # Errors
    /// The history cannot be read.
    pub async fn print_until(&mut self, is_last: impl Fn(&EventKind) -> bool) -> anyhow::Result<bool> {
        let mut ticks = tokio::time::interval(REQUEST_INTERVAL);
        loop {
            tokio::select! {
                event = self.stream.next() => {
                    let Some(event) = event.transpose()? else { return Ok(false) };
                    self.print(&event);
                    if is_last(&event.kind) {
                        return Ok(true);
                    }
                }
                _ = ticks.tick() => self.print_sessions().await,
            }
        }
    }

    /// Prints the events until the workflow has ended.
    ///
    /// # Errors
    /// The history cannot be read.
    pub async fn print_to_end(&mut self) -> anyhow::Result<()> {
        self.print_until(|_| false).await?;
        Ok(())
    }

    /// Returns the usage of the workflow so far, as one line; `None` if no run has begun.
    pub fn summary(&self) -> Option<String> {
        self.lines.summary()
    }

    fn print(&mut self, event: &RunEvent) {
        if let Some(line) = self.lines.line(event) {
            println!("{line}");
        }
    }

    /// Prints the new facts of the agentic sessions that are under way.
    async fn print_sessions(&mut self) {
        // The next request may succeed.
        let Ok(facts) = self.events.session_facts(&*self.workflow_id).await else { return };
        for fact in facts {
            if self.of_sessions.insert(fact.id.clone()) {
                self.print(&fact);
            }
        }
    }
}
