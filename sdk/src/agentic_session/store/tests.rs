use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use serde_json::json;

use super::*;

/// A store in memory.
#[derive(Default)]
struct Shelf(Mutex<BTreeMap<String, String>>);

impl Shelf {
    fn checkpoints(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointStore for Arc<Shelf> {
    fn put<'a>(&'a self, key: &'a str, checkpoint: String) -> BoxFuture<'a, Result<(), BoxError>> {
        self.checkpoints().insert(key.to_owned(), checkpoint);
        Box::pin(async { Ok(()) })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, BoxError>> {
        let found = self.checkpoints().get(key).cloned();
        Box::pin(async move { Ok(found) })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, ()> {
        self.checkpoints().remove(key);
        Box::pin(async {})
    }
}

fn storage(shelf: &Arc<Shelf>) -> Storage {
    Storage { store: Some(Arc::new(Arc::clone(shelf))), spill_over: 20, scope: "s".to_owned(), attempt: 2 }
}

const LARGE: &str = r#"{"a":"a long text, or so"}"#;

async fn put(storage: &Storage, kept: &mut Kept) -> Value {
    let heartbeat = storage.fit(LARGE.to_owned(), kept).await.unwrap();
    serde_json::from_str(&heartbeat).unwrap()
}

#[tokio::test]
async fn a_large_checkpoint_is_found_again_and_a_small_one_stays_in_the_heartbeat() {
    let shelf = Arc::new(Shelf::default());
    let (storage, mut kept) = (storage(&shelf), Kept::default());
    let heartbeat = put(&storage, &mut kept).await;
    assert_eq!(heartbeat["kept"]["key"], "s-2-1");
    assert_eq!(storage.fetch(heartbeat).await.unwrap().to_string(), LARGE);
    assert_eq!(storage.fit("{}".to_owned(), &mut kept).await.unwrap(), "{}");
}

#[tokio::test]
async fn the_last_two_checkpoints_stay() {
    let shelf = Arc::new(Shelf::default());
    let (storage, mut kept) = (storage(&shelf), Kept::default());
    for _ in 0..4 {
        put(&storage, &mut kept).await;
        storage.remove_replaced(&mut kept).await;
    }
    let keys: Vec<String> = shelf.checkpoints().keys().cloned().collect();
    assert_eq!(keys, ["s-2-3", "s-2-4"]);
}

#[tokio::test]
async fn a_checkpoint_that_is_not_what_was_written_is_refused() {
    let shelf = Arc::new(Shelf::default());
    let storage = storage(&shelf);
    let heartbeat = put(&storage, &mut Kept::default()).await;
    shelf.checkpoints().insert("s-2-1".to_owned(), "{}".to_owned());
    let error = storage.fetch(heartbeat).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the session's checkpoint could not be read from the checkpoint store: checkpoint \"s-2-1\" does not match \
         its digest"
    );
}

#[tokio::test]
async fn what_others_keep_and_what_a_later_version_keeps_is_left_to_the_reader() {
    let storage = storage(&Arc::default());
    let of_others = json!({"version": 1, "messages": [], "kept": 3});
    assert_eq!(storage.fetch(of_others.clone()).await.unwrap(), of_others);
    let later = json!({"format": SESSION_FORMAT, "version": "9.0", "kept": {"shelf": 7}});
    assert_eq!(storage.fetch(later.clone()).await.unwrap(), later);
}

#[tokio::test]
async fn a_heartbeat_cannot_have_another_key_read() {
    let shelf = Arc::new(Shelf::default());
    let storage = storage(&shelf);
    let heartbeat = put(&storage, &mut Kept::default()).await;
    for key in
        ["t-2-1", "../../etc/passwd", "s", "s-", "s-2", "s-2-", "s-2-1/../../t-2-1", "s-2-1-1", "s/2-1", "ss-2-1", ""]
    {
        shelf.checkpoints().insert(key.to_owned(), LARGE.to_owned());
        let mut forged = heartbeat.clone();
        forged["kept"]["key"] = json!(key);
        let error = storage.fetch(forged).await.unwrap_err().to_string();
        assert_eq!(error, format!("checkpoint {key:?} does not belong to this session"));
    }
    assert!(storage.fetch(heartbeat).await.is_ok());
}
