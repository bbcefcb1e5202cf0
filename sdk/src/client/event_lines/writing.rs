//! The texts of messages, written while they arrive.
//!
//! - The text of one message at a time is written through: each part as it arrives, on a line of
//!   its own. A message whose first part arrives meanwhile, of another run, is written whole when
//!   its fact arrives.
//! - The fact of a message that was written adds the parts that are missing, and is no line.
//! - A line in between ends that of the text with ` …`; the text continues on a line that begins
//!   with `… `. No other text is written before it has ended.
//! - A text that is not the answer, because its attempt has failed or the next one has begun, ends
//!   with ` [cut off]`. The text of the next attempt begins with the number of the attempt.
//! - The lines of an answer (usage, reasoning, calls) follow the text that is written.

use std::collections::BTreeMap;

use temporal_agents_core::wire::{EventKind, RunEvent};

use super::{
    EventLines,
    strings::{MAX_MESSAGE_CHARS, unbroken},
};

/// The texts whose facts have not arrived, and the line that is written.
#[derive(Debug, Default)]
pub(super) struct Writing {
    /// The texts, by the id of their message.
    texts: BTreeMap<String, Text>,
    /// Id of the message that is written.
    current: Option<String>,
    /// `true` while the last line of the output is that of the message, without its line break.
    is_open: bool,
    /// The lines of the answer with the message, which follow its text.
    held: Vec<String>,
}

/// The text of a message, as far as it has arrived.
#[derive(Debug)]
struct Text {
    call: Call,
    attempt: u32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Its parts are written.
    Written(String),
    /// Its parts are not written: it began beside another one.
    Beside,
    /// The attempt has ended without the answer. `true` if parts were written.
    Void(bool),
}

/// A model call.
#[derive(Debug, PartialEq, Eq)]
struct Call {
    workflow: Option<String>,
    run: String,
    path: Vec<String>,
    turn: u32,
}

impl Writing {
    /// Returns `true` while the last line of the output has no line break.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Adds the output for an event.
    pub(super) fn event(&mut self, lines: &mut EventLines, event: &RunEvent, out: &mut String) {
        match &event.kind {
            EventKind::TextDelta { message_id, attempt, delta } => {
                self.part(lines, event, (message_id, *attempt), delta, out);
            }
            EventKind::AttemptDelta { effect, attempt, failure, .. } if !effect.contains("-tool-") => {
                let first_valid = attempt.saturating_add(u32::from(failure.is_some()));
                self.void(&Call::of(event), first_valid, out);
                self.line(lines, event, out);
            }
            EventKind::ModelCallFailed { .. } => {
                self.void(&Call::of(event), u32::MAX, out);
                self.line(lines, event, out);
            }
            EventKind::Message { text, .. } => self.message(lines, event, text, out),
            kind if kind.ends_the_run() => {
                self.end_run(event, out);
                self.line(lines, event, out);
            }
            _ => self.line(lines, event, out),
        }
    }

    /// Ends the line of the text, which continues on another line.
    pub(super) fn interrupt(&mut self, out: &mut String) {
        self.end_line(" …", out);
    }

    /// Writes a part of a text, if it is that of the message that is written.
    fn part(
        &mut self,
        lines: &mut EventLines,
        event: &RunEvent,
        (id, attempt): (&str, u32),
        delta: &str,
        out: &mut String,
    ) {
        let call = Call::of(event);
        let known = self.texts.get(id).map(|text| (text.attempt, matches!(text.state, State::Void(_))));
        let (is_known, is_late) =
            known.map_or((false, false), |(of, is_void)| (attempt == of, attempt < of || attempt == of && is_void));
        if is_late {
            return;
        }
        if is_known {
            if self.current.as_deref() == Some(id) {
                self.append(lines, event, id, delta, out);
            }
            return;
        }
        self.void(&call, attempt, out);
        let is_again = matches!(self.texts.get(id), Some(Text { state: State::Void(true), .. }));
        let is_beside = self.current_text().is_some_and(|current| current.call != call);
        if is_beside {
            self.texts.insert(id.to_owned(), Text { call, attempt, state: State::Beside });
            return;
        }
        // The item before this one in the same answer is complete.
        self.end_line("", out);
        self.current = Some(id.to_owned());
        self.texts.insert(id.to_owned(), Text { call, attempt, state: State::Written(String::new()) });
        let begins = if is_again { format!("says again, at attempt {attempt}: ") } else { "says: ".to_owned() };
        out.push_str(&lines.beginning(event, &begins));
        self.is_open = true;
        self.append(lines, event, id, delta, out);
    }

