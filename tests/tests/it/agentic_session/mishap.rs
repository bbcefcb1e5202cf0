//! What makes the first attempt of an activity fail, at a point of the test's choice.

use std::sync::Arc;

use temporal_agents::{
    agentic_session::AgenticSessionError,
    run::{RunFailure, RunResult},
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::ActivityError;
use tokio::sync::Semaphore;

/// A mishap that is still to happen, once. Clones are the same.
#[derive(Clone)]
pub(crate) struct Mishap(Arc<Semaphore>);

impl Mishap {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    pub(crate) fn happen(&self) {
        self.0.add_permits(1);
    }

    /// Runs, unless it happens first.
    pub(crate) async fn or<T>(
        &self,
        run: impl Future<Output = Result<RunResult<T>, RunFailure>>,
    ) -> Result<RunResult<T>, AgenticSessionError> {
        tokio::select! {
            ended = run => Ok(ended?),
            happens = self.0.acquire() => {
                happens.expect("never closed").forget();
                Err(AgenticSessionError::activity(broken("the network is down")))
            }
        }
    }
}

/// A failure that another attempt may not have.
pub(crate) fn broken(message: &str) -> ActivityError {
    ActivityError::Application(Box::new(ApplicationFailure::new(anyhow::anyhow!(message.to_owned()))))
}
