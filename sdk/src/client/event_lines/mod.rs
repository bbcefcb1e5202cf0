//! The events of a run as lines for a terminal.
//!
//! ```text
//! > Two nights in Oslo, please.
//! desk · turn 1 · asks gpt-5-mini
//!   100 tokens in, 20 out
//!   -> get_weather({"city":"Oslo"})
//!   <- get_weather = 12 degrees
//! desk · turn 2 · asks gpt-5-mini
//!   100 tokens in, 20 out
//!   says: It is 12 degrees.
//! desk has finished
//! Used 2 model calls, 200 tokens in, 40 out.
//! ```
//!
//! [`EventLines`] formats events as lines. [`EventWriter`] also writes the text of a message while
//! it arrives, and [`RunPrinter`] does so for a workflow on a server.
//!
//! Strings of models and tools are shown, not obeyed: control characters, and characters that
//! change the direction of text, are printed as escapes.

mod printer;
mod status;
mod strings;
mod wording;
mod writer;
mod writing;

use std::collections::BTreeMap;

use temporal_agents_core::wire::{EventKind, RunEvent, Usage};

use self::wording::{Colour, Form, Line, who};
pub use self::{
    printer::{PrintError, RunPrinter},
    strings::{one_line, visible},
    writer::EventWriter,
};

/// Formats the events of a workflow's runs as lines.
///
/// The lines of a turn are below the one with its agent and its number. Where turns of several
/// runs alternate, a line begins with agent and turn again.
///
/// ```no_run
/// use temporal_agents::client::RunEvents;
/// use temporal_agents::client::event_lines::EventLines;
/// # async fn follow(
/// #     client: &temporalio_client::Client,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
///
/// let mut stream = RunEvents::new(client).watch("refund-7");
/// let mut lines = EventLines::new();
/// while let Some(event) = stream.next().await {
///     if let Some(line) = lines.line(&event?) {
///         println!("{line}");
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct EventLines {
    colours: bool,
    /// The turns below which lines are printed, outermost first: one for each depth of nested runs.
    turns: Vec<Turn>,
    /// Text of the latest message of each run that has not ended: in most cases, its output.
    said: BTreeMap<String, String>,
    usage: Usage,
    has_run: bool,
}

/// One turn of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Turn {
    run: String,
    path: Vec<String>,
    agent: String,
    number: u32,
}

impl EventLines {
    /// Creates a format without colours.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds colours, for a terminal.
    #[must_use]
    pub fn with_colours(mut self) -> Self {
        self.colours = true;
        self
    }

    /// Formats the next event: one line without its line break, indented by the depth of the run.
    /// Returns `None` for an event that a reader does not need: each call shows its outcome, each
    /// message its whole text.
    pub fn line(&mut self, event: &RunEvent) -> Option<String> {
        let line = wording::of(event, self.said.get(&event.run).map(String::as_str));
        self.keep(event);
        let Line { colour, form, text } = line?;
        let (indent, text) = (indent(event), self.placed(event, form, text));
        Some(format!("{indent}{}", self.coloured(colour, &text)))
    }

    /// Returns the beginning of a line of the event's turn, which ends with `text`.
    fn beginning(&mut self, event: &RunEvent, text: &str) -> String {
        format!("{}{}", indent(event), self.placed(event, Form::OfTurn, text.to_owned()))
    }

    /// Adds agent and turn to a line that is not below the one with them.
    fn placed(&mut self, event: &RunEvent, form: Form, text: String) -> String {
        match form {
            Form::OfRun => text,
            Form::OfTurn if self.is_below_turn(event) => format!("  {text}"),
            Form::OfTurn | Form::BeginsTurn => {
                self.begin_turn(event);
                format!("{} · turn {} · {text}", who(event), event.turn)
            }
        }
    }

    /// Returns the usage of all model calls so far as one line; `None` if no run has begun.
    pub fn summary(&self) -> Option<String> {
        let Usage { requests, input_tokens, output_tokens, .. } = self.usage;
        let calls = if requests == 1 { "call" } else { "calls" };
        self.has_run.then(|| format!("Used {requests} model {calls}, {input_tokens} tokens in, {output_tokens} out."))
    }

    /// Keeps what later lines depend on.
    fn keep(&mut self, event: &RunEvent) {
        self.has_run |= !event.run.is_empty();
        match &event.kind {
            EventKind::ModelCallAnswered { usage, .. } => self.usage.add(usage),
            EventKind::Message { text, .. } => drop(self.said.insert(event.run.clone(), text.clone())),
            kind if kind.ends_the_run() && event.path.is_empty() => drop(self.said.remove(&event.run)),
            _ => {}
        }
    }

    /// Returns `true` if the lines of this depth belong to the turn of the event.
    fn is_below_turn(&self, event: &RunEvent) -> bool {
        // An event without a turn belongs to the line of its run, which comes right before.
        event.agent.is_empty()
            || event.turn == 0
            || self.turns.get(event.path.len()).is_some_and(|turn| *turn == Turn::of(event))
    }

    fn begin_turn(&mut self, event: &RunEvent) {
        let depth = event.path.len();
        self.turns.resize_with(self.turns.len().max(depth + 1), Turn::default);
        self.turns[depth] = Turn::of(event);
    }

    fn coloured(&self, colour: Option<Colour>, text: &str) -> String {
        match colour {
            Some(colour) if self.colours => format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code()),
            _ => text.to_owned(),
        }
    }
}

/// Returns the white space before a line, by the depth of the run.
fn indent(event: &RunEvent) -> String {
    " ".repeat(4 * event.path.len())
}

impl Turn {
    fn of(event: &RunEvent) -> Self {
        let RunEvent { run, path, agent, turn: number, .. } = event;
        Self { run: run.clone(), path: path.clone(), agent: agent.clone(), number: *number }
    }
}

#[cfg(test)]
mod tests;
