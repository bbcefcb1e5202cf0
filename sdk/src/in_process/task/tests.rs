//! Tests of tasks, on SQLite.
#![cfg(feature = "sqlite")]

use std::{sync::Arc, time::Duration};

use super::Owned;
use crate::{
    in_process::{
        mail::{self, Mail, Posted},
        rows::{self, Task},
        runs::Settings,
    },
    inline::InlineRunner,
    resources::Resources,
    store::SqlStore,
    wire::AgentDecision,
    workflow::AgentSet,
};

/// A decision that counts has a fact, and the facts of a run that is taken over begin on another
/// thread.
#[tokio::test]
async fn a_mail_waits_until_the_run_that_it_is_for_has_begun() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqlStore::connect(&format!("sqlite:{}", directory.path().join("agents.db").display())).await.unwrap();
    let task = Task::new("t", false, "{}".to_owned(), "own");
    assert!(rows::insert(&store, &task).await.unwrap());
    let settings = Settings {
        store: store.clone(),
        agents: AgentSet::new(()),
        runner: InlineRunner::new(Resources::new()),
        lease: Duration::from_secs(15),
        process: "own".to_owned(),
        answered: Arc::default(),
    };
    let owned = Owned::new(&settings, &task, None, Vec::new());
    let decision = Mail::Decision { decision: AgentDecision::approve("call_1") };
    assert!(matches!(mail::post(&store, &task.key, "m", &decision, "own").await.unwrap(), Posted::ToOwner));
    for received in mail::unanswered(&store, "own").await.unwrap() {
        owned.receive(received);
    }
    assert!(owned.log.flush().await);
    assert_eq!(mail::answer(&store, &task.key, "m").await.unwrap(), Some(None));
}
