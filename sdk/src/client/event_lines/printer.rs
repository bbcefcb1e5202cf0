//! The events of a workflow on a server, printed as they happen.

use std::{collections::BTreeSet, io, time::Duration};

use futures::{StreamExt, stream::Fuse};
use temporal_agents_core::wire::EventKind;
use temporalio_client::Client;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::EventWriter;
use crate::client::{AgentHandle, QuietWatch, RunEventStream, RunEvents, RunEventsError};

/// Interval between two drawings of the status.
const FRAME: Duration = Duration::from_millis(120);
/// Interval between requests for the facts of agentic sessions, which are not in the stream.
const SESSION_INTERVAL: Duration = Duration::from_millis(500);

/// Prints the events of one workflow, of its children and of its agentic sessions, to the standard
/// output: facts as lines, and the texts of messages while models write them. [`EventWriter`]
/// describes the form. A run that makes no progress has a line that says why, and what helps.
///
/// ```no_run
/// use temporal_agents::client::event_lines::RunPrinter;
///
/// # async fn follow(
/// #     client: &temporalio_client::Client,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let mut printer = RunPrinter::new(client, "refund-7");
/// printer.print_to_end().await?;
/// # Ok(())
/// # }
/// ```
pub struct RunPrinter {
    events: RunEvents,
    workflow_id: String,
    stream: Fuse<RunEventStream>,
    writer: EventWriter,
    workflow: AgentHandle,
    quiet: QuietWatch,
    /// Ids of the facts of agentic sessions that were printed.
    of_sessions: BTreeSet<String>,
}

/// The events of a workflow cannot be printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrintError {
    /// The events cannot be read.
    #[error(transparent)]
    Events(#[from] RunEventsError),
    /// The output cannot be written: its reader may have gone.
    #[error("the standard output cannot be written")]
    Output(#[from] io::Error),
}

impl RunPrinter {
    /// Creates a printer that has printed nothing yet.
    pub fn new(client: &Client, workflow_id: impl Into<String>) -> Self {
        let (events, workflow_id) = (RunEvents::new(client), workflow_id.into());
        Self {
            workflow: AgentHandle::new(client, &*workflow_id),
            quiet: QuietWatch::default(),
            stream: events.watch_live(&*workflow_id).fuse(),
            events,
            workflow_id,
            writer: EventWriter::stdout(),
            of_sessions: BTreeSet::new(),
        }
    }

    /// Returns the writer of the events, to which the program can write lines of its own meanwhile.
    pub fn writer(&self) -> EventWriter {
        self.writer.clone()
    }

    /// Prints the events up to the first one that `is_last` selects. Returns `false` if the
    /// workflow has ended without it. No event is lost if the future is dropped.
    ///
    /// # Errors
    /// [`PrintError`].
    pub async fn print_until(&mut self, is_last: impl Fn(&EventKind) -> bool) -> Result<bool, PrintError> {
        let mut frames = interval(FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut requested = None::<Instant>;
        loop {
            tokio::select! {
                event = self.stream.next() => {
                    let Some(event) = event.transpose()? else { break };
                    self.quiet.event_came();
                    self.writer.event(&event)?;
                    if is_last(&event.kind) {
                        self.writer.end_line()?;
                        return Ok(true);
                    }
                }
                () = self.quiet.is_due() => {
                    let problem = self.workflow.problem().await;
                    match self.quiet.looked(problem) {
                        Some(Some(problem)) => self.writer.line(&format!("! stuck: {problem}"))?,
                        Some(None) => self.writer.line("* the run makes progress again")?,
                        None => {}
                    }
                }
                _ = frames.tick() => {
                    if requested.is_none_or(|requested| requested.elapsed() >= SESSION_INTERVAL) {
                        self.print_sessions().await?;
                        requested = Some(Instant::now());
                    }
                    self.writer.draw_status()?;
                }
            }
        }
        self.writer.end_line()?;
        Ok(false)
    }

    /// Prints the events until the workflow has ended.
    ///
    /// # Errors
    /// [`PrintError`].
    pub async fn print_to_end(&mut self) -> Result<(), PrintError> {
        self.print_until(|_| false).await?;
        Ok(())
    }

    /// Returns the usage of the workflow so far, as one line; `None` if no run has begun.
    pub fn summary(&self) -> Option<String> {
        self.writer.summary()
    }

    /// Prints the new facts of the agentic sessions that are under way.
    async fn print_sessions(&mut self) -> io::Result<()> {
        // The next request may succeed.
        let Ok(facts) = self.events.session_facts(&*self.workflow_id).await else { return Ok(()) };
        for fact in facts {
            if self.of_sessions.insert(fact.id.clone()) {
                self.writer.event(&fact)?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for RunPrinter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunPrinter").field("workflow_id", &self.workflow_id).finish_non_exhaustive()
    }
}
