//! The calls of tools of a run: attempts, agents used as tools, handoffs, and bodies in the loop.

use std::time::SystemTime;

use serde_json::Value;
use temporal_agents_core::wire::{RecordedFailure, RunEvent};

use super::reader::{Path, Reader};
use crate::{events::fact_id_at, trace::attributes};

/// The prefix of the names of handoffs, unless their author chooses another.
const HANDOFF: &str = "transfer_to_";

/// A call in an answer.
pub(super) struct Called {
    name: String,
    arguments: String,
    agent: String,
    turn: u32,
    at: SystemTime,
    /// Number of the calls before it in its answer that are no handoffs.
    index: usize,
}

/// The attempts at a call.
pub(super) struct ToolAttempts {
    start: SystemTime,
    /// The current attempt, and the time of its beginning.
    current: (u32, SystemTime),
    /// The attempts that have failed.
    failed: Vec<(u32, (SystemTime, SystemTime), RecordedFailure)>,
}

impl Reader {
    /// Reads a call in an answer.
    pub(super) fn called(&mut self, event: &RunEvent, call_id: &str, name: &str, arguments: &str, at: SystemTime) {
        let is_before = |((path, _), call): &(&(Path, String), &Called)| {
            *path == event.path && call.turn == event.turn && !call.name.starts_with(HANDOFF)
        };
        let index = self.calls.iter().filter(is_before).count();
        let (name, arguments, agent) = (name.to_owned(), arguments.to_owned(), event.agent.clone());
        let call = Called { name, arguments, agent, turn: event.turn, at, index };
        self.calls.insert((event.path.clone(), call_id.to_owned()), call);
    }

    /// Reads the beginning or the failure of an attempt.
    pub(super) fn tool_attempt(
        &mut self,
        event: &RunEvent,
        id: String,
        attempt: u32,
        failure: Option<&RecordedFailure>,
        at: SystemTime,
    ) {
        self.works(&event.path, &event.agent, at);
        let new = || ToolAttempts { start: at, current: (attempt, at), failed: Vec::new() };
        let attempts = self.attempts.entry(id).or_insert_with(new);
        match failure {
            None => attempts.current = (attempt, at),
            Some(failure) => attempts.failed.push((attempt, (attempts.current.1, at), failure.clone())),
        }
    }

    /// Reads the output of a call.
    pub(super) fn tool_answered(
        &mut self,
        event: &RunEvent,
        (call_id, name): (&str, &str),
        output: &Value,
        attempts: u32,
        at: SystemTime,
    ) {
        let key = (event.path.clone(), call_id.to_owned());
        let id = event.id.strip_suffix("/output").unwrap_or(&event.id);
        if attempts > 0 {
            return self.made(event, id, (call_id, name), attempts, (None, Some(output)), at);
        }
        if self.failed.contains(&key) {
            return;
        }
        let Some(call) = self.calls.get(&key) else { return };
        let index = format!("{}-tool-{}", call.turn, call.index);
        let of_call = fact_id_at(&event.run, &event.path, &index);
        let mut nested = event.path.clone();
        nested.push(index);
        if self.agents.contains_key(&nested) {
            return self.nested_answered(&nested, call_id, output, at);
        }
        let execution = self.writer.execution(&self.run);
        let (described, id) = match handed_to(output) {
            Some(to) => {
                let id = execution.call(&fact_id_at(&event.run, &event.path, &format!("handoff-{call_id}")));
                (attributes::transfer(&execution, &call.agent, &call.name, call_id, &to, false), id)
            }
            None => (attributes::execute_tool(&execution, &call.name, call_id), execution.call(&of_call)),
        };
        let content = contents(&call.arguments, Some(output));
        self.end(described, id, Some(self.agent_of(&event.path)), (call.at, call.at), None, content);
    }

    /// Reads the failure of a call, after all its attempts.
    pub(super) fn tool_failed(
        &mut self,
        event: &RunEvent,
        call: (&str, &str),
        attempts: u32,
        failure: &RecordedFailure,
        at: SystemTime,
    ) {
        self.failed.insert((event.path.clone(), call.0.to_owned()));
        let id = event.id.strip_suffix("/failed").unwrap_or(&event.id);
        self.made(event, id, call, attempts, (Some(failure), None), at);
    }

