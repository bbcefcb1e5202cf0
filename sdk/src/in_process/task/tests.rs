//! Tests of tasks, on SQLite.
#![cfg(feature = "sqlite")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use temporal_agents_core::wire::AgentDecision;

use super::Owned;
use crate::{
    events::Facts,
    in_process::{
        mail::{self, Mail, Posted},
        rows::{self, Task},
        runs::Settings,
        watch::deliver,
    },
    inline::InlineRunner,
    resources::Resources,
    store::SqlStore,
    workflow::{AgentSet, Chat},
};

/// A task of a run, without the run, and the directory of its store.
async fn task() -> (Arc<Owned>, SqlStore, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqlStore::connect(&format!("sqlite:{}", directory.path().join("agents.db").display())).await.unwrap();
    let task = Task::new("t", false, "{}".to_owned(), "own");
    assert!(rows::insert(&store, &task).await.unwrap());
    let settings = Settings {
        store: store.clone(),
        agents: AgentSet::new(()),
        runner: InlineRunner::new(Resources::new()),
        lease: Duration::from_secs(15),
        admission: Arc::default(),
        process: "own".to_owned(),
        answered: Arc::default(),
        deltas: None,
    };
    (Owned::new(&settings, &task, None, Vec::new()), store, directory)
}

async fn post(store: &SqlStore, task: &str, key: &str, mail: Mail) {
    assert!(matches!(mail::post(store, task, key, &mail, "own").await.unwrap(), Posted::ToOwner));
}

/// A decision that counts has a fact, and the facts of a run that is taken over begin on another
/// thread.
#[tokio::test]
async fn a_mail_waits_until_the_run_that_it_is_for_has_begun() {
    let (owned, store, _directory) = task().await;
    post(&store, &owned.key, "m", Mail::Decision { decision: AgentDecision::approve("call_1") }).await;
    for received in mail::unanswered(&store, "own").await.unwrap() {
        assert!(!owned.receive(received));
    }
    assert!(owned.log.flush().await);
    assert_eq!(mail::answer(&store, &owned.key, "m").await.unwrap(), Some(None));
}

#[tokio::test]
async fn a_mail_that_waits_is_not_overtaken() {
    let (owned, store, _directory) = task().await;
    post(&store, &owned.key, mail::CANCEL, Mail::Cancel).await;
    post(&store, &owned.key, "m", Mail::Decision { decision: AgentDecision::approve("call_1") }).await;
    let begins = || *owned.publisher.lock().unwrap() = Some(owned.publisher_of("run", Facts::default(), None));
    let looks = AtomicU32::new(0);
    deliver(mail::unanswered(&store, "own").await.unwrap(), |_| {
        // The run begins after the first mail was put off.
        if looks.fetch_add(1, Ordering::Relaxed) == 1 {
            begins();
        }
        Some(Arc::clone(&owned))
    });
    begins();
    deliver(mail::unanswered(&store, "own").await.unwrap(), |_| Some(Arc::clone(&owned)));
    assert!(owned.cancelled.is_cancelled());
    assert!(owned.log.flush().await);
    for key in [mail::CANCEL, "m"] {
        assert!(mail::answer(&store, &owned.key, key).await.unwrap().flatten().is_some(), "{key}");
    }
}

/// Otherwise a process that dies between two writes leaves a chat that says that a message was
/// answered, and a message without an answer.
#[tokio::test]
async fn entries_that_are_held_back_do_not_change_what_is_written_before_them() {
    let (owned, store, _directory) = task().await;
    let mut chat = Chat::default();
    owned.log.chat(&chat);
    owned.log.hold();
    chat.agent = Some("desk".to_owned());
    owned.log.chat(&chat);
    while rows::find(&store, &owned.key).await.unwrap().unwrap().chat.is_none() {
        tokio::task::yield_now().await;
    }
    let written = || async { rows::find(&store, &owned.key).await.unwrap().unwrap().chat.unwrap().to_string() };
    assert!(!written().await.contains("desk"));
    assert!(owned.log.is_holding());
    assert!(owned.log.flush().await);
    assert!(written().await.contains("desk"));
}
