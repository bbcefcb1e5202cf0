//! The data of a chat: messages that wait, the message that is being answered, answers for callers
//! that ask again.
//!
//! This is plain data; the workflow around it does the waiting and runs the agents.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use temporal_agents_core::wire::{
    Item, WIRE_VERSION,
    ready_made::{CarriedChat, ChatMessage, ChatOutcome, ChatReply, ChatTranscript},
};

use crate::workflow::limits::open_updates::MAX_HELD_MESSAGES;

/// Maximum bytes of messages that wait, and of answers that are kept: both are part of the next
/// execution's input.
const MOST_WAITING: usize = 128 * 1024;
const MOST_ANSWERS: usize = 128 * 1024;
/// Prefix of the ids that a chat assigns to messages without an id; callers' own ids may not begin
/// with it.
const OWN_ID: char = '#';
/// Maximum bytes of an id.
const MOST_ID: usize = 256;
/// Maximum number of answers that are kept.
const ANSWERS: usize = 100;
/// Maximum bytes of items in a transcript.
const TRANSCRIPT: usize = 1024 * 1024;

/// The messages of a chat, and their answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Chat {
    pub(crate) agent: Option<String>,
    /// The conversation up to the latest message that was answered.
    pub(crate) conversation: Vec<Item>,
    pub(crate) current: Option<ChatMessage>,
    pub(crate) waiting: VecDeque<ChatMessage>,
    answered: VecDeque<ChatReply>,
    messages: u32,
    pub(crate) is_ending: bool,
    /// Version of the agents that answer the current message; `None` for the first version.
    pub(crate) version: Option<String>,
    /// `true` if a message begins with the agent that answered the previous one.
    pub(crate) last_agent_continues: bool,
    /// Agent that the current message has begun with, or that the next one will begin with; `None`
    /// for the start agent.
    pub(crate) last_agent: Option<String>,
    /// Toolsets and devices that the chat was started with.
    #[serde(default)]
    pub(crate) toolsets: Vec<String>,
    /// Messages whose answers handlers wait for, with one entry for each handler.
    #[serde(skip)]
    held: Vec<String>,
}

