//! A host with the resources that it needs for all scenarios of a suite.

use serde_json::Value;

use super::{
    Activities, Host,
    durable::{DurableError, DurableHost, Mode},
    format::Scenario,
    inline,
    play::PlayError,
    recorder::{Pace, Recorder},
    session::{SessionError, SessionHost},
};
use crate::environment::EnvironmentError;

/// A host that is ready.
pub(super) enum Venue {
    Inline,
    Workflow(Box<DurableHost>),
    Session(Box<SessionHost>),
}

/// A scenario that was played.
pub(super) struct Played {
    /// The observations other than the effects.
    pub(super) observed: Value,
    pub(super) activities: Option<Activities>,
    pub(super) attempts: Option<u32>,
    /// The recorder, which holds the effects.
    pub(super) recorder: Recorder,
}

/// A reason for which a scenario was not played.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotPlayed {
    #[error(transparent)]
    Play(#[from] PlayError),
    #[error(transparent)]
    Durable(#[from] DurableError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Venue {
    pub(super) async fn open(host: Host) -> Result<Self, EnvironmentError> {
        Ok(match host {
            Host::Inline => Self::Inline,
            Host::Workflow => Self::Workflow(Box::new(DurableHost::start(Mode::Cached).await?)),
            Host::WorkflowUncached => Self::Workflow(Box::new(DurableHost::start(Mode::Uncached).await?)),
            Host::WorkflowBatched => Self::Workflow(Box::new(DurableHost::start(Mode::Batched).await?)),
            Host::Session => Self::Session(Box::new(SessionHost::start(false).await?)),
            Host::SessionInterrupted => Self::Session(Box::new(SessionHost::start(true).await?)),
        })
    }

    /// Returns the number of scenarios played concurrently. In sessions most of them wait for the
    /// server.
    pub(super) fn at_a_time(&self) -> usize {
        match self {
            Self::Inline | Self::Workflow(_) => 6,
            Self::Session(_) => 24,
        }
    }

    pub(super) async fn play(&self, scenario: Scenario, json: &Value) -> Result<Played, NotPlayed> {
        Ok(match self {
            Self::Inline => {
                let recorder = Recorder::new(&scenario, Pace::AsWritten);
                let observed = inline::run(&scenario, &recorder).await?;
                Played { observed, activities: None, attempts: None, recorder }
            }
            Self::Workflow(host) => {
                let recorder = Recorder::new(&scenario, DurableHost::pace(&scenario));
                let (observed, activities) = host.run(&scenario, json, &recorder).await?;
                Played { observed, activities: Some(activities), attempts: None, recorder }
            }
            Self::Session(host) => {
                let recorder = Recorder::new(&scenario, Pace::AsWritten);
                let (observed, attempts) = host.run(scenario, &recorder).await?;
                Played { observed, activities: None, attempts: Some(attempts), recorder }
            }
        })
    }

    pub(super) async fn close(self) {
        match self {
            Self::Inline => {}
            Self::Workflow(host) => host.shutdown().await,
            Self::Session(host) => host.shutdown().await,
        }
    }
}
