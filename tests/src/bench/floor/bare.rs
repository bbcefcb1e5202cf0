//! The same number of activities, with next to nothing in them: what remains is Temporal.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use std::time::Duration;

use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ActivityOptions, WorkflowContext, WorkflowResult};

use super::FloorActivities;
use crate::bench::spec::Spec;

/// So many tiny activities.
#[workflow]
#[derive(Debug, Default)]
pub struct FloorBare;

#[workflow_methods]
impl FloorBare {
    /// One activity after another.
    #[run(name = "floor_bare")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, spec: Spec) -> WorkflowResult<String> {
        for _ in 0..spec.activities() {
            let options = ActivityOptions::start_to_close_timeout(Duration::from_mins(1));
            ctx.execute_activity(FloorActivities::act, "x".to_owned(), options).await?;
        }
        Ok("ok".to_owned())
    }
}
