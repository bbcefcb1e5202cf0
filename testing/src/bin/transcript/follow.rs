//! A live run in the terminal: its events as they happen, and a last line with a spinner, which
//! names the call that is under way.
//!
//! Output to a file or a pipe has no colours and no spinner.

use std::{
    collections::BTreeSet,
    io::{IsTerminal, Write, stdout},
    time::Duration,
};

use temporal_agents::{
    client::{RunEvents, RunEventsError},
    wire::{EventKind, RunEvent},
};
use temporal_agents_testing::event_lines::{EventLines, one_line, visible};
use temporalio_client::Client;
use tokio::time::{Instant, interval};

/// Interval between two frames of the spinner, and between two requests for the facts of sessions.
const FRAME: Duration = Duration::from_millis(120);
const REQUESTS: Duration = Duration::from_secs(1);
/// Number of characters of the end of a message that is being written.
const MAX_WRITTEN_CHARS: usize = 60;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Prints the events of a workflow until it has ended. Returns without an error when the reader of
/// the output has gone.
///
/// # Errors
/// [`RunEventsError`].
pub(crate) async fn follow(client: &Client, workflow_id: &str) -> Result<(), RunEventsError> {
    let is_terminal = stdout().is_terminal();
    let mut lines = if is_terminal { EventLines::new().with_colours() } else { EventLines::new() };
    let events = RunEvents::new(client);
    let mut stream = events.watch_live(workflow_id);
    let (mut frames, mut screen) = (interval(FRAME), Screen { is_terminal, ..Screen::default() });
    let mut asked = Instant::now();
    loop {
        let printed = tokio::select! {
            event = stream.next() => match event {
                None => {
                    // A reader of the output that has gone needs no last line.
                    let _ = match lines.summary() {
                        Some(summary) => screen.print(&summary),
                        None => screen.clear(),
                    };
                    return Ok(());
                }
                Some(event) => screen.event(&mut lines, &event?),
            },
            _ = frames.tick() => {
                if asked.elapsed() >= REQUESTS {
                    // Sessions are a courtesy: a failure to read them is not the run's.
                    let of_sessions = events.session_facts(workflow_id).await.unwrap_or_default();
                    asked = Instant::now();
                    screen.of_sessions(&mut lines, &of_sessions)
                } else {
                    screen.spin()
                }
            }
        };
        if printed.is_err() {
            return Ok(());
        }
    }
}

/// The last line of the terminal, below the events.
#[derive(Default)]
struct Screen {
    is_terminal: bool,
    frame: usize,
    /// The call or the decision that is awaited.
    waits_for: Option<String>,
    /// The message that is being written: its id, the attempt, and its end.
    written: (String, u32, String),
    /// The ids of the facts of sessions that were printed.
    known: BTreeSet<String>,
}

impl Screen {
    fn event(&mut self, lines: &mut EventLines, event: &RunEvent) -> std::io::Result<()> {
        match &event.kind {
            EventKind::ModelCallScheduled { .. } => {
                self.waits_for = Some(format!("{} waits for the model", start(&event.agent)));
            }
            EventKind::ToolCall { name, .. } => {
                self.waits_for = Some(format!("{} runs {}", start(&event.agent), start(name)));
            }
            EventKind::TextDelta { message_id, attempt, delta } => {
                self.write(message_id, *attempt, delta);
                self.waits_for = Some(format!("{}: {}", start(&event.agent), self.written.2));
            }
            EventKind::RunPaused {} => self.waits_for = Some("waits for a decision".to_owned()),
            kind if kind.ends_the_run() => self.waits_for = None,
            _ => {}
        }
        match lines.line(event) {
            Some(line) => self.print(&line),
            None => Ok(()),
        }
    }

    /// Prints the facts of sessions since the last time.
    fn of_sessions(&mut self, lines: &mut EventLines, facts: &[RunEvent]) -> std::io::Result<()> {
        for fact in facts {
            if self.known.insert(fact.id.clone()) {
                self.event(lines, fact)?;
            }
        }
        Ok(())
    }

    /// Adds a part to the message that is being written, of which the end is shown.
    fn write(&mut self, message_id: &str, attempt: u32, delta: &str) {
        if (&*self.written.0, self.written.1) != (message_id, attempt) {
            self.written = (message_id.to_owned(), attempt, String::new());
        }
        self.written.2.push_str(&visible(delta).replace('\n', " "));
        let end = &self.written.2;
        let from = end.char_indices().rev().nth(MAX_WRITTEN_CHARS).map_or(0, |(at, _)| at);
        self.written.2 = end[from..].to_owned();
    }

    fn print(&mut self, line: &str) -> std::io::Result<()> {
        self.clear()?;
        writeln!(stdout(), "{line}")?;
        stdout().flush()
    }

    /// Draws the last line.
    fn spin(&mut self) -> std::io::Result<()> {
        let (true, Some(waits_for)) = (self.is_terminal, &self.waits_for) else { return Ok(()) };
        self.frame = (self.frame + 1) % SPINNER.len();
        write!(stdout(), "\r\u{1b}[2K{} {waits_for}", SPINNER[self.frame])?;
        stdout().flush()
    }

    fn clear(&self) -> std::io::Result<()> {
        if self.is_terminal {
            write!(stdout(), "\r\u{1b}[2K")?;
            stdout().flush()?;
        }
        Ok(())
    }
}

/// Returns the beginning of a name, so that the last line is not broken.
fn start(name: &str) -> String {
    one_line(name).chars().take(30).collect()
}
