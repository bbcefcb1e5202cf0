//! The six points at which a worker is killed, as history tells them.

use std::time::Duration;

use temporal_agents::{
    client::AgentHandle,
    wire::{DecisionAnswer, MODEL_ACTIVITY},
};
use temporal_agents_examples::{approval::ledger::Ledger, stage::server::pending};
use temporal_agents_testing::history::{self, History};
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::{
    enums::v1::{EventType, PendingActivityState},
    history::v1::HistoryEvent,
};
use tokio::time::{Instant, sleep};

use crate::PATIENCE;

use super::{
    super::approval::{CALL, is_asked, renew},
    worker::Hold,
};

/// Where the worker is when it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// It asks the model for the first time.
    FirstAnswer,
    /// The model has asked for the refund; the workflow does not know yet.
    BeforeAsking,
    /// The run waits for a decision, in its first history.
    Waiting,
    /// The run waits in a second history.
    WaitingRenewed,
    /// The decision is there. The refund is paid, but not confirmed.
    ToolRunning,
    /// The refund is confirmed. The model is asked for the last time.
    LastAnswer,
}

impl Point {
    /// What makes a worker stay at this point.
    pub(super) fn hold(self) -> Hold {
        match self {
            Self::FirstAnswer => Hold::FirstAnswer,
            Self::BeforeAsking => Hold::Timer,
            Self::Waiting | Self::WaitingRenewed => Hold::Nothing,
            Self::ToolRunning => Hold::Confirmation,
            Self::LastAnswer => Hold::LastAnswer,
        }
    }

    /// Whether the decision is made before this point.
    pub(super) fn is_decided(self) -> bool {
        matches!(self, Self::ToolRunning | Self::LastAnswer)
    }

    /// Brings the workflow to this point and waits until it is there.
    pub(super) async fn reach(self, client: &Client, workflow_id: &str, ledger: &Ledger) -> anyhow::Result<()> {
        let agent = AgentHandle::new(client, workflow_id);
        if self.is_decided() {
            is_asked(&agent).await?;
            assert_eq!(agent.approve(CALL).await?, DecisionAnswer::Accepted);
        }
        if self == Self::WaitingRenewed {
            is_asked(&agent).await?;
            renew(client, workflow_id).await?;
        }
        let deadline = Instant::now() + PATIENCE;
        while !self.is_reached(client, workflow_id, ledger).await? {
            anyhow::ensure!(Instant::now() < deadline, "the workflow does not come to {self:?}");
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Fails when the workflow went past this point before its worker was dead.
    pub(super) async fn check(self, client: &Client, workflow_id: &str, ledger: &Ledger) -> anyhow::Result<()> {
        anyhow::ensure!(self.is_reached(client, workflow_id, ledger).await?, "{self:?} was over before the kill");
        Ok(())
    }

    async fn is_reached(self, client: &Client, workflow_id: &str, ledger: &Ledger) -> anyhow::Result<bool> {
        let history = history::fetch(client, workflow_id, None).await?;
        let done = count(&history, EventType::ActivityTaskCompleted);
        let under_way = under_way(client, workflow_id).await?;
        Ok(match self {
            Self::FirstAnswer => done == 0 && under_way == [MODEL_ACTIVITY],
            Self::BeforeAsking => done == 1 && ends_in_a_workflow_task(&history),
            // The timer is started where the run waits; a history that continues another begins there.
            Self::Waiting => done == 1 && count(&history, EventType::TimerStarted) == 1,
            Self::WaitingRenewed => done == 0 && count(&history, EventType::TimerStarted) == 1,
            Self::ToolRunning => ledger.payments()?.len() == 1 && under_way == ["agents.tool.refund"],
            Self::LastAnswer => done == 2 && under_way == [MODEL_ACTIVITY],
        })
    }
}

fn count(history: &History, kind: EventType) -> usize {
    history.events.iter().filter(|event| event.event_type() == kind).count()
}

/// Whether a worker has the news of the last activity, and has not answered.
fn ends_in_a_workflow_task(history: &History) -> bool {
    let types = history.events.iter().rev().map(HistoryEvent::event_type);
    let since: Vec<EventType> = types.take_while(|kind| *kind != EventType::ActivityTaskCompleted).collect();
    since == [EventType::WorkflowTaskStarted, EventType::WorkflowTaskScheduled]
}

/// The types of the activities that a worker works on.
async fn under_way(client: &Client, workflow_id: &str) -> anyhow::Result<Vec<String>> {
    let started = pending(client, workflow_id).await?.into_iter();
    let started = started.filter(|activity| activity.state() == PendingActivityState::Started);
    Ok(started.filter_map(|activity| activity.activity_type).map(|kind| kind.name).collect())
}