impl Chat {
    /// Creates the data of a chat that this request, as JSON, begins.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn from_request_json(json: &str) -> Self {
        let request: Option<temporal_agents_core::wire::ready_made::ChatRequest> = serde_json::from_str(json).ok();
        Self { toolsets: request.map(|request| request.toolsets).unwrap_or_default(), ..Self::default() }
    }

    /// Restores the data that the previous execution left.
    pub(crate) fn take_over(&mut self, carried: CarriedChat) {
        let CarriedChat { run: _, current, waiting, answered, messages, is_ending, agent_version, last_agent } =
            carried;
        self.current = current;
        self.waiting = waiting.into();
        self.answered = answered.into();
        self.messages = messages;
        self.is_ending = is_ending;
        self.version = agent_version;
        self.last_agent = last_agent;
    }

    /// Returns the data for the next execution, without the conversation.
    pub(crate) fn leave(&self, run: temporal_agents_core::wire::Carried) -> CarriedChat {
        CarriedChat {
            run,
            current: self.current.clone(),
            waiting: self.waiting.iter().cloned().collect(),
            answered: self.answered.iter().map(carried).collect(),
            messages: self.messages,
            is_ending: self.is_ending,
            // The next message may have another version.
            agent_version: self.version.clone().filter(|_| self.current.is_some()),
            last_agent: self.last_agent.clone(),
        }
    }

    /// Returns the part of a run's input that precedes the message that is being answered. If a
    /// handoff has replaced the input, returns the whole input, because it is then all that remains
    /// of the conversation.
    pub(crate) fn input_before_message<'i>(&self, input: &'i [Item]) -> &'i [Item] {
        let message = self.current.as_ref().map(|message| Item::user(&*message.text));
        match input.split_last() {
            Some((last, said)) if Some(last) == message.as_ref() => said,
            _ => input,
        }
    }

    /// Accepts a message, and returns its id.
    ///
    /// # Errors
    /// The reply that refuses the message, with the reason.
    pub(crate) fn accept(&mut self, message: ChatMessage) -> Result<String, ChatReply> {
        let refuse = |id: &str, reason: &str| ChatReply::new(id, ChatOutcome::Refused { reason: reason.to_owned() });
        let id = match &message.id {
            None => format!("{OWN_ID}{}", self.messages.saturating_add(1)),
            Some(id) if id.len() > MOST_ID => {
                return Err(refuse("", "the message's id is too long: the limit is 256 bytes"));
            }
            Some(id) if self.is_known(id) => return Ok(id.clone()),
            Some(id) if id.starts_with(OWN_ID) => {
                return Err(refuse(
                    id,
                    "ids that begin with # are assigned by the chat; send the message with another id",
                ));
            }
            Some(id) => id.clone(),
        };
        let refused = |reason: &str| refuse(&id, reason);
        if self.is_ending {
            return Err(refused("the chat is ending; start another one"));
        }
        if let Some(expected) = &message.toolsets
            && !has_same_names(expected, &self.toolsets)
        {
            let reason = format!(
                "the chat was started with the toolsets {:?}, and the message expects {expected:?}; begin another chat \
                 to select others",
                self.toolsets
            );
            return Err(refused(&reason));
        }
        let of = |message: &ChatMessage| message.text.len() + message.id.as_ref().map_or(0, String::len);
        let waiting: usize = self.waiting.iter().map(of).sum();
        if waiting + of(&message) > MOST_WAITING {
            return Err(refused(
                "the message is too long, or too many messages wait: the limit is 128 KiB in total; shorten it, or \
                 send it after the others",
            ));
        }
        self.messages += 1;
        self.waiting.push_back(ChatMessage { id: Some(id.clone()), toolsets: None, ..message });
        Ok(id)
    }

    /// Returns the next message, which becomes the one that is being answered.
    pub(crate) fn next(&mut self) -> Option<ChatMessage> {
        self.current = self.waiting.pop_front();
        self.current.clone()
    }

    /// Returns the number of the message that is being answered, counted from 1 over all
    /// executions.
    pub(crate) fn number(&self) -> u32 {
        self.messages.saturating_sub(u32::try_from(self.waiting.len()).unwrap_or(u32::MAX))
    }

    /// Records the agent that answered the current message.
    pub(crate) fn answered_by(&mut self, agent: String) {
        let is_start = self.agent.as_ref() == Some(&agent);
        self.last_agent = Some(agent).filter(|_| self.last_agent_continues && !is_start);
    }

    /// Records the outcome of the current message.
    pub(crate) fn answer(&mut self, outcome: ChatOutcome) {
        let Some(id) = self.current.take().and_then(|message| message.id) else { return };
        // A chat may now wait for weeks, and the queues have room for four or more.
        self.waiting.shrink_to_fit();
        self.answered.reserve_exact(1);
        self.answered.push_back(ChatReply::new(id, outcome));
        let mut bytes = 0;
        let mut kept = 0;
        // Keeps the latest answers within the limits, and the last one regardless of its size.
        for reply in self.answered.iter().rev() {
            bytes += size(reply);
            if kept > 0 && (bytes > MOST_ANSWERS || kept == ANSWERS) {
                break;
            }
            kept += 1;
        }
        self.answered.drain(..self.answered.len() - kept);
    }

    /// Returns the answer to a message, if there is one.
    pub(crate) fn reply_to(&self, id: &str) -> Option<ChatReply> {
        self.answered.iter().find(|reply| reply.message == id).cloned()
    }

    /// Returns `true` if one more handler may wait for the answer to this message: one for each
    /// message, and few in total.
    pub(crate) fn may_hold(&self, id: &str) -> bool {
        self.held.len() < MAX_HELD_MESSAGES && !self.held.iter().any(|held| held == id)
    }

    /// Records that a handler waits for the answer to this message.
    pub(crate) fn hold(&mut self, id: &str) {
        self.held.push(id.to_owned());
    }

    /// Records that a handler no longer waits for the answer to this message.
    pub(crate) fn let_go(&mut self, id: &str) {
        if let Some(place) = self.held.iter().position(|held| held == id) {
            self.held.remove(place);
            self.held.shrink_to_fit();
        }
    }

    /// Returns the progress of a message; `None` if the message is unknown.
    pub(crate) fn progress(&self, id: &str) -> Option<ChatReply> {
        let goes_on = || self.is_known(id).then(|| ChatReply::new(id, ChatOutcome::GoesOn));
        self.reply_to(id).or_else(goes_on)
    }

    fn is_known(&self, id: &str) -> bool {
        let is_it = |message: &ChatMessage| message.id.as_deref() == Some(id);
        self.current.iter().chain(&self.waiting).any(is_it) || self.reply_to(id).is_some()
    }

    /// Returns `true` if the chat is ending and no message waits.
    pub(crate) fn is_over(&self) -> bool {
        self.is_ending && self.waiting.is_empty()
    }

    pub(crate) fn messages(&self) -> u32 {
        self.messages
    }

    pub(crate) fn transcript(&self) -> ChatTranscript {
        let mut bytes = 0;
        let fits = |item: &&Item| {
            bytes += item.json_len();
            bytes <= TRANSCRIPT
        };
        // Counts the latest items that fit.
        let latest = self.conversation.iter().rev().take_while(fits).count();
        let left_out = self.conversation.len() - latest;
        ChatTranscript {
            version: WIRE_VERSION,
            agent: self.agent.clone(),
            items: self.conversation[left_out..].to_vec(),
            left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
            current: self.current.clone(),
            waiting: self.waiting.iter().cloned().collect(),
        }
    }
}

/// Returns an answer as it travels to the next execution. A large one is replaced by a reply that
/// refers to the transcript.
fn carried(reply: &ChatReply) -> ChatReply {
    if size(reply) <= MOST_ANSWERS {
        return reply.clone();
    }
    let reason =
        "the message was answered before; the answer is too large to be kept here, and is in the transcript".to_owned();
    ChatReply::new(&*reply.message, ChatOutcome::Refused { reason })
}

fn has_same_names(expected: &[String], own: &[String]) -> bool {
    expected.iter().collect::<BTreeSet<_>>() == own.iter().collect()
}

fn size(reply: &ChatReply) -> usize {
    let outcome = match &reply.outcome {
        ChatOutcome::Answered { output } => output.to_string().len(),
        ChatOutcome::Failed { reason } | ChatOutcome::Refused { reason } => reason.len(),
        _ => 0,
    };
    reply.message.len() + outcome
}

#[cfg(test)]
mod tests;
