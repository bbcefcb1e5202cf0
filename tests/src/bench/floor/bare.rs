//! A workflow with the same number of minimal activities: its cost is that of Temporal alone.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use std::time::Duration;

use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ActivityOptions, WorkflowContext, WorkflowResult};

use super::FloorActivities;
use crate::bench::spec::Spec;

/// Runs as many minimal activities as the spec has activities.
#[workflow]
#[derive(Debug, Default)]
pub struct FloorBare;

#[workflow_methods]
impl FloorBare {
    /// Runs the activities in sequence.
    #[run(name = "floor_bare")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, spec: Spec) -> WorkflowResult<String> {
        for _ in 0..spec.activities() {
            let options = ActivityOptions::start_to_close_timeout(Duration::from_mins(1));
            ctx.execute_activity(FloorActivities::act, "x".to_owned(), options).await?;
        }
        Ok("ok".to_owned())
    }
}
