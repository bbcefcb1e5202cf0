//! What really happens to the world: the script's responses go out of here, and calls of models and tools are noted here.
//!
//! It lives where the effects are, in the process of the worker; a workflow that replays does not see it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Map, Value, json};
use temporal_agents::{
    tool::CallInfo,
    wire::{FunctionCall, ItemView},
};
use tokio::time::{Instant, sleep};

use super::{
    format::{Response, Responses, Scenario},
    session::{Attempt, AttemptOver},
};

/// The longest wait for a call that stands earlier in a response; some never come, because they are refused.
const WAIT_FOR_SIBLING: Duration = Duration::from_secs(1);

/// The script and the record of one scenario. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    record: Arc<Mutex<Record>>,
    pace: Pace,
    attempt: Option<Arc<Attempt>>,
}

/// How long the delays of a scenario take.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// As long as it says.
    AsWritten,
    /// A step for each shorter delay in the scenario and one for itself: far enough apart, whatever the machine does.
    Ranked {
        /// The step.
        step: Duration,
        /// The scenario's delays in milliseconds, each once, the shortest first.
        delays: Vec<u64>,
    },
}

/// What there is to tell in the end.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The calls of models, in their order.
    pub(crate) calls: Vec<Value>,
    /// The calls of function tools whose bodies ran.
    pub(crate) tool_invocations: Vec<Value>,
    /// What no run may do: a call that the script has no response for, or a state that JSON does not keep.
    pub(crate) complaint: Option<String>,
}

/// A call of a function tool, as its body sees it.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    /// The arguments as the model wrote them.
    pub(crate) arguments: String,
    /// How often this tool was called before.
    pub(crate) before: usize,
}

#[derive(Debug)]
struct Record {
    responses: Responses,
    calls: Vec<Value>,
    invocations: Vec<Value>,
    written: Vec<WrittenCall>,
    counts: BTreeMap<(String, usize), usize>,
    /// By the idempotency key of the call.
    known: BTreeMap<String, Invocation>,
    failed: Vec<FailedCall>,
    complaint: Option<String>,
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
struct WrittenCall {
    /// The response, counted from 0.
    response: usize,
    name: String,
    call_id: String,
    arguments: String,
    has_come: bool,
}

impl Recorder {
    /// The script of this scenario, and an empty record.
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
        };
        Self { record: Arc::new(Mutex::new(record)), pace, attempt: None }
    }

    /// The same, for what an attempt of a session does.
    pub(crate) fn at(&self, attempt: Arc<Attempt>) -> Self {
        Self { attempt: Some(attempt), ..self.clone() }
    }

    /// A model is about to be called.
    ///
    /// # Errors
    /// It is not to be: the attempt has ended before.
    pub(crate) async fn model_is_due(&self, agent: &str) -> Result<(), AttemptOver> {
        let Some(attempt) = &self.attempt else { return Ok(()) };
        let number = self.lock().calls.len();
        attempt.before_model(format!("call {number} of a model, by {agent}")).await
    }

    /// The body of a tool is about to act.
    ///
    /// # Errors
    /// It is not to: the attempt has ended before.
    pub(crate) async fn tool_is_due(&self, call: &CallInfo) -> Result<(), AttemptOver> {
        let Some(attempt) = &self.attempt else { return Ok(()) };
        attempt.before_tool(format!("tool call {}", call.idempotency_key())).await
    }

    /// Notes a model call and takes the next response for it. A call that has failed fails again when another attempt makes it again, and
    /// counts once.
    pub(crate) fn model_called(&self, agent: &str, call: Value) -> Response {
        let mut record = self.lock();
        let attempt = self.attempt.as_ref().map_or(1, |attempt| attempt.number());
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
            if let ItemView::FunctionCall(FunctionCall { name, call_id, arguments, namespace: _ }) = item.view() {
                record.written.push(WrittenCall {
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

    /// Notes that the body of a tool runs: the tool at this place of the agent with this key.
    ///
    /// The library gives a body parsed arguments. The text they came from is noted where the model has written one that says
    /// the same; otherwise what did reach the body. A call that comes again, by its idempotency key, is the call that it was.
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

    /// Waits until the calls of the same tool that stand earlier in the same response have come, or will not come any more.
    /// Activities of one response may start in any order; what a tool does at its n-th call must not depend on that.
    pub(crate) async fn wait_for_earlier_siblings(&self, tool: &str, call_id: &str) {
        let begun = Instant::now();
        // The longer for each that is missing: so those that do come keep their order, even behind one that does not.
        while begun.elapsed() < WAIT_FOR_SIBLING * self.missing_siblings(tool, call_id) {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// How many calls of the same tool stand earlier in the same response and have not come yet.
    fn missing_siblings(&self, tool: &str, call_id: &str) -> u32 {
        let record = self.lock();
        let Some(place) = record.written.iter().rposition(|call| call.is(tool, call_id)) else { return 0 };
        let response = record.written[place].response;
        let is_missing =
            |call: &&WrittenCall| call.response == response && call.name == tool && !call.has_come && call.can_come();
        u32::try_from(record.written[..place].iter().filter(is_missing).count()).unwrap_or(u32::MAX)
    }

    /// How long a delay takes.
    pub(crate) fn pause(&self, delay_ms: u64) -> Duration {
        match &self.pace {
            Pace::AsWritten => Duration::from_millis(delay_ms),
            Pace::Ranked { step, delays } => {
                let shorter = delays.iter().filter(|delay| **delay < delay_ms).count();
                step.saturating_mul(u32::try_from(shorter + 1).unwrap_or(u32::MAX))
            }
        }
    }

    /// Notes what no run may do; the first complaint counts.
    pub(crate) fn complain(&self, complaint: String) {
        self.lock().complaint.get_or_insert(complaint);
    }

    /// What there is to tell.
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

impl WrittenCall {
    fn is(&self, tool: &str, call_id: &str) -> bool {
        self.name == tool && self.call_id == call_id
    }

    /// Whether a body can be called with this: arguments that are no object are refused.
    fn can_come(&self) -> bool {
        self.arguments.trim().is_empty() || serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok()
    }

    fn says(&self, arguments: &Value) -> bool {
        let text = if self.arguments.trim().is_empty() { "{}" } else { &*self.arguments };
        serde_json::from_str::<Value>(text).is_ok_and(|written| written == *arguments)
    }
}

impl Pace {
    /// Steps of this length for the delays of a scenario.
    pub(crate) fn ranked(scenario: &Scenario, step: Duration) -> Self {
        let tools = scenario.agents.values().flat_map(|agent| agent.tools.iter().flatten());
        let steps = tools.flat_map(|tool| tool.behavior.steps());
        let mut delays: Vec<u64> = steps.filter_map(|step| step.delay_ms).collect();
        delays.sort_unstable();
        delays.dedup();
        Self::Ranked { step, delays }
    }
}
