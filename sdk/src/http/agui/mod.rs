//! The protocol AG-UI 1.0: its messages, and the mapping of a run's events to them.
//!
//! | file | contents |
//! |---|---|
//! | `event.rs` | the events that a frontend receives |
//! | `message.rs` | the messages of a conversation, which both sides send |
//! | `input.rs` | the request that starts or resumes a run |
//! | `results.rs` | the results of the frontend's calls, among the messages of a request |
//! | `mapper/` | [`AguiMapper`], the mapping of one run |
//!
//! This module has no I/O: it neither reads requests nor writes responses.
//!
//! # Source
//! <https://docs.ag-ui.com/spec/1.0>

mod event;
mod input;
mod mapper;
mod message;
mod results;

pub(crate) use self::{
    event::{AguiEvent, Interrupt, InterruptReason, Outcome, SubagentOutcome, UsageEntry},
    input::{InputAnswer, ResumeDecision, ResumeEntry, RunAgentInput},
    mapper::AguiMapper,
    message::{AguiMessage, AguiRole},
};
