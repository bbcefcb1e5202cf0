//! The error of an attempt that ends without an output.

use std::{error::Error, time::Duration};

use temporal_agents::__private::error_debug;
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::{activities::ActivityError, testing::ActivityEnvironmentError};

/// The error of an attempt that ends without an output.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// The activity has failed. The failure contains its type, and determines whether another
    /// attempt would follow.
    #[error("the attempt failed: {}", chain(&**.0))]
    Failed(Box<ApplicationFailure>),
    /// The activity reported that it was cancelled.
    #[error("the attempt was cancelled")]
    Cancelled,
    /// The activity reported that it will be completed asynchronously.
    #[error("the activity will be completed asynchronously")]
    WillCompleteAsync,
    /// The attempt did not end in time, and was dropped.
    #[error(
        "the attempt did not end within {patience:?}: a model, a tool or an approver does not answer; its checkpoints \
         show its progress"
    )]
    Hangs {
        /// Time waited for the attempt.
        patience: Duration,
    },
    /// No instance is registered on which to run the activity.
    #[error(
        "activity {activity_type:?} has no instance to run with; add .register_activities(|| ..) to the \
         SessionEnvironment"
    )]
    NotRegistered {
        /// Type of the activity.
        activity_type: String,
    },
    /// Any other error of the SDK.
    #[error("{0}")]
    Other(String),
}

error_debug!(enum AttemptError {
    Failed(source),
    Cancelled,
    WillCompleteAsync,
    Hangs { patience },
    NotRegistered { activity_type },
    Other(source),
});

impl From<ActivityEnvironmentError> for AttemptError {
    fn from(error: ActivityEnvironmentError) -> Self {
        match error {
            ActivityEnvironmentError::Activity(ActivityError::Application(failure)) => Self::Failed(failure),
            ActivityEnvironmentError::Activity(ActivityError::Cancelled { .. }) => Self::Cancelled,
            ActivityEnvironmentError::Activity(ActivityError::WillCompleteAsync) => Self::WillCompleteAsync,
            ActivityEnvironmentError::MissingImplementer { activity_type } => Self::NotRegistered { activity_type },
            other => Self::Other(other.to_string()),
        }
    }
}

/// Formats an error and its causes, from the outermost inwards; omits causes that the message of
/// the previous error already contains.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in std::iter::successors(Some(error), |error| (*error).source()) {
        let text = cause.to_string();
        if !texts.last().is_some_and(|told| told.contains(&text)) {
            texts.push(text);
        }
    }
    texts.join(": ")
}
