//! Attempts of an activity with an agentic session as plain async Rust, without a server: run an
//! attempt, inspect the checkpoints that it has written, and continue from any of them in another
//! attempt, as after a crash at that point.
//!
//! ```
//! use std::sync::Arc;
//!
//! use serde_json::json;
//! use temporal_agents::{Agent, agentic_session::AgenticSession, inline::InlineRunner, tool};
//! use temporal_agents_testing::{FakeModel, SessionEnvironment, fake_model::{text, tool_call}};
//! use temporalio_macros::activities;
//! use temporalio_sdk::activities::{ActivityContext, ActivityError};
//!
//! /// Looks at a file.
//! #[tool]
//! async fn inspect(path: String) -> String { format!("{path} is fine") }
//!
//! struct Reviews { runner: InlineRunner }
//!
//! #[activities]
//! impl Reviews {
//!     #[activity]
//!     async fn review(
//!         self: Arc<Self>,
//!         ctx: ActivityContext,
//!         diff: String,
//!     ) -> Result<String, ActivityError> {
//!         let reviewer = Agent::new("reviewer").model("gpt-5-mini").tool(inspect);
//!         AgenticSession::run(&ctx, async |session| {
//!             Ok(session.runner(&self.runner).run(&reviewer, diff).await?.final_output)
//!         })
//!         .await
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A function of the turn, so that it can answer at any point at which an attempt continues.
//! let model = FakeModel::function(|call, _| match call.turn {
//!     1 => tool_call("inspect", json!({"path": "a.rs"})),
//!     _ => text("all fine"),
//! });
//! let runner = InlineRunner::new(model.clone());
//! let env =
//!     SessionEnvironment::new().register_activities(move || Reviews { runner: runner.clone() });
//!
//! let first = env.attempt().run(Reviews::review, "a diff".to_owned()).await;
//! assert_eq!(first.result?, "all fine");
//!
//! assert!(!first.checkpoints.is_empty());
//! for checkpoint in &first.checkpoints {
//!     let next = env.attempt_from(checkpoint)?.run(Reviews::review, "a diff".to_owned()).await;
//!     assert_eq!(next.result?, "all fine");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The activity's code is the same as in a worker, and so are its options: checkpoints, which by
//! default would be sent immediately, are recorded here. Not available are a client (an approver
//! that uses a workflow fails with an error that states this), timeouts of the activity, and
//! retries: the test begins each attempt itself. For attempts of a whole worker, with its retries
//! and cancellations, use [`AgentEnvironment`](crate::AgentEnvironment).

mod attempt;
mod error;
mod finished;
mod record;

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime},
};

use serde::Serialize;
use temporalio_sdk::{
    activities::{ActivityImplementer, ActivityInfo},
    testing::{
        ActivityEnvironment, ActivityEnvironmentBuilder, TestActivityInfoOptions,
        activity_environment_builder::SetPayloadConverter,
    },
};

pub use attempt::SessionAttempt;
pub use error::AttemptError;
pub use finished::FinishedAttempt;

type Builder = ActivityEnvironmentBuilder<SetPayloadConverter>;
type RegisterActivities = Box<dyn Fn(Builder) -> Builder + Send + Sync>;

/// One execution of an activity with an agentic session: its attempts in sequence, each in a
/// separate [`ActivityEnvironment`]. See [the module](self) for an example.
pub struct SessionEnvironment {
    activities: Vec<RegisterActivities>,
    info: ActivityInfo,
    attempts: AtomicU32,
}

impl Default for SessionEnvironment {
    fn default() -> Self {
        Self::new()
    }
}

impl SessionEnvironment {
    /// Creates an execution of an activity that was scheduled just now, with a heartbeat timeout of
    /// 30 s.
    pub fn new() -> Self {
        let now = Some(SystemTime::now());
        let info = TestActivityInfoOptions::builder()
            .heartbeat_timeout(Duration::from_secs(30))
            .scheduled_time(now)
            .started_time(now)
            .current_attempt_scheduled_time(now)
            .deadline(None)
            .build();
        Self { activities: Vec::new(), info, attempts: AtomicU32::new(0) }
    }

    /// Registers the activities of an instance, which is created anew for each attempt, as in
    /// another process. Attempts share only the state that the instances share.
    #[must_use]
    pub fn register_activities<A>(mut self, instance: impl Fn() -> A + Send + Sync + 'static) -> Self
    where
        A: ActivityImplementer + Send + Sync + 'static,
    {
        self.activities.push(Box::new(move |builder| builder.register_activities(instance())));
        self
    }

    /// Changes the information that the activity receives about itself: ids, timeouts, times. The
    /// environment sets the attempt, the type and the task token.
    #[must_use]
    pub fn info(mut self, change: impl FnOnce(&mut ActivityInfo)) -> Self {
        change(&mut self.info);
        self
    }

    /// Returns the next attempt, which finds no heartbeat: the first attempt, or one after a crash
    /// that preceded any heartbeat.
    pub fn attempt(&self) -> SessionAttempt<'_> {
        SessionAttempt::new(self, None)
    }

    /// Returns the next attempt, which finds a heartbeat with these details: a checkpoint, or any
    /// other details that an earlier attempt may have left.
    ///
    /// # Errors
    /// If the details cannot be serialized as JSON.
    pub fn attempt_from(&self, details: &impl Serialize) -> Result<SessionAttempt<'_>, serde_json::Error> {
        let details = serde_json::to_value(details)?;
        // An attempt that finds a heartbeat is not the first one.
        self.attempts.fetch_max(1, Ordering::Relaxed);
        Ok(SessionAttempt::new(self, Some(details)))
    }

    /// Returns the number of the attempt that begins.
    fn count(&self) -> u32 {
        self.attempts.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the information that the activity receives about itself in an attempt.
    fn info_of(&self, activity_type: &str, attempt: u32) -> ActivityInfo {
        let mut info = self.info.clone();
        activity_type.clone_into(&mut info.activity_type);
        info.attempt = attempt;
        // Sessions detect by this token that there is no server.
        info.task_token = TestActivityInfoOptions::builder().build().task_token;
        info
    }

    /// Returns a builder with the instances of an attempt.
    fn registered(&self) -> Builder {
        self.activities.iter().fold(ActivityEnvironment::builder_with_default(), |builder, register| register(builder))
    }
}

impl std::fmt::Debug for SessionEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionEnvironment")
            .field("info", &self.info)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
