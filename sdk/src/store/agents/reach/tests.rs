//! Specs that handoffs reach, from a store in SQLite.

use serde_json::{Value, json};
use tempfile::TempDir;
use temporal_agents_core::wire::SpecRef;

use super::{LoadError, Loaded, Start, load};
use crate::store::{AgentStore, SqlStore};

/// A store with these specs; each time a name occurs, it gets a version.
async fn store(specs: &[Value]) -> (TempDir, SqlStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqlStore::connect(&format!("sqlite:{}", directory.path().join("agents.db").display())).await.unwrap();
    for spec in specs {
        let name = spec["name"].as_str().unwrap();
        let newest = store.versions(name, None, 1).await.unwrap().first().map_or(0, |newest| newest.version);
        store.put(name, spec, newest, None).await.unwrap();
    }
    (directory, store)
}

async fn loaded(specs: &[Value], start: &SpecRef) -> Loaded {
    let (_directory, store) = store(specs).await;
    load(&store, Start::Stored(start)).await.unwrap()
}

fn versions(loaded: &Loaded) -> Vec<(&str, u32)> {
    loaded.specs.iter().map(|loaded| (&*loaded.spec.name, loaded.version)).collect()
}

fn issues(loaded: &Loaded) -> Vec<String> {
    loaded.issues.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_handoff_leads_to_its_version_or_to_the_newest_and_cycles_end() {
    let specs = [
        json!({"name": "billing"}),
        json!({"name": "law", "handoffs": ["desk", "billing"]}),
        json!({"name": "law", "handoffs": ["desk"]}),
        json!({"name": "billing", "handoffs": ["law"]}),
        json!({"name": "desk", "handoffs": [{"agent": "law", "version": 1}, {"agent": "billing", "version": 1}]}),
    ];
    let found = loaded(&specs, &SpecRef::newest("desk")).await;
    // Without a version, the handoff leads to the one that was found before.
    assert_eq!((versions(&found), issues(&found)), (vec![("desk", 1), ("law", 1), ("billing", 1)], vec![]));
    let found = loaded(&specs, &SpecRef::newest("billing")).await;
    assert_eq!(
        (versions(&found), issues(&found)),
        (
            vec![("billing", 2), ("law", 2), ("desk", 1)],
            vec![
                "agent \"desk\" hands off to version 1 of \"law\", but the run has version 2; name one version in all \
                 handoffs to it, or none"
                    .to_owned(),
                "agent \"desk\" hands off to version 1 of \"billing\", but the run has version 2; name one version in \
                 all handoffs to it, or none"
                    .to_owned(),
            ]
        )
    );
}

#[tokio::test]
async fn the_agents_and_the_bytes_of_a_run_are_bounded() {
    let handoffs: Vec<String> = (0..100).map(|number| format!("a{number}")).collect();
    let mut specs: Vec<Value> = handoffs.iter().map(|name| json!({"name": name})).collect();
    specs.push(json!({"name": "desk", "handoffs": handoffs}));
    let found = loaded(&specs, &SpecRef::newest("desk")).await;
    let message = "spec \"desk\": handoffs reach more than 32 agents, the limit of one run";
    assert_eq!((found.specs.len(), issues(&found)), (32, vec![message.to_owned()]));

    let long = "x".repeat(125 * 1024);
    let mut specs: Vec<Value> =
        handoffs.iter().take(5).map(|name| json!({"name": name, "instructions": long})).collect();
    specs.push(json!({"name": "desk", "handoffs": handoffs[..5]}));
    let found = loaded(&specs, &SpecRef::newest("desk")).await;
    let message = "spec \"a4\": the spec and those before it have over 524288 bytes of JSON, the limit of one run";
    assert_eq!((found.specs.len(), issues(&found)), (5, vec![message.to_owned()]));
}

#[tokio::test]
async fn a_spec_for_a_newer_release_is_for_a_newer_worker() {
    let specs = [json!({"name": "new", "version": "1.9", "later": 1}), json!({"name": "old", "version": "0.1"})];
    let (_directory, store) = store(&specs).await;
    let newer = load(&store, Start::Stored(&SpecRef::newest("new"))).await;
    assert!(matches!(newer, Err(LoadError::TooNew(mismatch)) if mismatch.is_newer()));
    let older = load(&store, Start::Stored(&SpecRef::newest("old"))).await.unwrap();
    assert_eq!((older.specs.len(), older.issues.len()), (0, 1));
}
