//! The replay of a ready-made workflow's history in a process that is no worker.

use temporal_agents_core::agent::AgentDef;
use temporalio_client::WorkflowHistory;
use temporalio_common::{data_converters::DataConverter, protos::temporal::api::history::v1::History};
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use super::{Journal, ReplayChange, explain, read};
use crate::workflow::{AgentSet, AgentWorkflow, ChatWorkflow};

/// The ready-made workflows with these agents.
#[derive(Debug)]
pub(crate) struct ReadyMadeReplay(AgentSet);

impl ReadyMadeReplay {
    pub(crate) fn new(agents: Vec<AgentDef>) -> Self {
        Self(AgentSet::new(agents))
    }

    /// Replays a history, and returns the change that prevents it; `None` if nothing does, or no
    /// change of the agents explains it, or if the workers have failed at another event: then the
    /// agents here are not those of the workers.
    ///
    /// Not `Send`: the replay runs workflow code on the caller's thread.
    pub(crate) async fn change(
        &self,
        history: History,
        converter: &DataConverter,
        failed_with: &str,
    ) -> Option<ReplayChange> {
        let journal = Journal::default();
        let mut options = WorkflowReplayerOptions::new().build();
        options.register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(self.0.clone())).ok()?;
        options.register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(self.0.clone())).ok()?;
        options.data_converter = converter.clone();
        options.workflow_interceptor(journal.interceptor());
        let record = read(&history, converter).await;
        let replayer = WorkflowReplayer::new(options).ok()?;
        let error = replayer.replay_workflow(WorkflowHistory::from(history)).await.err()?;
        (failed_event(&error.to_string()) == failed_event(failed_with))
            .then(|| explain(&record, &journal.entries()))
            .flatten()
    }
}

/// Returns the event that a message of the SDK is about: `HistoryEvent(id: 41, ActivityTaskScheduled)`.
fn failed_event(message: &str) -> Option<&str> {
    let (_, event) = message.split_once("HistoryEvent(id: ")?;
    event.split_once(',').map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::failed_event;

    #[test]
    fn the_event_of_a_failed_replay_is_read_from_its_message() {
        let message = "[TMPRL1100] Nondeterminism error: Fail workflow machine does not handle this event: \
                       HistoryEvent(id: 41, ActivityTaskScheduled)";
        assert_eq!(failed_event(message), Some("41"));
        assert_eq!(failed_event("[TMPRL1100] Nondeterminism error: No command scheduled"), None);
    }
}
