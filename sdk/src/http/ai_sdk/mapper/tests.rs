mod attempts;
mod random;
mod verify;

use serde_json::{Value, json};
use temporal_agents_core::wire::{AgentInterruption, EventKind, InterruptionKind, Item, RunEvent, Usage, Verdict};

use self::verify::verify;
use super::{AiSdkMapper, Version};
use crate::http::ai_sdk::chunk::Chunk;

const START: &str = r#"{"type":"start","messageId":"m1"}"#;
const START_STEP: &str = r#"{"type":"start-step"}"#;
const FINISH_STEP: &str = r#"{"type":"finish-step"}"#;
const FINISH: &str = r#"{"type":"finish","finishReason":"stop","messageMetadata":{"agent":"desk"}}"#;
const FINISH_PAUSED: &str = r#"{"type":"finish","finishReason":"tool-calls"}"#;
const LOOK: [&str; 3] = [
    r#"{"type":"tool-input-start","toolCallId":"c1","toolName":"look","dynamic":true}"#,
    r#"{"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"{\"city\":\"Oslo\"}"}"#,
    r#"{"type":"tool-input-available","toolCallId":"c1","toolName":"look","input":{"city":"Oslo"},"dynamic":true}"#,
];
const LOOK_OUTPUT: &str = r#"{"type":"tool-output-available","toolCallId":"c1","output":"12","dynamic":true}"#;

/// A stream, and its chunks so far.
struct Stream {
    mapper: AiSdkMapper,
    version: Version,
    chunks: Vec<Chunk>,
}

impl Stream {
    fn new(version: Version) -> Self {
        let mut mapper = AiSdkMapper::new("m1".to_owned(), version);
        let chunks = mapper.start();
        Self { mapper, version, chunks }
    }

    fn of(version: Version, events: impl IntoIterator<Item = RunEvent>) -> Self {
        let mut stream = Self::new(version);
        for event in events {
            stream.event(&event);
        }
        stream
    }

    fn event(&mut self, event: &RunEvent) {
        self.chunks.extend(self.mapper.event(event));
    }

    fn finished(&mut self) {
        self.chunks.extend(self.mapper.finished());
    }

    fn cancelled(&mut self) {
        self.chunks.extend(self.mapper.cancelled());
    }

    fn failed(&mut self, message: &str) {
        self.chunks.extend(self.mapper.failed(message));
    }

    fn paused(&mut self, waiting: &[AgentInterruption]) {
        self.chunks.extend(self.mapper.paused(waiting));
    }

    /// Checks the stream, and returns its chunks as lines of JSON.
    fn lines(&self) -> Vec<String> {
        assert!(self.mapper.is_over());
        let values: Vec<Value> = self.chunks.iter().map(|chunk| serde_json::to_value(chunk).unwrap()).collect();
        verify(&values, self.version);
        self.chunks.iter().map(|chunk| serde_json::to_string(chunk).unwrap()).collect()
    }
}

fn event(id: &str, turn: u32, kind: EventKind) -> RunEvent {
    let id = if id.is_empty() { String::new() } else { format!("k/{id}") };
    RunEvent { id, run: "k".to_owned(), agent: "desk".to_owned(), turn, ..RunEvent::new(kind) }
}

fn turn(number: u32) -> RunEvent {
    event(&number.to_string(), number, EventKind::TurnStarted {})
}

fn item(value: Value) -> Item {
    Item::try_from(value).unwrap()
}

fn message(text: &str) -> EventKind {
    EventKind::Message { text: text.to_owned(), item: Item::assistant(text) }
}

fn text(message_id: &str, attempt: u32, delta: &str) -> EventKind {
    EventKind::TextDelta { message_id: message_id.to_owned(), attempt, delta: delta.to_owned() }
}

fn reasoning(message_id: &str, attempt: u32, delta: &str) -> EventKind {
    EventKind::ReasoningDelta { message_id: message_id.to_owned(), attempt, delta: delta.to_owned() }
}

fn answered(attempts: u32) -> EventKind {
    let (earlier_failure, response_id, incomplete) = (None, None, None);
    EventKind::ModelCallAnswered { attempts, earlier_failure, response_id, incomplete, usage: Usage::default() }
}

fn handoff(from: &str, to: &str) -> EventKind {
    EventKind::Handoff { from: from.to_owned(), to: to.to_owned() }
}

