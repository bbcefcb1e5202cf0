//! Random sequences of events: out of order, repeated, with parts missing.

use serde_json::json;
use temporal_agents_core::wire::{EventKind, GuardrailStage, InterruptionKind, RunEvent, Verdict};

use super::{Stream, event, interruption, item, message, reasoning, text};
use crate::http::ai_sdk::mapper::Version;

/// A generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn event(&mut self) -> RunEvent {
        let turn = u32::try_from(self.below(4)).unwrap();
        let attempt = u32::try_from(self.below(4)).unwrap();
        let item_id = format!("k/{turn}-model/{}", self.below(3));
        let call_id = ["c1", "c2", "a/b", ""][usize::try_from(self.below(4)).unwrap()].to_owned();
        let part = ["", "a", "ab"][usize::try_from(self.below(3)).unwrap()];
        let mut event = match self.below(17) {
            0 => event("x", turn, EventKind::TurnStarted {}),
            1 | 2 => event("", turn, text(&item_id, attempt, part)),
            3 | 4 => event("", turn, reasoning(&item_id, attempt, part)),
            5 => event(&item_id[2..], turn, message(part)),
            6 => event(&item_id[2..], turn, EventKind::Reasoning { item: item(json!({"summary": [{"text": part}]})) }),
            7 => {
                let (name, arguments) = ("look".to_owned(), part.to_owned());
                event(&item_id[2..], turn, EventKind::ToolCall { call_id, name, arguments, item: item(json!({})) })
            }
            8 => event(&format!("out-{}", self.below(9)), turn, super::output(&call_id, json!(part))),
            9 => {
                let (effect, failure, next_at) = (format!("{turn}-model"), None, None);
                event("", turn, EventKind::AttemptDelta { effect, attempt, failure, next_at })
            }
            10 => {
                let id = format!("{turn}-model/answered");
                event(&id, turn, super::answered(attempt))
            }
            11 => event(&format!("handoff-{turn}"), turn, super::handoff("desk", "billing")),
            12 => {
                let decision = if self.one_in(2) { Verdict::Approve } else { Verdict::Reject { message: None } };
                let (question_id, always, by) = (format!("{call_id}#2"), false, None);
                event("", turn, EventKind::QuestionDecided { question_id, decision, always, by })
            }
            13 => {
                let (execution, reason) = (String::new(), String::new());
                event("", turn, EventKind::RunReset { execution, reason })
            }
            14 => {
                let (name, value) = (part.to_owned(), serde_json::Value::Null);
                event("", turn, EventKind::EmittedDelta { call_id, attempt, name, value })
            }
            15 => {
                let (guardrail, stage, output_info) = (String::new(), GuardrailStage::Input, json!(null));
                event("", turn, EventKind::GuardrailTripped { guardrail, stage, tool: None, output_info })
            }
            _ => event("", turn, EventKind::RunFinished { output: json!(null), usage: None }),
        };
        if self.one_in(8) {
            event.path.push("1-tool-0".to_owned());
        }
        if self.one_in(20) {
            event.workflow = Some("child".to_owned());
        }
        event
    }
}

#[test]
fn any_sequence_of_events_is_a_stream_that_clients_accept() {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(3_000_u64);
    for seed in 1..=seeds {
        for version in [Version::V6, Version::V6Whole, Version::V7] {
            let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let mut stream = Stream::new(version);
            let mut last = None;
            for _ in 0..random.below(60) {
                let event = match last.take() {
                    Some(event) if random.one_in(6) => event,
                    _ => random.event(),
                };
                stream.event(&event);
                last = Some(event);
            }
            match random.below(4) {
                0 => stream.finished(),
                1 => stream.cancelled(),
                2 => stream.failed("gone"),
                _ => stream.paused(&[
                    interruption("c1#2", InterruptionKind::Approval),
                    interruption("a/b", InterruptionKind::Approval),
                    interruption("c2", InterruptionKind::Output),
                ]),
            }
            stream.event(&random.event());
            stream.finished();
            stream.lines();
        }
    }
}
