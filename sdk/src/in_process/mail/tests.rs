//! Tests of mail, on SQLite.
#![cfg(feature = "sqlite")]

use serde_json::json;
use tempfile::TempDir;
use temporal_agents_core::wire::AgentDecision;

use super::{Mail, Posted, answer, decisions_after, leave, post, set_answer, unanswered};
use crate::{
    in_process::rows::{Task, claim, insert, key_of},
    store::SqlStore,
};

/// A store with the task `t` of the process `one`.
async fn store() -> (SqlStore, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqlStore::connect(&format!("sqlite:{}", directory.path().join("agents.db").display())).await.unwrap();
    assert!(insert(&store, &Task::new("t", false, "{}".to_owned(), "one")).await.unwrap());
    assert!(!insert(&store, &Task::new("t", false, "{}".to_owned(), "two")).await.unwrap());
    (store, directory)
}

fn decision() -> Mail {
    Mail::Decision { decision: AgentDecision::approve("call_1") }
}

#[tokio::test]
async fn a_mail_that_is_sent_again_is_one_with_one_answer() {
    let (store, _directory) = store().await;
    let key = key_of("t");
    for process in ["two", "three"] {
        assert!(matches!(post(&store, &key, "m", &decision(), process).await.unwrap(), Posted::ToOwner));
    }
    assert_eq!(answer(&store, &key, "m").await.unwrap(), Some(None));
    let received = unanswered(&store, "one").await.unwrap();
    assert_eq!((received.len(), &received[0].mail), (1, &decision()));
    let mut transaction = store.begin().await.unwrap();
    set_answer(&mut transaction, &key, &received[0].key, &json!("yes")).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(unanswered(&store, "one").await.unwrap().is_empty());
    assert_eq!(answer(&store, &key, "m").await.unwrap(), Some(Some(json!("yes"))));
    assert_eq!(answer(&store, &key, "other").await.unwrap(), None);
    // A process that takes the task over reads it again.
    assert_eq!(decisions_after(&store, &key, 0).await.unwrap(), [AgentDecision::approve("call_1")]);
    assert!(decisions_after(&store, &key, received[0].number).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_task_is_left_only_without_mail_and_the_next_sender_owns_it() {
    let (store, _directory) = store().await;
    let key = key_of("t");
    let left = async |own| {
        let mut transaction = store.begin().await.unwrap();
        let left = leave(&mut transaction, &key, own).await.unwrap();
        transaction.commit().await.unwrap();
        left
    };
    assert!(!left("two").await);
    post(&store, &key, "m", &decision(), "two").await.unwrap();
    assert!(!left("one").await);
    let mut transaction = store.begin().await.unwrap();
    set_answer(&mut transaction, &key, "m", &json!(true)).await.unwrap();
    transaction.commit().await.unwrap();
    assert!(left("one").await);
    assert!(matches!(post(&store, &key, "n", &decision(), "two").await.unwrap(), Posted::Claimed));
    assert!(matches!(post(&store, &key, "o", &decision(), "one").await.unwrap(), Posted::ToOwner));
    assert_eq!(unanswered(&store, "two").await.unwrap().len(), 2);
    assert!(matches!(post(&store, "none", "m", &decision(), "one").await.unwrap(), Posted::Nowhere));
}

#[tokio::test]
async fn of_two_processes_one_takes_a_task_over() {
    let (store, _directory) = store().await;
    let key = key_of("t");
    assert!(claim(&store, &key, "one", "two").await.unwrap().is_some());
    assert!(claim(&store, &key, "one", "three").await.unwrap().is_none());
}
