//! Serves the script's responses, and records the effects of a scenario: the calls of models and
//! tools.
//!
//! The recorder lives in the process in which the effects occur, that of the worker; a workflow
//! that replays does not see it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};
use temporal_agents::{
    tool::CallInfo,
    wire::{FunctionCall, ItemView, RunEvent},
};
use tokio::time::{Instant, sleep};

use super::{
    format::{Response, Responses, Scenario},
    session::{Attempt, AttemptOver},
};

/// The longest wait per earlier call of a response; some of these calls never run, because they are
/// refused.
const WAIT_FOR_SIBLING: Duration = Duration::from_secs(1);

/// The script and the record of one scenario. Clones share both.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    record: Arc<Mutex<Record>>,
    pace: Pace,
    attempt: Option<Arc<Attempt>>,
}

/// The durations of a scenario's delays.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// The duration that the scenario specifies.
    AsWritten,
    /// One step for each shorter delay in the scenario, and one for the delay itself. The steps
    /// keep the delays apart on a slow machine.
    Ranked {
        /// The step.
        step: Duration,
        /// The scenario's distinct delays in milliseconds, in ascending order.
        delays: Vec<u64>,
    },
}

/// The record at the end of a scenario.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The calls of models, in order.
    pub(crate) calls: Vec<Value>,
    /// The calls of function tools whose bodies ran.
    pub(crate) tool_invocations: Vec<Value>,
    /// The first violation of the suite's rules: a call that the script has no response for, or a
    /// state that does not survive serialization to JSON.
    pub(crate) complaint: Option<String>,
}

/// A call of a function tool, as the tool's body sees it.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    /// The arguments as the model wrote them.
    pub(crate) arguments: String,
    /// Number of earlier calls of this tool.
    pub(crate) before: usize,
}

#[derive(Debug)]
struct Record {
    responses: Responses,
    calls: Vec<Value>,
    invocations: Vec<Value>,
    written: Vec<ScriptedCall>,
    counts: BTreeMap<(String, usize), usize>,
    /// The calls whose bodies have run, by idempotency key.
    known: BTreeMap<String, Invocation>,
    failed: Vec<FailedCall>,
    complaint: Option<String>,
    facts: Vec<RunEvent>,
}

/// A model call that has failed.
#[derive(Debug)]
struct FailedCall {
    attempt: u32,
    call: Value,
    response: Response,
}

/// A function call in a response of the script.
#[derive(Debug)]
struct ScriptedCall {
    /// Index of the response, counted from 0.
    response: usize,
    name: String,
    call_id: String,
    arguments: String,
    has_come: bool,
}

impl Recorder {
    /// Creates a recorder with the script of this scenario, and an empty record.
    pub(crate) fn new(scenario: &Scenario, pace: Pace) -> Self {
        let record = Record {
            responses: scenario.model_responses.clone(),
            calls: Vec::new(),
            invocations: Vec::new(),
            written: Vec::new(),
            counts: BTreeMap::new(),
            known: BTreeMap::new(),
            failed: Vec::new(),
            complaint: None,
            facts: Vec::new(),
        };
        Self { record: Arc::new(Mutex::new(record)), pace, attempt: None }
    }

    /// Creates a recorder that shares this script and record, for the effects of an attempt of a
    /// session.
    pub(crate) fn at(&self, attempt: Arc<Attempt>) -> Self {
        Self { attempt: Some(attempt), ..self.clone() }
    }

    /// Signals that a model is about to be called.
    ///
    /// # Errors
    /// [`AttemptOver`] if the attempt ends before the call.
    pub(crate) async fn model_is_due(&self, agent: &str) -> Result<(), AttemptOver> {
        let Some(attempt) = &self.attempt else { return Ok(()) };
        let number = self.lock().calls.len();
        attempt.before_model(format!("call {number} of a model, by {agent}")).await
    }

    /// Signals that the body of a tool is about to act.
    ///
    /// # Errors
    /// [`AttemptOver`] if the attempt ends before the body acts.
    pub(crate) async fn tool_is_due(&self, call: &CallInfo) -> Result<(), AttemptOver> {
        let Some(attempt) = &self.attempt else { return Ok(()) };
        attempt.before_tool(format!("tool call {}", call.idempotency_key())).await
    }

    /// Records a model call and returns the next response for it. A call that has failed fails
    /// again when a later attempt repeats it, and is recorded once.
    pub(crate) fn model_called(&self, agent: &str, call: Value) -> Response {
        let mut record = self.lock();
        let attempt = self.attempt.as_ref().map_or(1, |attempt| attempt.number());
        // Within the attempt that failed, an equal call is a new one and consumes the next
        // response.
        let again = |failed: &&FailedCall| failed.attempt < attempt && failed.call == call;
        if let Some(failed) = record.failed.iter().find(again) {
            self.answer_is_void();
            return failed.response.clone();
        }
        record.calls.push(call.clone());
        let response = record.responses.next(agent).unwrap_or_else(|| {
            record.complaint.get_or_insert_with(|| format!("the script has no response left for agent {agent:?}"));
            Response { raises: Some("the script has no response left".to_owned()), ..Response::default() }
        });
        if response.raises.is_some() {
            self.answer_is_void();
            record.failed.push(FailedCall { attempt, call, response: response.clone() });
        }
        let number = record.calls.len() - 1;
        for item in response.output.iter().flatten() {
            if let ItemView::FunctionCall(FunctionCall { name, call_id, arguments, .. }) = item.view() {
                record.written.push(ScriptedCall {
                    response: number,
                    name: name.to_owned(),
                    call_id: call_id.to_owned(),
                    arguments: arguments.into_owned(),
                    has_come: false,
                });
            }
        }
        response
    }

