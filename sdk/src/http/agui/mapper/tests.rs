mod ends;
mod messages;
mod nested;
mod pauses;
mod random;
mod verify;

use serde_json::{Value, json};
use temporal_agents_core::wire::{EventKind, Item, RunEvent, Usage};

use self::verify::verify;
use super::AguiMapper;
use crate::http::agui::{AguiEvent, AguiMessage, AguiRole};

/// A mapper under test, with all events so far.
struct Stream {
    mapper: AguiMapper,
    events: Vec<AguiEvent>,
}

impl Stream {
    fn new() -> Self {
        Self::of(AguiMapper::new("t", "r", false))
    }

    /// A stream of a frontend that has one message.
    fn of(mapper: AguiMapper) -> Self {
        let mut mapper = mapper.with_messages(vec![AguiMessage::new("u1", AguiRole::User, "hi")]);
        let events = mapper.start(None);
        Self { mapper, events }
    }

    fn feed(mut self, events: impl IntoIterator<Item = RunEvent>) -> Self {
        for event in events {
            let mapped = self.mapper.event(&event);
            self.events.extend(mapped);
        }
        self
    }

    /// Ends the stream, verifies it and returns its events as lines of JSON.
    fn end(mut self, end: impl FnOnce(&mut AguiMapper) -> Vec<AguiEvent>) -> String {
        let ended = end(&mut self.mapper);
        self.events.extend(ended);
        assert!(self.mapper.is_over());
        let events: Vec<Value> = self.events.iter().map(|event| serde_json::to_value(event).expect("JSON")).collect();
        verify(&events).expect("a valid stream");
        events.iter().fold(String::new(), |lines, event| lines + &event.to_string() + "\n")
    }

    fn finish(self) -> String {
        self.end(|mapper| mapper.finished(Some(&json!("done"))))
    }
}

/// An event of the agent `desk` in turn 1.
fn event(id: &str, kind: EventKind) -> RunEvent {
    at(id, "desk", 1, kind)
}

fn at(id: &str, agent: &str, turn: u32, kind: EventKind) -> RunEvent {
    let (id, run, agent) = (id.to_owned(), "k".to_owned(), agent.to_owned());
    RunEvent { id, run, agent, turn, ..RunEvent::new(kind) }
}

fn nested(path: &[&str], event: RunEvent) -> RunEvent {
    RunEvent { path: path.iter().map(|part| (*part).to_owned()).collect(), ..event }
}

fn scheduled(id: &str) -> RunEvent {
    event(id, EventKind::ModelCallScheduled { model: "openai::gpt".to_owned() })
}

fn answered(id: &str, attempts: u32) -> RunEvent {
    let (earlier_failure, response_id, incomplete) = (None, None, None);
    let usage = Usage::of_tokens(10, 2);
    event(id, EventKind::ModelCallAnswered { attempts, earlier_failure, response_id, incomplete, usage })
}

fn delta(message_id: &str, attempt: u32, delta: &str) -> RunEvent {
    event("", EventKind::TextDelta { message_id: message_id.to_owned(), attempt, delta: delta.to_owned() })
}

fn message(id: &str, text: &str) -> RunEvent {
    event(id, EventKind::Message { text: text.to_owned(), item: Item::assistant(text) })
}

fn call(id: &str, call_id: &str, name: &str) -> RunEvent {
    let item = Item::function_call(call_id, name, "{}");
    let (call_id, name) = (call_id.to_owned(), name.to_owned());
    event(id, EventKind::ToolCall { call_id, name, arguments: "{}".to_owned(), item })
}

fn output(id: &str, call_id: &str, output: Value) -> RunEvent {
    let (call_id, name) = (call_id.to_owned(), String::new());
    event(
        id,
        EventKind::ToolOutput {
            call_id,
            name,
            output,
            attempts: 1,
            earlier_failure: None,
            side_data: None,
            is_failure: false,
        },
    )
}

fn handoff(from: &str, to: &str) -> RunEvent {
    let kind = EventKind::Handoff { from: from.to_owned(), to: to.to_owned() };
    at("k/1/handoff", from, 1, kind)
}
