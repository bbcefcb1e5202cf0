//! A transcript as Markdown: the workflow, its runs and their turns, with the messages and calls of
//! each turn.

mod item;
mod text;

use std::fmt::Write;

use serde_json::Value;
use temporal_agents_core::wire::{RecordedFailure, Usage, Verdict, native_call::call_of};

use self::text::{code, fenced, plain, quoted, value};
use super::{
    Transcript,
    shape::{Activity, Approval, Call, End, GuardrailCall, Run, SessionCall, Status, ToolKind, ToolUse, Turn},
};

/// Returns the entire transcript as Markdown.
pub(super) fn transcript(transcript: &Transcript) -> String {
    let Transcript {
        workflow_id,
        run_id,
        first_run_id: _,
        continued_from,
        workflow_type,
        input,
        runs,
        approvals,
        usage,
        end,
        times: _,
        tracer_data: _,
        tripped: _,
        ended_runs: _,
        recorded: _,
    } = transcript;
    let mut page = format!("# {} {}\n\n", plain(workflow_type), code(workflow_id));
    push(&mut page, format_args!("Run {}", code(run_id)));
    if let Some(before) = continued_from {
        push(&mut page, format_args!(", continued from run {}", code(before)));
    }
    let calls = counted(transcript.calls().len(), "model call");
    push(&mut page, format_args!(". {calls}, {}.\n\n", tokens(usage)));
    if *input != Value::Null {
        push(&mut page, format_args!("**Input**\n\n{}", fenced(input)));
    }
    for run in runs.iter().filter(|run| run.parent.is_none()) {
        page += &one_run(run, runs, 0);
    }
    if !approvals.is_empty() {
        page += "## Decisions on other calls\n\n";
        page.extend(approvals.iter().map(|approval| format!("{} · {}", code(&approval.id), decided(approval))));
    }
    page += &ended(end);
    page.truncate(page.trim_end().len());
    page + "\n"
}

fn one_run(run: &Run, all: &[Run], depth: usize) -> String {
    let Run { id, parent: _, sessions, guardrails, turns, usage, mcp_lists: _, trace: _ } = run;
    let mut inside: Vec<&Run> = all.iter().filter(|inner| inner.parent.as_ref() == Some(id)).collect();
    let mut part = format!("{} Run {}", heading(depth * 2), code(id));
    if depth > 0
        && let Some(agent) = turns.first().map(|turn| &turn.agent)
    {
        push(&mut part, format_args!(" of {}", plain(agent)));
    }
    push(&mut part, format_args!("\n\n{}.\n\n", tokens(usage)));
    part.extend(sessions.iter().filter(|call| call.operation == "read").map(session));
    part.extend(guardrails.iter().map(guardrail));
    for turn in turns {
        part += &one_turn(turn, depth * 2 + 1);
        let called = turn.tools.iter().filter_map(|tool| match &tool.kind {
            ToolKind::Agent { run } => Some(run.clone()),
            _ => None,
        });
        for of_turn in called.chain([format!("{id}-{}-summary", turn.number)]) {
            if let Some(place) = inside.iter().position(|inner| inner.id == of_turn) {
                part += &one_run(inside.remove(place), all, depth + 1);
            }
        }
    }
    // The runs of guardrails that are agents, and of calls that another run requested.
    for inner in inside {
        part += &one_run(inner, all, depth + 1);
    }
    part.extend(sessions.iter().filter(|call| call.operation != "read").map(session));
    part
}

fn one_turn(turn: &Turn, level: usize) -> String {
    let Turn { number, agent, calls, tools } = turn;
    let mut part = format!("{} Turn {number} · {}\n\n", heading(level), plain(agent));
    part.extend(calls.iter().map(|call| one_call(call, agent)));
    part.extend(tools.iter().map(tool));
    part
}

fn one_call(call: &Call, agent: &str) -> String {
    let Call {
        number,
        activity,
        model,
        instructions,
        new_input,
        input_items,
        incomplete_input,
        output,
        incomplete,
        response_id: _,
        usage,
    } = call;
    let mut part = format!("*Model call {number}* · {} · {}", plain(model), code(&activity.id));
    push(&mut part, format_args!(" · {}", counted(*input_items as usize, "item")));
    if let Some(usage) = usage {
        push(&mut part, format_args!(" · {}", tokens(usage)));
    }
    part += "\n\n";
    if let Some(instructions) = instructions {
        push(&mut part, format_args!("**instructions**\n\n{}", quoted(instructions)));
    }
    if let Some(why) = incomplete_input {
        push(&mut part, format_args!("*The input is incomplete: {}.*\n\n", plain(why)));
    }
    part.extend(new_input.iter().map(item::given));
    // Calls are shown with their outcome.
    let answered = output.iter().filter(|item| call_of(item, output).is_none());
    part.extend(answered.map(|answered| item::answered(agent, answered)));
    if let Some(reason) = incomplete {
        push(&mut part, format_args!("*The response is incomplete: {}.*\n\n", plain(reason)));
    }
    part + &trouble(activity)
}

