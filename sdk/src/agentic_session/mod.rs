//! Agentic sessions: agents that run inside one activity of a workflow without agent code.
//!
//! The third host of the engine, next to the workflow's [`Runner`](crate::Runner) and the
//! [`InlineRunner`](crate::inline::InlineRunner), with the same agents, tools, handoffs, guardrails
//! and approvals. A session is durable because the heartbeat of its activity carries a checkpoint.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use temporal_agents::{Agent, agentic_session::AgenticSession, inline::InlineRunner};
//! # use temporalio_sdk::activities::{ActivityContext, ActivityError};
//! # struct Reviews { runner: InlineRunner }
//! # fn reviewer() -> Agent { Agent::new("reviewer") }
//! # impl Reviews {
//! // In the body of an activity:
//! async fn review(
//!     self: Arc<Self>,
//!     ctx: ActivityContext,
//!     diff: String,
//! ) -> Result<String, ActivityError> {
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
//! Before each turn of a run, its entire state. From then on, the responses of its models and the
//! outputs of its tools, including those of agents that are tools. The next attempt continues from
//! there: recorded responses are not requested again, but inline tools and the author's functions
//! (dynamic instructions, hooks, guardrails) of the turn run again. The table lists the cost of a
//! crash.
//!
//! | the worker is lost | the next attempt |
//! |---|---|
//! | before the first turn | starts from the beginning |
//! | during a model call | repeats this call |
//! | during a tool | runs this tool again, with the same [idempotency key] |
//! | during a tool that is not idempotent | does not run it again, reports its outcome as unknown (see below for one exception) |
//! | between two tools of a turn | runs only the second |
//! | after the tools | continues with the next model call |
//! | while it waits for approval | waits for the same decision |
//!
//! [idempotency key]: temporal_agents_core::tool::CallInfo::idempotency_key
//!
//! A model call or a tool begins only when the server has everything that precedes it (unless
//! [`checkpoint_every`](AgenticSessionOptions::checkpoint_every) or [`Heartbeats::Throttled`] is
//! set), and so does a write to a session store. The output of a tool is written at once, but
//! nothing waits for that write: a crash in the few milliseconds until the server has it runs the
//! tool again. The SDK throttles heartbeats, and an older one may arrive late: for up to a second the
//! server may have an older checkpoint, without the mark that a tool has begun. A crash in that
//! second runs the tool again, even if it is not idempotent. If that does harm, check the idempotency
//! key in the tool, or run the agent in a workflow.
//!
//! Not kept: the failure of a run after which the body continues (the run is repeated, and may end
//! differently), and sessions with stateful MCP servers, whose connections end with the process
//! (the next attempt opens new ones).
//!
//! # What it costs
//! Each checkpoint holds the entire conversation, and a turn with tools writes about three of them;
//! they are not in history, but they are sent. A session whose checkpoint approaches 2 MB logs a
//! warning, and it fails when the checkpoint is larger: a [compaction](temporal_agents_core::drive::RunConfig) shortens
//! the conversation, and a [`CheckpointStore`] moves it out of the heartbeat. For conversations of
//! hundreds of turns, and for approvals that take days, a workflow with [`Runner`](crate::Runner)
//! is the better host, because it sends each item once. A run that has ended remains in the
//! checkpoint with its conversation. Each active run, including one that waits for approval,
//! occupies an activity slot of its worker, but no thread: see the
//! [threads of runs](crate::inline::InlineRunner#threads). Set a heartbeat timeout on the activity
//! (for example 30 s); its start-to-close timeout limits the entire conversation.
//!
//! # When it is cancelled
//! The body has 10 seconds to return; then it is dropped, together with its runs. A tool that
//! blocks its thread cannot be dropped: the attempt ends, and the tool continues until it returns.
//! A long tool should therefore await, or check
//! [`ToolContext::is_cancelled`](temporal_agents_core::tool::ToolContext::is_cancelled).
//!
//! # Tests
//! The activity runs unchanged in the SDK's `ActivityEnvironment`, without a server; a checkpoint
//! without a server to receive it is passed only to the SDK. With `SessionEnvironment` of the crate
//! `temporal-agents-testing`, an attempt continues from any checkpoint of another attempt.
//!
//! # Hand-over
//! A heartbeat written by the ToolRegistry/AgenticSession proposal's code in other languages is
//! also read: the first run continues its conversation, and the results are kept. With a
//! [`CheckpointFormat`] of the proposal, a session writes such heartbeats, and an attempt in
//! another language continues it. They hold less than this crate's own, so that a crash costs the
//! whole turn that was in progress.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod approver;
mod calls;
mod decisions;
mod delta_heartbeats;
mod deltas;
mod encoder;
mod end;
mod error;
mod fact_log;
mod format;
mod host;
mod options;
mod progress;
mod proposal;
mod restore;
mod results;
mod session;
mod store;
mod store_approver;
mod workflow_approver;
mod writer;

use std::future::Future;

use temporalio_sdk::activities::{ActivityContext, ActivityError};

pub use approver::{Approver, Asked};
pub use error::{AgenticSessionError, CheckpointError};
pub use format::{CheckpointFormat, MessageDialect};
pub use options::AgenticSessionOptions;
pub use results::SessionResults;
pub use session::{AgenticSession, SessionRunner};
pub use store::CheckpointStore;
pub use store_approver::StoreApprover;
pub use workflow_approver::WorkflowApprover;
pub use writer::Heartbeats;

impl AgenticSession {
    /// Runs the body of an activity as a session, with the defaults of [`options`](Self::options).
    ///
    /// # Errors
    /// The failure of the activity. A model call that fails, after any retries, is reported as the
    /// failure that the model activity would have; the next attempt makes that call again. A
    /// failure that another attempt cannot avoid (a guardrail that trips, too many turns) is not
    /// retryable, of type `AgenticSessionError`. A cancelled session is reported as a cancelled
    /// activity.
    ///
    /// # Retries
    /// By the activity's own retry policy. Each attempt continues from the checkpoint of the
    /// previous one.
    pub async fn run<T, F, Fut>(ctx: &ActivityContext, body: F) -> Result<T, ActivityError>
    where
        F: FnOnce(AgenticSession) -> Fut,
        Fut: Future<Output = Result<T, AgenticSessionError>>,
    {
        Self::options().run(ctx, body).await
    }
}
