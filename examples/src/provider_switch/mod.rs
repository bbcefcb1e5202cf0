//! A conversation that changes its provider: the first one has an outage, and the next attempt of
//! the session continues with another.
//!
//! Conversations are stored as items of one form, whichever provider made them. So Anthropic's
//! model can continue from the messages and calls of OpenAI's model.

#![allow(
    missing_docs,
    missing_debug_implementations,
    reason = "#[workflow_methods] and #[activities] generate items without either"
)]

pub mod model;

use std::{sync::Arc, time::Duration};

use temporal_agents::{Agent, State, agentic_session::AgenticSession, inline::InlineRunner, tool};
use temporalio_common::protos::temporal::api::common::v1::RetryPolicy;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

/// The models, in the order in which the attempts use them.
pub const MODELS: [&str; 2] = ["gpt-5-mini", "claude-sonnet-4-6"];

/// Number of look-ups of parcels.
#[derive(Clone, Debug, Default)]
pub struct Lookups(pub Arc<std::sync::atomic::AtomicU32>);

/// Says where a parcel is.
#[tool]
async fn locate_parcel(State(lookups): State<Lookups>, number: String) -> String {
    lookups.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("parcel {number} is in Bergen, since Monday")
}

pub fn clerk() -> Agent {
    Agent::new("clerk").instructions("You help people find their parcels.").tool(locate_parcel)
}

/// The activities of the clerk; the runner has a provider for each of the models.
pub struct Desk {
    pub runner: InlineRunner,
}

#[activities]
impl Desk {
    #[activity]
    pub async fn answer(self: Arc<Self>, ctx: ActivityContext, question: String) -> Result<String, ActivityError> {
        // Each attempt uses the next provider, also an attempt after a crash.
        let attempt = usize::try_from(ctx.info().attempt).unwrap_or(usize::MAX);
        let model = MODELS[(attempt - 1) % MODELS.len()];
        AgenticSession::run(&ctx, async |session| {
            let runner = session.runner(&self.runner.clone().model(model));
            Ok(runner.run(&clerk(), question).await?.final_output)
        })
        .await
    }
}

/// A customer's question.
#[workflow]
#[derive(Default)]
pub struct Question;

#[workflow_methods]
impl Question {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let soon = Duration::from_millis(500);
        let retries = RetryPolicy { initial_interval: soon.try_into().ok(), ..RetryPolicy::default() };
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_mins(10))
            .heartbeat_timeout(Duration::from_secs(30))
            .retry_policy(retries)
            .build();
        Ok(ctx.execute_activity(Desk::answer, question, options).await?)
    }
}
