//! Agentic sessions: agents inside one activity of a workflow that knows nothing of agents.
//!
//! The third host of the engine, beside the workflow's [`Runner`](crate::Runner) and the [`InlineRunner`](crate::inline::InlineRunner): the same agents, tools,
//! handoffs, guardrails and approvals. What makes it durable is the activity's heartbeat, which carries a checkpoint.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use temporal_agents::{Agent, worker::{InlineRunner, agentic_session::AgenticSession}};
//! # use temporalio_sdk::activities::{ActivityContext, ActivityError};
//! # struct Reviews { runner: InlineRunner }
//! # fn reviewer() -> Agent { Agent::new("reviewer") }
//! # impl Reviews {
//! // In the body of an activity:
//! async fn review(self: Arc<Self>, ctx: ActivityContext, diff: String) -> Result<String, ActivityError> {
//!     AgenticSession::run(&ctx, async |session| {
//!         let runner = session.runner(&self.runner);
//!         Ok(runner.run(&reviewer(), diff).await?.final_output)
//!     })
//!     .await
//! }
//! # }
//! ```
//!
//! # What is kept
//! Before each turn of a run: its whole state. From then on what its model and its tools answer, runs of agents that are tools included. Another
//! attempt goes on from there: answers are not asked for again, inline tools and author functions (dynamic instructions, hooks, guardrails) of the turn
//! run again. The table says what a crash costs.
//!
//! | the worker is lost | the next attempt |
//! |---|---|
//! | before the first turn | begins anew |
//! | during a model call | makes this call again |
//! | during a tool | runs this tool again, with the same [idempotency key](crate::tool::CallInfo::idempotency_key); one that is not idempotent is not run again, and its outcome is told as unknown |
//! | between two tools of a turn | runs the second alone |
//! | after the tools | goes on with the next model call |
//! | while it waits for approval | waits for the same decision |
//!
//! A model call or a tool begins only when the server has everything before it (unless [`checkpoint_every`](AgenticSessionOptions::checkpoint_every) or
//! [`Heartbeats::Throttled`] say otherwise), and so does a write to a session store. What a tool has answered is written at once, but nothing waits for that:
//! a crash in the few milliseconds until the server has it runs the tool again.
//!
//! Not kept: how a run has failed that the body goes on after (it is run again, and may end otherwise), and sessions with stateful MCP servers, whose
//! connections end with the process: another attempt opens new ones.
//!
//! # What it costs
//! Each checkpoint holds the whole conversation, and a turn with tools writes some three of them; they are not in history, but they are sent. A session
//! whose checkpoint nears 2 MB says so in the log, and fails when it is larger: a [compaction](crate::RunConfig) shortens the conversation, a
//! [`CheckpointStore`] takes it out of the heartbeat. For conversations of hundreds of turns, and for approvals that take days, a workflow with
//! [`Runner`](crate::Runner) is the better host: it sends each item once. A run that has ended stays in the checkpoint with its conversation. And each
//! run under way, also one that waits for people, holds a slot for activities of its worker, but no thread: see the [threads of runs](crate::inline::InlineRunner#threads). Give the activity a heartbeat timeout (30 s, say); its start-to-close
//! timeout bounds the whole conversation.
//!
//! # When it is cancelled
//! The body has 10 seconds to end, then it is dropped, with its runs. A tool that blocks its thread cannot be dropped: the attempt ends, and the
//! tool works on until it returns. So a long tool awaits, or looks at [`ToolContext::is_cancelled`](crate::ToolContext::is_cancelled).
//!
//! # Tests
//! The activity runs as it is in the SDK's `ActivityEnvironment`, without a server; what has none to be sent to is handed to the SDK alone. With
//! `SessionEnvironment` of the crate `temporal-agents-testing` an attempt goes on from any checkpoint of another.
//!
//! # Hand-over
//! A heartbeat that the ToolRegistry/AgenticSession proposal's code in other languages has written is read, too: the first run goes on with its
//! conversation, the results are kept.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
)]

mod approval_by_workflow;
mod approver;
mod calls;
mod decisions;
mod end;
mod error;
mod host;
mod options;
mod progress;
mod proposal;
mod restore;
mod results;
mod session;
mod store;
mod writer;

use std::future::Future;

use temporalio_sdk::activities::{ActivityContext, ActivityError};

pub use approval_by_workflow::ApprovalByWorkflow;
pub use approver::{Approver, Asked};
pub use error::{AgenticSessionError, CheckpointError};
pub use options::AgenticSessionOptions;
pub use results::SessionResults;
pub use session::{AgenticSession, SessionRunner};
pub use store::CheckpointStore;
pub use writer::Heartbeats;

impl AgenticSession {
    /// Runs the body of an activity as a session, with the defaults of [`options`](Self::options).
    ///
    /// # Errors
    /// What the activity is to fail with. A model call that failed for good is the failure that the model activity would have; the next attempt
    /// makes that call again. What another attempt cannot heal (a guardrail that trips, too many turns) is not retryable, of type
    /// `AgenticSessionError`. A cancelled session is a cancelled activity.
    ///
    /// # Retries
    /// By the activity's own policy, each from where the one before stood.
    pub async fn run<T, F, Fut>(ctx: &ActivityContext, body: F) -> Result<T, ActivityError>
    where
        F: FnOnce(AgenticSession) -> Fut,
        Fut: Future<Output = Result<T, AgenticSessionError>>,
    {
        Self::options().run(ctx, body).await
    }
}