    /// Ends a call that was made with attempts.
    fn made(
        &mut self,
        event: &RunEvent,
        id: &str,
        (call_id, name): (&str, &str),
        attempts: u32,
        (failure, output): (Option<&RecordedFailure>, Option<&Value>),
        at: SystemTime,
    ) {
        let called = self.calls.get(&(event.path.clone(), call_id.to_owned()));
        let start = called.map_or(at, |call| call.at);
        let made = self.attempts.remove(id);
        let made = made.unwrap_or(ToolAttempts { start, current: (attempts.max(1), start), failed: Vec::new() });
        let arguments = called.map_or("", |call| &call.arguments);
        let (execution, activity_id) = (self.writer.execution(&self.run), self.writer.activity_id());
        let (last, began) = made.current;
        let mut ended: Vec<_> =
            made.failed.iter().map(|(attempt, times, failure)| (*attempt, *times, Some(failure))).collect();
        // An attempt that has failed and is the last one was reported as such.
        if ended.last().is_none_or(|(attempt, ..)| *attempt != last) {
            ended.push((last, (began, at), failure));
        }
        let of_call = self.call_ids(id, last).0;
        for (attempt, times, failure) in ended {
            let described = attributes::tool_attempt(&execution, activity_id, attempt, name, call_id, None);
            let content = if failure.is_none() { contents(arguments, output) } else { Vec::new() };
            self.end(described, self.call_ids(id, attempt).1, Some(of_call), times, failure, content);
        }
        let described = attributes::tool_call(&execution, activity_id, &event.agent, event.turn, name)
            .with("temporal_agents.attempts", last);
        self.end(described, of_call, Some(self.agent_of(&event.path)), (made.start, at), failure, Vec::new());
    }

    /// Ends the run of an agent that was called as a tool.
    fn nested_answered(&mut self, nested: &Path, call_id: &str, output: &Value, at: SystemTime) {
        let Some((_, outer)) = nested.split_last() else { return };
        let outer = outer.to_vec();
        let Some(call) = self.calls.get(&(outer.clone(), call_id.to_owned())) else { return };
        let (caller, tool, content) = (call.agent.clone(), call.name.clone(), contents(&call.arguments, Some(output)));
        self.transfer(nested, (&caller, &tool, call_id), content, at);
        self.rest(nested, Some(at));
    }

    /// Ends the call of an agent whose output was not reported.
    pub(super) fn nested_ends(&self, path: &Path, at: SystemTime) {
        let Some((last, outer)) = path.split_last() else { return };
        if let Some(((_, call_id), call)) = self.find_call(outer, last) {
            self.transfer(path, (&call.agent, &call.name, call_id), contents(&call.arguments, None), at);
        }
    }

    /// Returns the name and the id of the call of the run at this path with this id of an effect.
    pub(super) fn call_at(&self, run: &[String], effect: &str) -> Option<(&str, &str)> {
        self.find_call(run, effect).map(|((_, call_id), call)| (&*call.name, &**call_id))
    }

    fn find_call(&self, run: &[String], effect: &str) -> Option<(&(Path, String), &Called)> {
        let mut calls = self.calls.iter().filter(|((path, _), _)| path.as_slice() == run);
        calls.find(|(_, call)| *effect == format!("{}-tool-{}", call.turn, call.index))
    }

    fn transfer(
        &self,
        nested: &Path,
        (caller, tool, call_id): (&str, &str, &str),
        content: Vec<(&'static str, Value)>,
        at: SystemTime,
    ) {
        let (Some((last, outer)), Some(working)) = (nested.split_last(), self.agents.get(nested)) else { return };
        let execution = self.writer.execution(&self.run);
        let described = attributes::transfer(&execution, caller, tool, call_id, &working.first.0, true);
        let id = execution.call(&fact_id_at(&self.run, outer, last));
        self.end(described, id, Some(self.agent_of(&outer.to_vec())), (working.first.1, at), None, content);
    }
}

/// Returns the agent to which a call hands off, by its output.
fn handed_to(output: &Value) -> Option<String> {
    let output: Value = serde_json::from_str(output.as_str()?).ok()?;
    let members = output.as_object().filter(|members| members.len() == 1)?;
    members.get("assistant")?.as_str().map(str::to_owned)
}

/// Returns the content of a call.
fn contents(arguments: &str, output: Option<&Value>) -> Vec<(&'static str, Value)> {
    let arguments = ("gen_ai.tool.call.arguments", Value::String(arguments.to_owned()));
    let output = output.map(|output| ("gen_ai.tool.call.result", output.clone()));
    [arguments].into_iter().chain(output).collect()
}
