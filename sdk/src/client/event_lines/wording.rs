//! The wording of each kind of event.

use serde_json::Value;
use temporal_agents_core::wire::{EventKind, InterruptionKind, Item, RecordedFailure, RunEvent, Usage, Verdict};

use super::strings::{MAX_MESSAGE_CHARS, one_line, unbroken};

/// A line, without what depends on the lines before it.
pub(super) struct Line {
    pub(super) colour: Option<Colour>,
    pub(super) form: Form,
    pub(super) text: String,
}

/// The place of a line among the others.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// A line of its own, about the whole run.
    OfRun,
    /// The first line of a turn, with agent and number.
    BeginsTurn,
    /// A line below that of the turn.
    OfTurn,
}

/// The colours of a terminal.
#[derive(Clone, Copy)]
pub(super) enum Colour {
    Dim,
    Bold,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Colour {
    /// Returns the SGR code.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Cyan => 36,
        }
    }
}

/// Returns the line of an event, if it has one. `said` is the latest message of the run.
pub(super) fn of(event: &RunEvent, said: Option<&str>) -> Option<Line> {
    of_run(event)
        .or_else(|| of_end(event, said))
        .or_else(|| of_model(event))
        .or_else(|| of_tool(event))
        .or_else(|| of_question(event))
        .or_else(|| of_delta(event))
}

fn of_run(event: &RunEvent) -> Option<Line> {
    let who = who(event);
    let (colour, text) = match &event.kind {
        EventKind::RunStarted { input } => {
            let said: Vec<String> = input.iter().filter_map(Item::text).map(|text| one_line(&text)).collect();
            let text = if said.is_empty() { format!("{who} begins") } else { format!("> {}", said.join(" / ")) };
            (None, format!("{text}{}", opaque(event)))
        }
        EventKind::RunResumed {} => (Some(Colour::Dim), format!("{who} continues")),
        EventKind::RunPaused {} => (Some(Colour::Yellow), format!("{who} waits")),
        EventKind::RunContinued { execution } => {
            (Some(Colour::Dim), format!("~ the workflow continues as new, in execution {}", one_line(execution)))
        }
        EventKind::RunReset { execution, reason } => {
            let (execution, reason) = (one_line(execution), one_line(reason));
            (Some(Colour::Yellow), format!("~ the workflow was reset, as execution {execution}: {reason}"))
        }
        EventKind::Compaction { items_before, items_after } => {
            let text = format!("the conversation is shortened from {items_before} items to {items_after}");
            (Some(Colour::Dim), text)
        }
        _ => return None,
    };
    Some(Line { colour, form: Form::OfRun, text })
}

fn of_end(event: &RunEvent, said: Option<&str>) -> Option<Line> {
    let who = who(event);
    let (colour, text) = match &event.kind {
        EventKind::RunFinished { output, .. } => {
            let output = if output.is_null() || is_message(output, said) {
                String::new()
            } else {
                format!(": {}", text_of(output))
            };
            (Colour::Green, format!("{who} has finished{output}"))
        }
        EventKind::RunFailed { failure, .. } => (Colour::Red, format!("{who} has failed: {}", reason(failure))),
        EventKind::RunCancelled { .. } => (Colour::Red, format!("{who} was cancelled")),
        EventKind::RunTerminated { reason } => {
            (Colour::Red, format!("the workflow was terminated: {}", one_line(reason)))
        }
        EventKind::RunTimedOut {} => (Colour::Red, "the workflow has timed out".to_owned()),
        _ => return None,
    };
    Some(Line { colour: Some(colour), form: Form::OfRun, text })
}

fn of_model(event: &RunEvent) -> Option<Line> {
    let (colour, text) = match &event.kind {
        EventKind::ModelCallScheduled { model } => {
            let text = format!("asks {}{}", one_line(model), opaque(event));
            return Some(Line { colour: Some(Colour::Bold), form: Form::BeginsTurn, text });
        }
        EventKind::ModelCallAnswered { attempts, earlier_failure, incomplete, usage, .. } => {
            let Usage { input_tokens, output_tokens, .. } = usage;
            let cut = incomplete.as_ref().map(|why| format!(", cut short: {}", one_line(why))).unwrap_or_default();
            let retried = retried(*attempts, earlier_failure.as_ref());
            let text = format!("{input_tokens} tokens in, {output_tokens} out{cut}{retried}{}", opaque(event));
            (Some(Colour::Dim), text)
        }
        EventKind::ModelCallFailed { attempts, failure, .. } => {
            (Some(Colour::Red), format!("! the model call failed after {}: {}", times(*attempts), reason(failure)))
        }
        EventKind::Message { text, .. } => (None, format!("says: {}", unbroken(text, MAX_MESSAGE_CHARS))),
        EventKind::Reasoning { .. } => (Some(Colour::Dim), "reasons".to_owned()),
        EventKind::ToolCall { name, arguments, .. } => {
            (Some(Colour::Cyan), format!("-> {}({})", one_line(name), one_line(arguments)))
        }
        EventKind::OtherItem { item } => (Some(Colour::Dim), one_line(item.kind())),
        _ => return None,
    };
    Some(Line { colour, form: Form::OfTurn, text })
}

