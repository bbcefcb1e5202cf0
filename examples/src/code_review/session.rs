//! The review inside one activity.

use std::{sync::Arc, time::Duration};

use temporal_agents::{
    agentic_session::{AgenticSession, WorkflowApprover},
    inline::InlineRunner,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use super::{question, reviewer};

/// The activities of the review; the runner has the model and the states of the tools.
pub struct Reviews {
    pub runner: InlineRunner,
}

#[activities]
impl Reviews {
    #[activity]
    pub async fn review(self: Arc<Self>, ctx: ActivityContext, changed: Vec<String>) -> Result<String, ActivityError> {
        let options = AgenticSession::options().approver(WorkflowApprover::new());
        let review = options.run(&ctx, async |session| {
            let runner = session.runner(&self.runner);
            Ok(runner.run(&reviewer(), question(&changed)).await?.final_output)
        });
        review.await
    }
}

/// A workflow of a pull request; it may have existed for years before agents did.
#[workflow]
#[derive(Default)]
pub struct PullRequest;

#[workflow_methods]
impl PullRequest {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, changed: Vec<String>) -> WorkflowResult<String> {
        // The activity waits for people, so its timeout is long. The heartbeat timeout limits the
        // time until a lost worker is detected.
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_hours(48))
            .heartbeat_timeout(Duration::from_secs(10))
            .build();
        Ok(ctx.execute_activity(Reviews::review, changed, options).await?)
    }
}
