//! Maps the events of one run to the chunks of one message.
//!
//! | file | content |
//! |---|---|
//! | `events.rs` | the effect of each kind of event |
//! | `steps.rs` | the turns of the run, as steps of the message |
//! | `texts.rs` | messages and reasoning, streamed or whole, and attempts that are discarded |
//! | `calls.rs` | tool calls, outputs, and calls that wait |
//! | `subagents.rs` | nested runs, as data parts |
//!
//! Events may be missing, repeated or out of order: the stream is still one that a client accepts.
//!
//! # Data parts
//! | type | data |
//! |---|---|
//! | `data-agent` | `{"name"}`: the agent that continues the conversation after a handoff |
//! | `data-subagent` | `{"agent", "turn", "status"}`: a nested run, without its texts and calls |
//! | `data-attempt` | `{"attempt"?, "discards"}`: parts to leave out; version 6, see `texts.rs` |
//! | `data-guardrail` | `{"guardrail", "stage", "tool"?, "info"?}` |
//! | `data-problem` | transient, `{"problem"}`: why the run makes no progress, `null` if it does again |
//! | `data-question` | `{"toolCallId", "message", "schema"}`: the question of an MCP server |
//! | `data-server-data` | `{"toolCallId", "kind", "data"}`: data of a tool for people |
//! | `data-tool-gated` | `{"toolCallId", "tool", "denied", "rule", "reason"}`: see the gate |
//! | `data-tool-output` | transient, `{"toolCallId", "stream", "delta", "fraction"?}` |
//! | `data-<name>` | transient: the value that a tool has emitted under this name |

mod calls;
mod events;
mod steps;
mod subagents;
mod texts;

use std::collections::BTreeSet;

use serde_json::json;
use temporal_agents_core::wire::{AgentInterruption, RunEvent, RunProblem, Usage};

pub(super) use self::calls::call_in_message;
use self::{
    calls::Calls,
    steps::Steps,
    subagents::{SubagentStatus, Subagents, is_nested},
    texts::Texts,
};
use crate::http::ai_sdk::chunk::{Chunk, FinishReason, MessageMetadata, MessageUsage};

/// Version of the client, and the treatment of model calls that are retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Version {
    /// `ai` 6, with deltas: the text of a discarded attempt remains, and a `data-attempt` part
    /// follows.
    V6,
    /// `ai` 6, without deltas: whole messages only.
    V6Whole,
    /// `ai` 7, with deltas: a reset of the step removes the text of a discarded attempt.
    V7,
}

/// Maps the events of one run to the chunks of one message.
pub(in crate::http) struct AiSdkMapper {
    message_id: String,
    has_started: bool,
    is_over: bool,
    steps: Steps,
    texts: Texts,
    calls: Calls,
    subagents: Subagents,
    /// Ids of the facts so far.
    facts: BTreeSet<String>,
    agent: String,
    usage: Option<Usage>,
}

impl AiSdkMapper {
    /// Creates the mapper of a message.
    pub(in crate::http) fn new(message_id: String, version: Version) -> Self {
        Self {
            message_id,
            has_started: false,
            is_over: false,
            steps: Steps::new(version),
            texts: Texts::default(),
            calls: Calls::default(),
            subagents: Subagents::default(),
            facts: BTreeSet::new(),
            agent: String::new(),
            usage: None,
        }
    }

    /// Continues a message of the page that has these calls.
    #[must_use]
    pub(in crate::http) fn continuing(mut self, call_ids: impl IntoIterator<Item = String>) -> Self {
        self.calls.known(call_ids);
        self
    }

    /// Returns the beginning of the stream, once.
    pub(in crate::http) fn start(&mut self) -> Vec<Chunk> {
        self.begin();
        self.steps.take()
    }

    /// Returns the chunks of an event.
    pub(in crate::http) fn event(&mut self, event: &RunEvent) -> Vec<Chunk> {
        let is_repeated = !event.is_delta() && !event.id.is_empty() && self.facts.contains(&event.id);
        if self.is_over || is_repeated {
            return Vec::new();
        }
        self.begin();
        if is_nested(event) {
            self.nested(event);
        } else {
            if !event.agent.is_empty() {
                self.agent.clone_from(&event.agent);
            }
            self.own(event);
        }
        if !event.is_delta() {
            self.facts.insert(event.id.clone());
        }
        self.steps.take()
    }

    /// Returns the part of a run that makes no progress, or does again.
    pub(in crate::http) fn problem(&mut self, problem: Option<&RunProblem>) -> Vec<Chunk> {
        if self.is_over {
            return Vec::new();
        }
        self.begin();
        let mut chunks = self.steps.take();
        chunks.push(Chunk::transient("problem", json!({"problem": problem})));
        chunks
    }

    /// Returns the end of the stream of a run that waits for decisions or outputs.
    pub(in crate::http) fn paused(&mut self, waiting: &[AgentInterruption]) -> Vec<Chunk> {
        self.end(|mapper| {
            mapper.calls.paused(waiting, &mut mapper.steps);
            mapper.steps.finish();
            Chunk::Finish { finish_reason: FinishReason::ToolCalls, message_metadata: None }
        })
    }

    /// Returns the end of the stream of a run that has an output.
    pub(in crate::http) fn finished(&mut self) -> Vec<Chunk> {
        self.end(|mapper| {
            mapper.end_subagents(SubagentStatus::Done);
            mapper.steps.finish();
            let agent = Some(mapper.agent.clone()).filter(|agent| !agent.is_empty());
            let metadata = MessageMetadata { usage: mapper.usage.as_ref().map(MessageUsage::from), agent };
            let message_metadata = Some(metadata).filter(|metadata| *metadata != MessageMetadata::default());
            Chunk::Finish { finish_reason: FinishReason::Stop, message_metadata }
        })
    }

    /// Returns the end of the stream of a run that was cancelled.
    pub(in crate::http) fn cancelled(&mut self) -> Vec<Chunk> {
        self.end(|mapper| {
            mapper.end_subagents(SubagentStatus::Failed);
            Chunk::Abort { reason: "the run was cancelled".to_owned() }
        })
    }

    /// Returns the end of the stream of a run that has failed.
    pub(in crate::http) fn failed(&mut self, message: &str) -> Vec<Chunk> {
        self.end(|mapper| {
            mapper.end_subagents(SubagentStatus::Failed);
            Chunk::Error { error_text: message.to_owned() }
        })
    }

    /// Returns `true` after the end of the stream.
    pub(in crate::http) fn is_over(&self) -> bool {
        self.is_over
    }

    fn begin(&mut self) {
        if !self.has_started && !self.is_over {
            self.has_started = true;
            self.steps.send(Chunk::Start { message_id: self.message_id.clone() });
        }
    }

    fn end(&mut self, last: impl FnOnce(&mut Self) -> Chunk) -> Vec<Chunk> {
        if self.is_over {
            return Vec::new();
        }
        self.begin();
        self.texts.close_all(&mut self.steps);
        let last = last(self);
        self.steps.send(last);
        self.is_over = true;
        self.steps.take()
    }

    fn end_subagents(&mut self, status: SubagentStatus) {
        for part in self.subagents.ended(status) {
            self.steps.send(part);
        }
    }
}

#[cfg(test)]
mod tests;