fn of_tool(event: &RunEvent) -> Option<Line> {
    let (colour, text) = match &event.kind {
        // The line of the handoff follows.
        EventKind::ToolOutput { output, attempts: 0, .. } if is_transfer(output) => return None,
        EventKind::ToolOutput { name, output, is_failure: true, .. } => {
            (Colour::Red, format!("<- {} (failed) = {}{}", one_line(name), text_of(output), opaque(event)))
        }
        EventKind::ToolOutput { name, output, attempts, earlier_failure, .. } => {
            let retried = retried(*attempts, earlier_failure.as_ref());
            (Colour::Cyan, format!("<- {} = {}{retried}{}", one_line(name), text_of(output), opaque(event)))
        }
        EventKind::ToolFailed { name, attempts: 0, failure, .. } => {
            (Colour::Red, format!("! {} failed: {}", one_line(name), reason(failure)))
        }
        EventKind::ToolFailed { name, attempts, failure, .. } => {
            (Colour::Red, format!("! {} failed after {}: {}", one_line(name), times(*attempts), reason(failure)))
        }
        EventKind::Handoff { from, to } => {
            (Colour::Bold, format!("=> {} hands off to {}", one_line(from), one_line(to)))
        }
        EventKind::GuardrailTripped { guardrail, output_info, .. } => {
            let info = if output_info.is_null() { String::new() } else { format!(": {output_info}") };
            (Colour::Red, format!("! guardrail {} has tripped{}", one_line(guardrail), one_line(&info)))
        }
        EventKind::ToolGated { tool, is_denied: true, reason, .. } => {
            (Colour::Red, format!("! the gate has denied a call of {}: {}", one_line(tool), one_line(reason)))
        }
        _ => return None,
    };
    Some(Line { colour: Some(colour), form: Form::OfTurn, text })
}

fn of_question(event: &RunEvent) -> Option<Line> {
    let text = match &event.kind {
        EventKind::QuestionAsked { question_id, tool, arguments, asked_by, waits_for, .. } => {
            let asks = match waits_for {
                InterruptionKind::Output => "waits for the output of",
                InterruptionKind::Input => "waits for an input to",
                _ => "wants to call",
            };
            let (who, tool, arguments) = (one_line(asked_by), one_line(tool), one_line(arguments));
            format!("? {who} {asks} {tool}({arguments}), question {}", one_line(question_id))
        }
        EventKind::QuestionDecided { question_id, decision, by, .. } => {
            let what = match decision {
                Verdict::Approve => "approved",
                Verdict::Reject { .. } => "rejected",
                _ => "answered",
            };
            let by = by.as_ref().map(|name| format!(" by {}", one_line(name))).unwrap_or_default();
            format!("! question {} was {what}{by}", one_line(question_id))
        }
        _ => return None,
    };
    Some(Line { colour: Some(Colour::Yellow), form: Form::OfTurn, text })
}

fn of_delta(event: &RunEvent) -> Option<Line> {
    let (colour, text) = match &event.kind {
        EventKind::AttemptDelta { effect, attempt, failure: Some(failure), next_at } => {
            let call = if effect.contains("-tool-") { "a tool call" } else { "the model call" };
            // The time of day, without fractions of a second.
            let next = next_at.as_ref().and_then(|time| time.get(11..19));
            let next = next.map(|time| format!(" at {} UTC", one_line(time))).unwrap_or_default();
            let why = reason(failure);
            (Colour::Yellow, format!("! attempt {attempt} of {call} failed, Temporal tries again{next}: {why}"))
        }
        EventKind::ToolOutputDelta { name, stream, delta, fraction, .. } => {
            let part = fraction.map(|part| format!(" {:.0} %", part * 100.0)).unwrap_or_default();
            (Colour::Dim, format!(".. {} {}{part}: {}", one_line(name), one_line(stream), one_line(delta)))
        }
        EventKind::EmittedDelta { name, value, .. } => {
            (Colour::Dim, format!(".. {} = {}", one_line(name), text_of(value)))
        }
        EventKind::Other { kind, .. } => (Colour::Dim, one_line(kind)),
        _ => return None,
    };
    Some(Line { colour: Some(colour), form: Form::OfTurn, text })
}

/// Returns the agent of the event; an event of the workflow has none.
pub(super) fn who(event: &RunEvent) -> String {
    match (&*event.run, &*event.agent) {
        ("", _) => "the workflow".to_owned(),
        (_, "") => "the run".to_owned(),
        (_, agent) => one_line(agent),
    }
}

fn opaque(event: &RunEvent) -> &'static str {
    if event.is_opaque { " (its content is encoded)" } else { "" }
}

/// Returns `true` if an output is the text of this message, or the JSON in it.
fn is_message(output: &Value, said: Option<&str>) -> bool {
    said.is_some_and(|said| output == said || serde_json::from_str::<Value>(said).is_ok_and(|json| json == *output))
}

/// Returns an output on one line: a string as it is, other values as JSON.
fn text_of(output: &Value) -> String {
    output.as_str().map_or_else(|| one_line(&output.to_string()), one_line)
}

/// Returns a failure with those of its causes that add something.
fn reason(failure: &RecordedFailure) -> String {
    let mut causes = std::iter::successors(Some(failure), |failure| failure.cause.as_deref());
    let described = |failure: &RecordedFailure| format!("{}: {}", failure.type_name, failure.message);
    let mut text = causes.next().map(described).unwrap_or_default();
    // A failure of an activity only says that there is a cause.
    for cause in causes.filter(|cause| cause.type_name != "Activity") {
        if !text.contains(&cause.message) {
            text = format!("{text}, caused by {}", described(cause));
        }
    }
    one_line(&text)
}

/// Returns `true` for the output with which the call of a handoff is answered.
fn is_transfer(output: &Value) -> bool {
    let answer = output.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    answer.as_ref().and_then(Value::as_object).is_some_and(|answer| answer.keys().eq(["assistant"]))
}

fn times(attempts: u32) -> String {
    format!("{attempts} {}", if attempts == 1 { "attempt" } else { "attempts" })
}

fn retried(attempts: u32, earlier: Option<&RecordedFailure>) -> String {
    match earlier {
        Some(failure) => format!(" (attempt {attempts}, the one before failed: {})", reason(failure)),
        None => String::new(),
    }
}
