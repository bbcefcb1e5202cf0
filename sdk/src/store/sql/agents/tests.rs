//! Agents as data in SQLite.

use futures::future::join_all;
use serde_json::json;
use tempfile::TempDir;

use crate::store::{AgentStore, AgentVersion, PutAgentError, SqlStore};

async fn store() -> (TempDir, SqlStore) {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("agents.db").display());
    (directory, SqlStore::connect(&url).await.unwrap())
}

fn shown(versions: &[AgentVersion]) -> Vec<(&str, u32)> {
    versions.iter().map(|version| (&*version.name, version.version)).collect()
}

#[tokio::test]
async fn versions_are_added_listed_and_read() {
    let (_directory, store) = store().await;
    let first = json!({"name": "desk", "instructions": "a\0b \\ ü"});
    let added = store.put("desk", &first, 0, Some("ann\0")).await.unwrap();
    assert_eq!((added.version, added.author.as_deref()), (1, Some("ann\0")));
    store.put("desk", &json!({"name": "desk"}), 1, None).await.unwrap();
    for name in ["b", "B", "ä", "a\0"] {
        store.put(name, &json!({}), 0, None).await.unwrap();
    }
    assert_eq!(shown(&store.list(None, 9).await.unwrap()), [("B", 1), ("a\0", 1), ("b", 1), ("desk", 2), ("ä", 1)]);
    assert_eq!(shown(&store.list(Some("b"), 1).await.unwrap()), [("desk", 2)]);
    assert_eq!(shown(&store.versions("desk", None, 9).await.unwrap()), [("desk", 2), ("desk", 1)]);
    assert_eq!(shown(&store.versions("desk", Some(2), 9).await.unwrap()), [("desk", 1)]);
    assert_eq!(shown(&store.versions("desk", None, 1).await.unwrap()), [("desk", 2)]);
    let (version, spec) = store.read("desk", Some(1)).await.unwrap().unwrap();
    assert_eq!((&spec, &version.author, version.created_at), (&first, &added.author, added.created_at));
    assert_eq!(store.read("desk", None).await.unwrap().unwrap().0.version, 2);
    for (name, version) in [("desk", Some(3)), ("desk", Some(0)), ("nobody", None), (&*"x".repeat(1_000_000), None)] {
        assert!(store.read(name, version).await.unwrap().is_none());
    }
    assert!(store.versions("nobody", None, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn of_writers_at_the_same_time_one_adds_a_version_and_there_are_no_gaps() {
    let (_directory, store) = store().await;
    for newest in 0..5 {
        let specs: Vec<_> = (0..8).map(|number| json!({"instructions": number.to_string()})).collect();
        let results = join_all(specs.iter().map(|spec| store.put("desk", spec, newest, None))).await;
        let added = results.iter().filter(|result| result.is_ok()).count();
        let conflicts = results
            .iter()
            .filter(|result| matches!(result, Err(PutAgentError::Conflict { newest: found }) if *found == newest + 1));
        assert_eq!((added, conflicts.count()), (1, 7), "{results:?}");
    }
    for newest in [0, 4, 6, u32::MAX] {
        let refused = store.put("desk", &json!({}), newest, None).await;
        assert!(matches!(refused, Err(PutAgentError::Conflict { newest: 5 })), "{refused:?}");
    }
    assert!(matches!(store.put("new", &json!({}), 3, None).await, Err(PutAgentError::Conflict { newest: 0 })));
}