fn call(call_id: &str, name: &str, arguments: &str) -> EventKind {
    let item = Item::function_call(call_id, name, arguments);
    let (call_id, name, arguments) = (call_id.to_owned(), name.to_owned(), arguments.to_owned());
    EventKind::ToolCall { call_id, name, arguments, item }
}

fn output(call_id: &str, output: Value) -> EventKind {
    let (call_id, name) = (call_id.to_owned(), "look".to_owned());
    EventKind::ToolOutput {
        call_id,
        name,
        output,
        attempts: 0,
        earlier_failure: None,
        side_data: None,
        is_failure: false,
    }
}

fn decided(question: &str, decision: Verdict) -> EventKind {
    EventKind::QuestionDecided { question_id: question.to_owned(), decision, always: false, by: None }
}

fn interruption(id: &str, kind: InterruptionKind) -> AgentInterruption {
    let (agent, tool, arguments) = ("desk".to_owned(), "look".to_owned(), "{}".to_owned());
    AgentInterruption {
        id: id.to_owned(),
        agent,
        tool,
        arguments,
        server: None,
        kind,
        question: None,
        expires_at: None,
    }
}

fn look() -> [RunEvent; 2] {
    [turn(1), event("1-model/0", 1, call("c1", "look", r#"{"city":"Oslo"}"#))]
}

/// The chunks of a message, in a step.
fn whole(id: &str, text: &str) -> [String; 3] {
    let start = format!(r#"{{"type":"text-start","id":"{id}"}}"#);
    let delta = format!(r#"{{"type":"text-delta","id":"{id}","delta":"{text}"}}"#);
    [start, delta, format!(r#"{{"type":"text-end","id":"{id}"}}"#)]
}

#[test]
fn an_answer_is_streamed_and_its_fact_sends_the_rest() {
    let mut stream = Stream::of(
        Version::V6,
        [
            turn(1),
            event("", 1, reasoning("k/1-model/0", 1, "hm")),
            event("", 1, text("k/1-model/1", 1, "He")),
            event("1-model/answered", 1, answered(1)),
            event("1-model/0", 1, EventKind::Reasoning { item: item(json!({"summary": [{"text": "hm"}]})) }),
            event("1-model/1", 1, message("Hello")),
            event("ended", 1, EventKind::RunFinished { output: json!("Hello"), usage: Some(Usage::of_tokens(3, 2)) }),
        ],
    );
    stream.finished();
    let lines = [
        START,
        START_STEP,
        r#"{"type":"reasoning-start","id":"k/1-model/0"}"#,
        r#"{"type":"reasoning-delta","id":"k/1-model/0","delta":"hm"}"#,
        r#"{"type":"text-start","id":"k/1-model/1"}"#,
        r#"{"type":"text-delta","id":"k/1-model/1","delta":"He"}"#,
        r#"{"type":"reasoning-end","id":"k/1-model/0"}"#,
        r#"{"type":"text-delta","id":"k/1-model/1","delta":"llo"}"#,
        r#"{"type":"text-end","id":"k/1-model/1"}"#,
        FINISH_STEP,
        concat!(
            r#"{"type":"finish","finishReason":"stop","messageMetadata":{"usage":{"requests":1,"inputTokens":3,"#,
            r#""cachedInputTokens":0,"outputTokens":2,"reasoningTokens":0,"totalTokens":5},"agent":"desk"}}"#,
        ),
    ];
    assert_eq!(stream.lines(), lines);
}

#[test]
fn an_answer_without_deltas_is_sent_as_a_whole() {
    let mut stream = Stream::of(Version::V7, [turn(1), event("1-model/0", 1, message("Hello"))]);
    stream.finished();
    let [start, delta, end] = whole("k/1-model/0", "Hello");
    assert_eq!(stream.lines(), [START, START_STEP, &start, &delta, &end, FINISH_STEP, FINISH]);
}

#[test]
fn a_turn_is_a_step_and_a_tool_call_has_its_input_and_its_output() {
    let mut stream = Stream::of(Version::V6, look());
    let (call_id, name, stream_name) = ("c1".to_owned(), "look".to_owned(), "log".to_owned());
    let delta = "tick".to_owned();
    let (attempt, fraction) = (1, None);
    let kind = EventKind::ToolOutputDelta { call_id, name, attempt, stream: stream_name, delta, fraction };
    stream.event(&event("", 1, kind));
    let (call_id, name) = ("c1".to_owned(), "Weather Map".to_owned());
    stream.event(&event("", 1, EventKind::EmittedDelta { call_id, attempt: 1, name, value: json!({"x": 1}) }));
    stream.event(&event("1-tool-0/output", 1, output("c1", json!("12"))));
    stream.event(&event("1-tool-0/output", 1, output("c1", json!("12"))));
    stream.event(&turn(2));
    stream.event(&event("2-model/0", 2, message("12 degrees")));
    stream.finished();
    let [start, delta, end] = whole("k/2-model/0", "12 degrees");
    let [one, two, three] = LOOK;
    let log =
        r#"{"type":"data-tool-output","data":{"toolCallId":"c1","stream":"log","delta":"tick"},"transient":true}"#;
    let map = r#"{"type":"data-weather-map","data":{"x":1},"transient":true}"#;
    let first = [START, START_STEP, one, two, three, log, map, LOOK_OUTPUT, FINISH_STEP];
    let second = [START_STEP, &*start, &delta, &end, FINISH_STEP, FINISH];
    assert_eq!(stream.lines(), [&first[..], &second].concat());
}

#[test]
fn the_output_of_a_failed_call_is_an_error() {
    let mut stream = Stream::of(Version::V6, look());
    let EventKind::ToolOutput { call_id, name, output, .. } = output("c1", json!("the tool failed")) else { return };
    let (attempts, earlier_failure, side_data, is_failure) = (0, None, None, true);
    let failed = EventKind::ToolOutput { call_id, name, output, attempts, earlier_failure, side_data, is_failure };
    stream.event(&event("1-tool-0/output", 1, failed));
    stream.finished();
    let [one, two, three] = LOOK;
    let error = r#"{"type":"tool-output-error","toolCallId":"c1","errorText":"the tool failed","dynamic":true}"#;
    assert_eq!(stream.lines(), [START, START_STEP, one, two, three, error, FINISH_STEP, FINISH]);
}

#[test]
fn a_nested_run_that_began_in_an_earlier_request_ends_in_this_one() {
    let ended = EventKind::RunFinished { output: json!("42"), usage: None };
    let ended = RunEvent { path: vec!["1-tool-0".to_owned()], ..event("1-tool-0/ended", 1, ended) };
    let mut stream = Stream::of(Version::V6, [ended]);
    stream.finished();
    let done = r#"{"type":"data-subagent","id":"k/1-tool-0","data":{"agent":"desk","turn":1,"status":"done"}}"#;
    assert!(stream.lines().contains(&done.to_owned()), "{:?}", stream.lines());
}

#[test]
fn a_handoff_is_a_tool_call_and_names_the_next_agent() {
    let mut stream = Stream::of(
        Version::V6,
        [
            turn(1),
            event("1-model/0", 1, call("h1", "transfer_to_billing", "")),
            event("1-call-h1/output", 1, output("h1", json!("billing"))),
            event("1/handoff", 1, handoff("desk", "billing")),
            RunEvent { agent: "billing".to_owned(), ..turn(2) },
        ],
    );
    stream.finished();
    let lines = [
        START,
        START_STEP,
        r#"{"type":"tool-input-start","toolCallId":"h1","toolName":"transfer_to_billing","dynamic":true}"#,
        r#"{"type":"tool-input-available","toolCallId":"h1","toolName":"transfer_to_billing","input":{},"dynamic":true}"#,
        r#"{"type":"tool-output-available","toolCallId":"h1","output":"billing","dynamic":true}"#,
        r#"{"type":"data-agent","id":"agent","data":{"name":"billing"}}"#,
        FINISH_STEP,
        START_STEP,
        FINISH_STEP,
        r#"{"type":"finish","finishReason":"stop","messageMetadata":{"agent":"billing"}}"#,
    ];
    assert_eq!(stream.lines(), lines);
}

#[test]
fn a_call_that_waits_requests_approval_and_ends_the_stream() {
    let mut stream = Stream::of(Version::V7, look());
    stream.paused(&[interruption("c1#2", InterruptionKind::Approval)]);
    stream.finished();
    let [one, two, three] = LOOK;
    let request = r#"{"type":"tool-approval-request","approvalId":"c1#2","toolCallId":"c1"}"#;
    assert_eq!(stream.lines(), [START, START_STEP, one, two, three, request, FINISH_STEP, FINISH_PAUSED]);
}

#[test]
fn a_granted_call_has_its_output_in_the_next_stream() {
    let mut stream = Stream::of(
        Version::V6,
        [
            event("decision-1", 1, decided("c1#2", Verdict::Approve)),
            event("resumed-1", 1, EventKind::RunResumed {}),
            event("1-tool-0/output", 1, output("c1", json!("12"))),
            turn(2),
        ],
    );
    stream.finished();
    assert_eq!(stream.lines(), [START, LOOK_OUTPUT, START_STEP, FINISH_STEP, FINISH]);
}

#[test]
fn a_rejected_call_is_denied_in_the_next_stream() {
    for version in [Version::V6, Version::V7] {
        let rejected = decided("c1#2", Verdict::Reject { message: None });
        let output = output("c1", json!("Tool execution was not approved."));
        let events = [event("decision-1", 1, rejected), event("1-call-c1/output", 1, output), turn(2)];
        let mut stream = Stream::of(version, events);
        stream.finished();
        let denied = r#"{"type":"tool-output-denied","toolCallId":"c1"}"#;
        assert_eq!(stream.lines(), [START, denied, START_STEP, FINISH_STEP, FINISH]);
    }
}

#[test]
fn a_client_tool_waits_without_a_request() {
    let mut stream = Stream::of(Version::V6, look());
    stream.paused(&[interruption("c1", InterruptionKind::Output)]);
    let [one, two, three] = LOOK;
    assert_eq!(stream.lines(), [START, START_STEP, one, two, three, FINISH_STEP, FINISH_PAUSED]);
}

#[test]
fn a_nested_agent_is_one_part_and_its_questions_are_calls_of_their_own() {
    let nested = |id: &str, number: u32, kind| {
        let path = vec!["1-tool-0".to_owned()];
        RunEvent { path, agent: "clerk".to_owned(), ..event(id, number, kind) }
    };
    let mut stream = Stream::of(Version::V7, look());
    stream.event(&nested("1-tool-0/1", 1, EventKind::TurnStarted {}));
    stream.event(&nested("", 1, text("k/1-tool-0/1-model/0", 1, "secret")));
    stream.event(&nested("1-tool-0/1-model/0", 1, call("n1", "pay", "{}")));
    stream.paused(&[interruption("c1/n1", InterruptionKind::Approval)]);
    let [one, two, three] = LOOK;
    let running = r#"{"type":"data-subagent","id":"k/1-tool-0","data":{"agent":"clerk","turn":1,"status":"running"}}"#;
    let call = r#"{"type":"tool-input-available","toolCallId":"c1/n1","toolName":"look","input":{},"dynamic":true}"#;
    let request = r#"{"type":"tool-approval-request","approvalId":"c1/n1","toolCallId":"c1/n1"}"#;
    let lines = [START, START_STEP, one, two, three, running, call, request, FINISH_STEP, FINISH_PAUSED];
    assert_eq!(stream.lines(), lines);

    let mut stream = Stream::new(Version::V7);
    stream.mapper = stream.mapper.continuing(["c1".to_owned(), "c1/n1".to_owned()]);
    stream.event(&nested("1-tool-0/1-tool-0/output", 1, output("n1", json!("paid"))));
    let finished = EventKind::RunFinished { output: json!("done"), usage: None };
    stream.event(&nested("1-tool-0/ended", 1, finished));
    stream.event(&event("1-tool-0/output", 1, output("c1", json!("12"))));
    stream.finished();
    let paid = r#"{"type":"tool-output-available","toolCallId":"c1/n1","output":"paid","dynamic":true}"#;
    let done = running.replace("running", "done");
    let lines = stream.lines();
    assert_eq!(lines, [START, running, paid, &done, LOOK_OUTPUT, FINISH]);
}

#[test]
fn a_cancelled_stream_ends_with_an_abort() {
    let mut stream = Stream::of(Version::V6, [turn(1), event("", 1, text("k/1-model/0", 1, "Hello"))]);
    stream.cancelled();
    stream.event(&turn(2));
    let [start, delta, end] = whole("k/1-model/0", "Hello");
    let abort = r#"{"type":"abort","reason":"the run was cancelled"}"#;
    assert_eq!(stream.lines(), [START, START_STEP, &start, &delta, &end, abort]);
}

#[test]
fn a_failed_stream_ends_with_an_error() {
    let mut stream = Stream::of(Version::V7, [turn(1)]);
    stream.failed("the model is not available");
    let error = r#"{"type":"error","errorText":"the model is not available"}"#;
    assert_eq!(stream.lines(), [START, START_STEP, error]);
}
