//! The events of a run as lines for a terminal.
//!
//! Strings of models and tools are shown, not obeyed: control characters, and characters that
//! change the direction of text, are printed as escapes.

use temporal_agents::wire::{EventKind, Item, RecordedFailure, RunEvent, Usage, Verdict};

/// Maximum number of characters of a string of a model or a tool.
const MAX_SHOWN_CHARS: usize = 400;

/// Formats the events of a run as lines.
#[derive(Clone, Debug, Default)]
pub struct EventLines {
    colours: bool,
}

/// The colours of a terminal, as SGR codes.
#[derive(Clone, Copy)]
enum Colour {
    Dim,
    Bold,
    Red,
    Green,
    Yellow,
    Cyan,
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

    /// Formats an event: one line without its line break, indented by the depth of the run.
    /// Returns `None` for an event that a reader does not need: each call shows its outcome.
    pub fn line(&self, event: &RunEvent) -> Option<String> {
        let (colour, text) = described(event)?;
        let indent = " ".repeat(4 * event.path.len());
        Some(format!("{indent}{}", self.coloured(colour, &text)))
    }

    fn coloured(&self, colour: Option<Colour>, text: &str) -> String {
        let code = match colour {
            Some(Colour::Dim) => "2",
            Some(Colour::Bold) => "1",
            Some(Colour::Red) => "31",
            Some(Colour::Green) => "32",
            Some(Colour::Yellow) => "33",
            Some(Colour::Cyan) => "36",
            None => return text.to_owned(),
        };
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Returns the colour and the text of an event.
fn described(event: &RunEvent) -> Option<(Option<Colour>, String)> {
    let RunEvent { agent, turn, .. } = event;
    let agent = one_line(agent);
    let at = format!("{agent} · turn {turn}");
    let opaque = if event.is_opaque { " (its content is encoded)" } else { "" };
    Some(match &event.kind {
        EventKind::RunStarted { input } => {
            let said: Vec<String> = input.iter().filter_map(Item::text).map(|text| one_line(&text)).collect();
            (Some(Colour::Dim), format!("the run begins: {}{opaque}", said.join(" / ")))
        }
        EventKind::RunResumed {} => (Some(Colour::Dim), "the run continues".to_owned()),
        EventKind::RunContinued { execution } => {
            (Some(Colour::Dim), format!("the workflow continues as new in execution {execution}"))
        }
        EventKind::RunReset { execution, reason } => {
            (Some(Colour::Yellow), format!("the workflow was reset, as execution {execution}: {}", one_line(reason)))
        }
        EventKind::RunPaused {} => (Some(Colour::Yellow), "the run waits".to_owned()),
        EventKind::RunFinished { output, usage } => {
            let output = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            (Some(Colour::Green), format!("the run has finished: {}{}", one_line(&output), tokens(usage.as_ref())))
        }
        EventKind::RunFailed { failure, usage } => {
            (Some(Colour::Red), format!("the run has failed: {}{}", reason(failure), tokens(usage.as_ref())))
        }
        EventKind::RunCancelled { .. } => (Some(Colour::Red), "the run was cancelled".to_owned()),
        EventKind::RunTerminated { reason } => {
            (Some(Colour::Red), format!("the workflow was terminated: {}", one_line(reason)))
        }
        EventKind::RunTimedOut {} => (Some(Colour::Red), "the workflow has timed out".to_owned()),
        EventKind::ModelCallScheduled { model } => {
            (Some(Colour::Bold), format!("{at} · asks {}{opaque}", one_line(model)))
        }
        EventKind::ModelCallAnswered { attempts, earlier_failure, incomplete, usage, .. } => {
            let Usage { input_tokens, output_tokens, .. } = usage;
            let cut = incomplete.as_ref().map(|why| format!(", cut short: {}", one_line(why))).unwrap_or_default();
            let retried = retried(*attempts, earlier_failure.as_ref());
            (Some(Colour::Dim), format!("  {input_tokens} tokens in, {output_tokens} out{cut}{retried}{opaque}"))
        }
        EventKind::ModelCallFailed { attempts, failure, .. } => {
            (Some(Colour::Red), format!("  ! the model call failed after {attempts} attempts: {}", reason(failure)))
        }
        EventKind::Message { text, .. } => (None, format!("  {agent}: {}", one_line(text))),
        EventKind::Reasoning { .. } => (Some(Colour::Dim), "  reasons".to_owned()),
        EventKind::ToolCall { name, arguments, .. } => {
            (Some(Colour::Cyan), format!("  -> {}({})", one_line(name), one_line(arguments)))
        }
        EventKind::OtherItem { item } => (Some(Colour::Dim), format!("  {}", one_line(item.kind()))),
        EventKind::ToolOutput { name, output, attempts, earlier_failure, .. } => {
            let output = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            let retried = retried(*attempts, earlier_failure.as_ref());
            (Some(Colour::Cyan), format!("  <- {} = {}{retried}{opaque}", one_line(name), one_line(&output)))
        }
        EventKind::ToolFailed { name, attempts, failure, .. } => {
            let (name, why) = (one_line(name), reason(failure));
            (Some(Colour::Red), format!("  ! {name} failed after {attempts} attempts: {why}"))
        }
        EventKind::Handoff { from, to } => {
            (Some(Colour::Bold), format!("  => {} hands off to {}", one_line(from), one_line(to)))
        }
        EventKind::GuardrailTripped { guardrail, output_info, .. } => {
            let info = if output_info.is_null() { String::new() } else { format!(": {output_info}") };
            (Some(Colour::Red), format!("  ! guardrail {} has tripped{}", one_line(guardrail), one_line(&info)))
        }
        EventKind::QuestionAsked { question_id, tool, arguments, asked_by, .. } => {
            let (id, tool) = (one_line(question_id), one_line(tool));
            let text =
                format!("  ? {} wants to call {tool}({}), question {id}", one_line(asked_by), one_line(arguments));
            (Some(Colour::Yellow), text)
        }
        EventKind::QuestionDecided { question_id, decision, by, .. } => {
            let what = match decision {
                Verdict::Approve => "approved",
                Verdict::Reject { .. } => "rejected",
                _ => "answered",
            };
            let by = by.as_ref().map(|name| format!(" by {}", one_line(name))).unwrap_or_default();
            (Some(Colour::Yellow), format!("  ! {} was {what}{by}", one_line(question_id)))
        }
        EventKind::Compaction { items_before, items_after } => {
            let text = format!("the conversation is shortened from {items_before} items to {items_after}");
            (Some(Colour::Dim), text)
        }
        EventKind::AttemptDelta { effect, attempt, failure: Some(failure), next_at } => {
            let next = next_at.as_ref().map(|time| format!(", next attempt at {}", one_line(time)));
            let (why, next) = (reason(failure), next.unwrap_or_default());
            (Some(Colour::Yellow), format!("  ~ attempt {attempt} of {effect} failed: {why}{next}"))
        }
        EventKind::ToolOutputDelta { name, stream, delta, fraction, .. } => {
            let part = fraction.map(|part| format!(" {:.0} %", part * 100.0)).unwrap_or_default();
            (Some(Colour::Dim), format!("  .. {} {}{part}: {}", one_line(name), one_line(stream), one_line(delta)))
        }
        EventKind::EmittedDelta { name, value, .. } => {
            (Some(Colour::Dim), format!("  .. {} = {}", one_line(name), one_line(&value.to_string())))
        }
        EventKind::Other { kind, .. } => (Some(Colour::Dim), format!("  {}", one_line(kind))),
        _ => return None,
    })
}

/// Escapes characters that control a terminal or change the direction of text, since models and
/// tools write the text. The escapes are those of JSON, so that JSON remains valid and unchanged in
/// meaning.
pub fn visible(text: &str) -> String {
    let steers = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    let turns =
        |letter: char| matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if steers(letter) || turns(letter) {
            shown.extend(["\\u", &format!("{:04x}", u32::from(letter))]);
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns a string of a model or a tool on one line, escaped, and truncated if it is long.
pub fn one_line(text: &str) -> String {
    let line = text.replace(['\n', '\t'], " ");
    let mut letters = line.chars();
    let start: String = letters.by_ref().take(MAX_SHOWN_CHARS).collect();
    visible(&if letters.next().is_some() { format!("{start}…") } else { start })
}

fn reason(failure: &RecordedFailure) -> String {
    let causes = std::iter::successors(Some(failure), |failure| failure.cause.as_deref());
    let texts: Vec<String> =
        causes.map(|failure| format!("{}: {}", one_line(&failure.type_name), one_line(&failure.message))).collect();
    texts.join(", caused by ")
}

fn retried(attempts: u32, earlier: Option<&RecordedFailure>) -> String {
    match earlier {
        Some(failure) => format!(" (attempt {attempts}, the one before failed: {})", reason(failure)),
        None => String::new(),
    }
}

fn tokens(usage: Option<&Usage>) -> String {
    usage.map_or_else(String::new, |usage| {
        format!(" ({} requests, {} tokens in, {} out)", usage.requests, usage.input_tokens, usage.output_tokens)
    })
}

#[cfg(test)]
mod tests;