    /// Adds to the text that is written.
    fn append(&mut self, lines: &mut EventLines, event: &RunEvent, id: &str, part: &str, out: &mut String) {
        let Some(Text { state: State::Written(text), .. }) = self.texts.get_mut(id) else { return };
        // Characters have at most 4 bytes.
        let is_full = text.len() >= 4 * MAX_MESSAGE_CHARS;
        let left = if is_full { 0 } else { MAX_MESSAGE_CHARS.saturating_sub(text.chars().count()) };
        text.push_str(part);
        let shown = unbroken(part, left);
        if shown.is_empty() {
            return;
        }
        if !self.is_open {
            out.push_str(&lines.beginning(event, "… "));
            self.is_open = true;
        }
        out.push_str(&shown);
    }

    /// Writes a message: the part of it that is missing, or all of it.
    fn message(&mut self, lines: &mut EventLines, event: &RunEvent, whole: &str, out: &mut String) {
        let is_current = self.current.as_deref() == Some(&*event.id);
        let missing = match self.texts.get(&event.id) {
            Some(Text { state: State::Written(text), .. }) => missing(text, whole).map(str::to_owned),
            _ => None,
        };
        match missing {
            Some(missing) if is_current => {
                // Kept as the run's latest message.
                lines.line(event);
                self.append(lines, event, &event.id, &missing, out);
                self.end_line("", out);
            }
            Some(missing) if missing.is_empty() => drop(lines.line(event)),
            _ => {
                if is_current {
                    self.end_line(" [cut off]", out);
                }
                self.line(lines, event, out);
            }
        }
        self.texts.remove(&event.id);
        if is_current {
            self.current = None;
        }
    }

    /// Adds the line of an event, if it has one.
    fn line(&mut self, lines: &mut EventLines, event: &RunEvent, out: &mut String) {
        let is_of_answer = self.is_open
            && is_of_answer(&event.kind)
            && self.current_text().is_some_and(|current| current.call == Call::of(event));
        if is_of_answer {
            self.held.extend(lines.line(event));
            return;
        }
        // An answer without the message: the events of an answer follow each other.
        if !self.held.is_empty() {
            self.interrupt(out);
            self.current = None;
        }
        let Some(line) = lines.line(event) else { return };
        self.interrupt(out);
        out.push_str(&line);
        out.push('\n');
    }

    /// Ends the texts of a call's attempts before this one.
    fn void(&mut self, call: &Call, first_valid: u32, out: &mut String) {
        let is_void = |text: &Text| text.call == *call && text.attempt < first_valid;
        if self.current_text().is_some_and(is_void) {
            self.end_line(" [cut off]", out);
            self.current = None;
        }
        for text in self.texts.values_mut().filter(|text| is_void(text)) {
            text.state = State::Void(matches!(text.state, State::Written(_) | State::Void(true)));
        }
    }

    /// Ends the texts of a run, and of the runs in it.
    fn end_run(&mut self, event: &RunEvent, out: &mut String) {
        let end = Call::of(event);
        // The end of a workflow in which no run is open has no run.
        let is_ended = |text: &Text| {
            let Call { workflow, run, path, .. } = &text.call;
            *workflow == end.workflow && (end.run.is_empty() || *run == end.run && path.starts_with(&end.path))
        };
        if self.current_text().is_some_and(is_ended) {
            self.end_line(" [cut off]", out);
            self.current = None;
        }
        self.texts.retain(|_, text| !is_ended(text));
    }

    /// Ends the line of the text, and adds the lines that were held back.
    fn end_line(&mut self, mark: &str, out: &mut String) {
        if std::mem::take(&mut self.is_open) {
            out.extend([mark, "\n"]);
        }
        for line in self.held.drain(..) {
            out.extend([&*line, "\n"]);
        }
    }

    fn current_text(&self) -> Option<&Text> {
        self.texts.get(self.current.as_ref()?)
    }
}

impl Call {
    fn of(event: &RunEvent) -> Self {
        let RunEvent { workflow, run, path, turn, .. } = event;
        Self { workflow: workflow.clone(), run: run.clone(), path: path.clone(), turn: *turn }
    }
}

/// Returns the rest of a message of which a part was written; `None` if it does not begin with the
/// part. White space at the end of an answer may be missing in the message.
fn missing<'a>(written: &str, whole: &'a str) -> Option<&'a str> {
    whole.strip_prefix(written).or_else(|| (written.trim_end() == whole).then_some(""))
}

/// Returns `true` for the facts of an answer.
fn is_of_answer(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ModelCallAnswered { .. }
            | EventKind::Message { .. }
            | EventKind::Reasoning { .. }
            | EventKind::ToolCall { .. }
            | EventKind::OtherItem { .. }
    )
}

#[cfg(test)]
mod tests;
