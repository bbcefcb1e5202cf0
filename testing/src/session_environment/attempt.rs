//! One attempt at an activity.

use std::time::Duration;

use serde_json::Value;
use temporalio_sdk::activities::ExecutableActivity;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{AttemptError, FinishedAttempt, SessionEnvironment, record::Record};

/// An attempt that takes longer hangs: it waits for a person or a service that the test does not
/// provide.
const PATIENCE: Duration = Duration::from_mins(2);

/// An attempt at the activity of a [`SessionEnvironment`] that has not run yet.
#[derive(Debug)]
#[must_use = "an attempt does nothing until it is run"]
pub struct SessionAttempt<'e> {
    environment: &'e SessionEnvironment,
    number: u32,
    details: Option<Value>,
    cancellation: CancellationToken,
}

impl<'e> SessionAttempt<'e> {
    pub(super) fn new(environment: &'e SessionEnvironment, details: Option<Value>) -> Self {
        Self { environment, number: environment.count(), details, cancellation: CancellationToken::new() }
    }

    /// Runs the activity to the end of this attempt, for at most two minutes.
    ///
    /// # Panics
    /// If the activity panics, or if the session has written a checkpoint that this build cannot
    /// read.
    pub async fn run<A: ExecutableActivity>(self, activity: A, input: A::Input) -> FinishedAttempt<A::Output> {
        let record = Record::after(self.details.clone());
        let noted = record.clone();
        let mut builder = self.environment.registered();
        if let Some(details) = &self.details {
            builder = builder.heartbeat_details(details.clone()).expect("a JSON value can be written as JSON");
        }
        let environment = builder
            .on_heartbeat(move |details| noted.note(&*details))
            .info(self.environment.info_of(activity.name(), self.number))
            .build();
        let running = async {
            let running = environment.run(activity, input);
            tokio::pin!(running);
            tokio::select! {
                biased;
                () = self.cancellation.cancelled() => environment.cancel(),
                result = &mut running => return result,
            }
            running.await
        };
        let ended = timeout(PATIENCE, running).await;
        let result = ended.map_or(Err(AttemptError::Hangs { patience: PATIENCE }), |ended| ended.map_err(Into::into));
        FinishedAttempt::new(result, record.heartbeats())
    }

    /// Returns the token that cancels the attempt, before it runs or while it runs: the activity is
    /// notified immediately, as by the server's response to a heartbeat.
    pub fn cancellation_token(&self) -> CancellationToken {
        self.cancellation.clone()
    }
}
