//! Ready-made workflows: a run of an agent, and a chat with one, which wait for decisions and
//! continue as new automatically; and a person's decision on a call.
//!
//! # Design
//! **A ready-made workflow answers once it is able to.** Its handlers wait until the inbox of the
//! previous execution is restored, because an update may arrive first. An author's workflow
//! restores it in `#[init]`, with `AgentInbox::of`. A chat that continues as new answers `goes_on`;
//! the message has an id, `ChatHandle` sends it again, and it counts once. Invalid input fails the
//! workflow and not its task. A message whose run fails leaves its work in the conversation, so
//! that the work is not repeated.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] makes items without either")]

mod admission;
mod agent_set;
mod agent_workflow;
mod approval_workflow;
mod chat;
mod chat_agents;
mod chat_loop;
mod chat_workflow;
mod specs;
mod threads;
mod toolsets;
mod versions;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use admission::Asked as Requested;
pub use agent_set::AgentSet;
pub use agent_workflow::AgentWorkflow;
pub use approval_workflow::ApprovalWorkflow;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use chat::Chat;
pub use chat_workflow::ChatWorkflow;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use threads::{message_input, rereads_thread};
pub(crate) use toolsets::AskedTools;