fn tool(tool: &ToolUse) -> String {
    let ToolUse { name, call_id: _, arguments, kind, output, approval, child: _, mcp_server: _ } = tool;
    let arguments = match arguments {
        Value::String(text) => text.clone(),
        json => json.to_string(),
    };
    let mut part = match kind {
        ToolKind::Handoff { to } => format!("**hands off to {}** · {} {}", plain(to), code(name), code(&arguments)),
        _ => format!("**calls {}** {}", plain(name), code(&arguments)),
    };
    match kind {
        ToolKind::Activity { activity } => {
            push(&mut part, format_args!(" · {}\n\n{}", code(&activity.id), trouble(activity)));
        }
        ToolKind::Agent { run } => push(&mut part, format_args!(" · run {}\n\n", code(run))),
        ToolKind::Handoff { .. } => return part + "\n\n",
        ToolKind::InWorkflow => part += " · in the workflow\n\n",
    }
    if let Some(approval) = approval {
        part += &decided(approval);
    }
    match output {
        Some(output) => part + &value(output),
        None => part,
    }
}

/// Returns an approval request and its decision, in a line.
fn decided(approval: &Approval) -> String {
    let Approval { id: _, asked_at, decided_at, decision, always, by } = approval;
    let at = |time: &Option<String>| time.as_ref().map(|time| format!(" at {time}")).unwrap_or_default();
    let by = by.as_ref().map(|name| format!(" by {}", plain(name))).unwrap_or_default();
    let for_good = if *always { ", also for later calls" } else { "" };
    let mut part = String::new();
    if asked_at.is_some() {
        push(&mut part, format_args!("*Approval was requested{}.* ", at(asked_at)));
    }
    let edited = match decision {
        Some(Verdict::ApproveWith { arguments }) => serde_json::to_string(arguments).ok(),
        _ => None,
    };
    let (verdict, message) = match decision {
        None => return part + "*There is no decision yet.*\n\n",
        Some(Verdict::Approve) => ("Approved", None),
        Some(Verdict::ApproveWith { .. }) => ("Approved with other arguments", edited.as_ref()),
        Some(Verdict::Reject { message }) => ("Rejected", message.as_ref()),
        Some(Verdict::SupplyOutput { output }) => ("The output was supplied", Some(output)),
    };
    push(&mut part, format_args!("*{verdict}{by}{}{for_good}.*\n\n", at(decided_at)));
    match message {
        Some(message) => part + &quoted(message),
        None => part,
    }
}

fn session(call: &SessionCall) -> String {
    let SessionCall { store, session_id, operation, items, activity } = call;
    let did = if *operation == "read" { "read from" } else { "added to" };
    let items = counted(items.len(), "item");
    let mut part =
        format!("*{items} {did} session {} of store {}* · {}\n\n", code(session_id), plain(store), code(&activity.id));
    part += &trouble(activity);
    part
}

fn guardrail(call: &GuardrailCall) -> String {
    let GuardrailCall { name, agent, output, activity } = call;
    let mut part =
        format!("*Guardrail {}* of {} · {}\n\n{}", plain(name), plain(agent), code(&activity.id), trouble(activity));
    if let Some(output) = output {
        part += &value(output);
    }
    part
}

/// Returns the failures and retries of an activity; empty if there are none.
fn trouble(activity: &Activity) -> String {
    let Activity { id: _, summary: _, status, attempts, failure, earlier_failure, times: _ } = activity;
    let tries = match attempts {
        0 | 1 => String::new(),
        attempts if *status == Status::Pending => format!(", attempt {attempts} is due or running"),
        attempts => format!(" at attempt {attempts}"),
    };
    let mut part = match (status, failure) {
        (Status::Completed, _) if *attempts > 1 => format!("*It succeeded{tries}.*\n\n"),
        (Status::Completed, _) => String::new(),
        (Status::Pending, _) => format!("*It has not ended{tries}.*\n\n"),
        (Status::Cancelled, _) => "*It was cancelled.*\n\n".to_owned(),
        (_, Some(failure)) => format!("*It failed{tries}: {}*\n\n", plain(&reason(failure))),
        (_, None) => format!("*It failed{tries}.*\n\n"),
    };
    if let Some(earlier) = earlier_failure {
        push(&mut part, format_args!("*The previous attempt failed: {}*\n\n", plain(&reason(earlier))));
    }
    part
}

/// Returns a failure and its causes, in a line.
fn reason(failure: &RecordedFailure) -> String {
    let one = |failure: &RecordedFailure| format!("{}: {}", failure.type_name, failure.message);
    let chain = std::iter::successors(Some(failure), |failure| failure.cause.as_deref());
    chain.map(one).collect::<Vec<_>>().join(" <- ").replace('\n', " ")
}

fn ended(end: &End) -> String {
    match end {
        End::Running => "## Running\n\nThe history has no end yet.\n".to_owned(),
        End::Completed { result } => format!("## Result\n\n{}", fenced(result)),
        End::Failed { failure } => format!("## Failure\n\n{}", quoted(&reason(failure))),
        End::Cancelled => "## Cancelled\n".to_owned(),
        End::Terminated { reason } => format!("## Terminated\n\n{}", quoted(reason)),
        End::TimedOut => "## Timed out\n".to_owned(),
        End::ContinuedAsNew { run_id } => format!("## Continued as new\n\nIn run {}.\n", code(run_id)),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn tokens(usage: &Usage) -> String {
    let tokens = format!("{} tokens read, {} written", usage.input_tokens, usage.output_tokens);
    if usage.cost.is_empty() {
        return tokens;
    }
    let unpriced = match usage.unpriced_requests {
        0 => String::new(),
        requests => format!(" without {}", counted(usize::try_from(requests).unwrap_or(usize::MAX), "call")),
    };
    format!("{tokens}, {}{unpriced}", usage.cost)
}

/// Returns the mark of a heading; Markdown has six levels, and the first is the page's.
fn heading(level: usize) -> String {
    "#".repeat((level + 2).min(6))
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = page.write_fmt(text);
}
