//! The output for the events of a workflow's runs.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use temporal_agents_core::wire::RunEvent;

use super::{EventLines, status::Status, writing::Writing};

/// The control sequence that removes the last line of a terminal.
const CLEAR: &str = "\r\u{1b}[2K";

/// Writes the events of a workflow's runs as they happen: lines, and the texts of messages while
/// models write them. Clones write to the same output.
///
/// ```
/// # use temporal_agents::wire::RunEvent;
/// use temporal_agents::client::event_lines::EventWriter;
///
/// # fn example(events: &[RunEvent]) -> std::io::Result<()> {
/// let writer = EventWriter::stdout();
/// for event in events {
///     writer.event(event)?;
/// }
/// writer.line("* that was all")?;
/// # Ok(())
/// # }
/// ```
///
/// The text of one message at a time is written through, on a line of its own:
///
/// ```text
/// desk · turn 1 · asks gpt-5-mini
///   says: The keeper of the lighth [cut off]
///   ! attempt 1 of the model call failed, Temporal tries again at 12:00:00 UTC: ..
///   says again, at attempt 2: The keeper of the lighthouse wrote down the weather.
///   100 tokens in, 20 out (attempt 2, ..)
/// ```
///
/// - A message whose first part arrives while another run's is written is written whole, when it
///   is complete. So are all messages without parts, and those whose parts are not seen.
/// - A line in between ends that of the text with ` …`. The text continues on a line that begins
///   with `… `.
/// - A text that is not the answer ends with ` [cut off]`.
/// - Parts of reasoning and of arguments are not written.
///
/// The output is the same in a terminal, a pipe and a file, except for colours and for a last line
/// in the terminal that names the call which is waited for.
#[derive(Clone)]
pub struct EventWriter(Arc<Mutex<Output>>);

struct Output {
    out: Box<dyn Write + Send>,
    lines: EventLines,
    writing: Writing,
    /// Set for a terminal.
    status: Option<Status>,
    /// `true` while the last line of the terminal is the status.
    is_drawn: bool,
}

impl EventWriter {
    /// Creates a writer to this output, without colours.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        Self::of(Box::new(out), EventLines::new(), None)
    }

    /// Creates a writer to the standard output, with colours if it is a terminal.
    pub fn stdout() -> Self {
        let out = io::stdout();
        if out.is_terminal() {
            Self::of(Box::new(out), EventLines::new().with_colours(), Some(Status::default()))
        } else {
            Self::new(out)
        }
    }

    fn of(out: Box<dyn Write + Send>, lines: EventLines, status: Option<Status>) -> Self {
        Self(Arc::new(Mutex::new(Output { out, lines, writing: Writing::default(), status, is_drawn: false })))
    }

    /// Writes an event.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn event(&self, event: &RunEvent) -> io::Result<()> {
        let mut output = self.output();
        let Output { lines, writing, status, .. } = &mut *output;
        let mut text = String::new();
        writing.event(lines, event, &mut text);
        if let Some(status) = status {
            status.event(event);
        }
        output.write(&text)
    }

    /// Writes a line of the program, below the events so far.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn line(&self, line: &str) -> io::Result<()> {
        let mut output = self.output();
        let mut text = String::new();
        output.writing.interrupt(&mut text);
        output.write(&format!("{text}{line}\n"))
    }

    /// Ends the last line, so that others can write to the output until the next event.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn end_line(&self) -> io::Result<()> {
        let mut output = self.output();
        let mut text = String::new();
        output.writing.interrupt(&mut text);
        output.write(&text)?;
        output.clear()
    }

    /// Draws the last line of a terminal, with the call that is waited for. Call it several times a
    /// second; it does nothing while a text is written, and for other outputs.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn draw_status(&self) -> io::Result<()> {
        let mut output = self.output();
        if output.writing.is_open() {
            return Ok(());
        }
        let Some(frame) = output.status.as_mut().and_then(Status::next_frame) else { return Ok(()) };
        output.is_drawn = true;
        write!(output.out, "{CLEAR}{frame}")?;
        output.out.flush()
    }

    /// Returns the usage of all model calls so far as one line; `None` if no run has begun.
    pub fn summary(&self) -> Option<String> {
        self.output().lines.summary()
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Output {
    fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.clear()?;
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }

    /// Removes the status.
    fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_drawn) {
            self.out.write_all(CLEAR.as_bytes())?;
            self.out.flush()?;
        }
        Ok(())
    }
}

impl fmt::Debug for EventWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventWriter").field(&self.output().writing).finish()
    }
}