    fn answer_is_void(&self) {
        if let Some(attempt) = &self.attempt {
            attempt.answer_is_void();
        }
    }
    /// Records that the body of a tool runs: the tool at index `place` of the agent with this key.
    ///
    /// The library passes parsed arguments to the body. The record contains the JSON string that
    /// the model wrote, if one of its calls parses to the same value, and otherwise the serialized
    /// arguments. A call that repeats an idempotency key is the earlier call, and is not recorded
    /// again.
    pub(crate) fn invoked(
        &self,
        agent: &str,
        place: usize,
        call: &CallInfo,
        arguments: Map<String, Value>,
    ) -> Invocation {
        let mut record = self.lock();
        if let Some(known) = record.known.get(call.idempotency_key()) {
            return known.clone();
        }
        let (tool, call_id) = (&*call.tool, &*call.call_id);
        let arguments = Value::Object(arguments);
        let written = record.written.iter_mut().rev().find(|call| call.is(tool, call_id) && call.says(&arguments));
        let text = match written {
            Some(call) => {
                call.has_come = true;
                call.arguments.clone()
            }
            None => arguments.to_string(),
        };
        record.invocations.push(json!({"agent": agent, "tool": tool, "call_id": call_id, "arguments": text}));
        let count = record.counts.entry((agent.to_owned(), place)).or_default();
        *count += 1;
        let invocation = Invocation { arguments: text, before: *count - 1 };
        record.known.insert(call.idempotency_key().to_owned(), invocation.clone());
        invocation
    }

    /// Waits until the earlier calls of the same tool in the same response have run, or can no
    /// longer be expected. Activities of one response may start in any order; the result of a
    /// tool's n-th call must not depend on that order.
    pub(crate) async fn wait_for_earlier_siblings(&self, tool: &str, call_id: &str) {
        let begun = Instant::now();
        // The limit grows with each missing call, so that those that do run keep their order, even
        // behind one that does not.
        while begun.elapsed() < WAIT_FOR_SIBLING * self.missing_siblings(tool, call_id) {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Counts the earlier calls of the same tool in the same response whose bodies can run and have
    /// not run yet.
    fn missing_siblings(&self, tool: &str, call_id: &str) -> u32 {
        let record = self.lock();
        let Some(place) = record.written.iter().rposition(|call| call.is(tool, call_id)) else { return 0 };
        let response = record.written[place].response;
        let is_missing =
            |call: &&ScriptedCall| call.response == response && call.name == tool && !call.has_come && call.can_run();
        u32::try_from(record.written[..place].iter().filter(is_missing).count()).unwrap_or(u32::MAX)
    }

    /// Returns the duration of a delay.
    pub(crate) fn pause(&self, delay_ms: u64) -> Duration {
        match &self.pace {
            Pace::AsWritten => Duration::from_millis(delay_ms),
            Pace::Ranked { step, delays } => {
                let shorter = delays.iter().filter(|delay| **delay < delay_ms).count();
                step.saturating_mul(u32::try_from(shorter + 1).unwrap_or(u32::MAX))
            }
        }
    }

    /// Records a violation of the suite's rules; only the first one is kept.
    pub(crate) fn complain(&self, complaint: String) {
        self.lock().complaint.get_or_insert(complaint);
    }

    /// Records a fact of a run.
    pub(crate) fn told(&self, event: &RunEvent) {
        if !event.is_delta() {
            self.lock().facts.push(event.clone());
        }
    }

    /// Takes the facts of the runs.
    pub(crate) fn take_facts(&self) -> Vec<RunEvent> {
        std::mem::take(&mut self.lock().facts)
    }

    /// Returns a copy of the record.
    pub(crate) fn recorded(&self) -> Recorded {
        let record = self.lock();
        Recorded {
            calls: record.calls.clone(),
            tool_invocations: record.invocations.clone(),
            complaint: record.complaint.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScriptedCall {
    fn is(&self, tool: &str, call_id: &str) -> bool {
        self.name == tool && self.call_id == call_id
    }

    /// Returns `true` if the body of a tool can be called with these arguments: anything but a JSON
    /// object is refused.
    fn can_run(&self) -> bool {
        self.arguments.trim().is_empty() || serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }

    fn says(&self, arguments: &Value) -> bool {
        let text = if self.arguments.trim().is_empty() { "{}" } else { &*self.arguments };
        serde_json::from_str::<Value>(text).is_ok_and(|written| written == *arguments)
    }
}

impl Pace {
    /// Creates the pace that replaces the delays of a scenario by multiples of `step`.
    pub(crate) fn ranked(scenario: &Scenario, step: Duration) -> Self {
        let tools = scenario.agents.values().flat_map(|agent| agent.tools.iter().flatten());
        let steps = tools.flat_map(|tool| tool.behavior.steps());
        let mut delays: Vec<u64> = steps.filter_map(|step| step.delay_ms).collect();
        delays.sort_unstable();
        delays.dedup();
        Self::Ranked { step, delays }
    }
}
