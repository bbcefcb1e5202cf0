//! The inbox of a task: the one of a workflow, shared between its run and the process's reader of
//! mail.
//!
//! # Design
//! **The inbox is the workflow's own** ([`AgentInbox`]), so that questions have the same ids, and a
//! decision the same answer, in both modes.

use std::{
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;
use temporal_agents_core::wire::{AgentDecision, AgentState, DecisionAnswer};
use temporalio_workflow::WorkflowCancellationToken;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::workflow::{AgentInbox, InboxContext};

/// An inbox that several threads use.
#[derive(Debug)]
pub(super) struct TaskInbox {
    inbox: Mutex<AgentInbox>,
    /// Changes with the inbox.
    news: watch::Sender<u64>,
}

impl TaskInbox {
    /// Restores the inbox of a task; without a value it is empty.
    pub(super) fn new(inbox: Option<Value>) -> Self {
        let inbox = inbox.and_then(|inbox| serde_json::from_value(inbox).ok()).unwrap_or_default();
        Self { inbox: Mutex::new(inbox), news: watch::Sender::new(0) }
    }

    /// Takes a decision. `answered` learns the answer before the run does.
    pub(super) fn decide(&self, decision: AgentDecision, answered: impl FnOnce(&DecisionAnswer)) {
        let mut inbox = self.lock();
        answered(&inbox.decide(decision));
        drop(inbox);
        self.news.send_modify(|version| *version += 1);
    }

    /// Withdraws the questions of all runs.
    pub(super) fn abandon_runs(&self) {
        self.lock().abandon_runs();
    }

    /// Returns the state of the task's runs.
    pub(super) fn state(&self) -> AgentState {
        self.lock().state()
    }

    /// Returns the inbox as JSON.
    pub(super) fn value(&self) -> Value {
        serde_json::to_value(&*self.lock()).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, AgentInbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The inbox as one run uses it.
pub(super) struct RunContext {
    pub(super) inbox: Arc<TaskInbox>,
    /// Cancels the run.
    pub(super) cancelled: CancellationToken,
}

impl RunContext {
    pub(super) fn of(inbox: &Arc<TaskInbox>, cancelled: &CancellationToken) -> Rc<dyn InboxContext> {
        Rc::new(Self { inbox: Arc::clone(inbox), cancelled: cancelled.clone() })
    }
}

impl InboxContext for RunContext {
    fn change(&self, change: &mut dyn FnMut(&mut AgentInbox)) {
        change(&mut self.inbox.lock());
        self.inbox.news.send_modify(|version| *version += 1);
    }

    fn look(&self, look: &mut dyn FnMut(&AgentInbox)) {
        look(&self.inbox.lock());
    }

    /// Outside of a workflow there are no polls, and the token of the run cancels the wait.
    fn wait_until_decided(
        &self,
        ids: Vec<String>,
        _max_polls: Option<u32>,
        _token: WorkflowCancellationToken,
    ) -> LocalBoxFuture<'static, bool> {
        let (inbox, cancelled) = (Arc::clone(&self.inbox), self.cancelled.clone());
        async move {
            let mut news = inbox.news.subscribe();
            let decided = async {
                loop {
                    news.mark_unchanged();
                    if ids.iter().any(|id| inbox.lock().is_decided(id)) || news.changed().await.is_err() {
                        return;
                    }
                }
            };
            cancelled.run_until_cancelled(decided).await.is_some()
        }
        .boxed_local()
    }

    fn stream_is_idle(&self) -> LocalBoxFuture<'static, ()> {
        std::future::ready(()).boxed_local()
    }
}
