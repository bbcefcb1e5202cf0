//! Tests of connecting, on SQLite. Those on both databases are in `tests/tests/it/sql_store/`.

use std::time::Duration;

use futures::future::try_join_all;
use rstest::rstest;
use sqlx::Row as _;

use super::{SqlStore, migrations::MIGRATIONS, target::Target};
use crate::store::Session as _;

fn shown(url: &str) -> String {
    Target::parse(url).map(|target| target.shown).unwrap()
}

async fn refused(url: &str) -> String {
    SqlStore::connect(url).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_url_of_another_kind_is_refused_without_being_repeated() {
    for url in ["", "agents.db", "mysql://root:hunter2@host/agents", "postgres://root:hunter2@host:port/agents"] {
        let error = refused(url).await;
        assert!(error.contains("postgres://user:password@host:port/database or sqlite:PATH"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn a_sqlite_database_needs_a_file() {
    for url in ["sqlite:", "sqlite://", "sqlite::memory:"] {
        assert!(refused(url).await.contains("needs the path of a file"));
    }
}

#[test]
#[cfg(feature = "postgres")]
fn only_host_and_database_of_a_url_are_shown() {
    assert_eq!(shown("postgres://ann:hunter2@db.example:5433/agents?password=x"), "postgres://db.example:5433/agents");
    assert_eq!(shown("postgresql:///agents?host=/run/pg"), "postgres:///agents");
}

#[rstest]
#[case("postgres://ann:hunter2@db/agents", "no hunter2")]
#[case("postgres://ann:hunter%202@db/agents", "no hunter 2 or hunter%202")]
#[case("postgres://ann@db/agents?password=hunter2", "no hunter2")]
#[cfg(feature = "postgres")]
fn a_message_of_the_driver_loses_the_password(#[case] url: &str, #[case] message: &str) {
    let redacted = Target::parse(url).unwrap().redacted(message);
    assert!(redacted.starts_with("no ***") && !redacted.contains("hunter"), "{redacted}");
}

#[tokio::test]
async fn a_path_may_have_any_character_and_is_created() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a b?c#d%20.db", "ünï.db"] {
        let path = directory.path().join(name);
        let store = SqlStore::connect(&format!("sqlite:{}", path.display())).await.unwrap();
        assert!(path.is_file(), "{}", path.display());
        assert_eq!(format!("{store:?}"), format!("SqlStore({:?})", format!("sqlite:{}", path.display())));
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_created_is_named() {
    let error = refused("sqlite:/nowhere/at/all.db").await;
    assert!(error.contains("cannot connect to sqlite:/nowhere/at/all.db: "), "{error}");
}

#[tokio::test]
async fn stores_that_connect_at_once_apply_each_migration_once() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("agents.db").display());
    let stores = try_join_all((0..8).map(|_| SqlStore::connect(&url))).await.unwrap();
    let rows = sqlx::query("SELECT name FROM agents_migrations").fetch_all(stores[7].pool()).await.unwrap();
    let mut names: Vec<String> = rows.iter().map(|row| row.get("name")).collect();
    let mut expected: Vec<&str> = MIGRATIONS.iter().map(|migration| migration.name).collect();
    names.sort();
    expected.sort_unstable();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn a_transaction_that_is_dropped_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqlStore::connect(&format!("sqlite:{}", directory.path().join("agents.db").display())).await.unwrap();
    let mut transaction = store.begin().await.unwrap();
    sqlx::query("INSERT INTO agents_sessions VALUES ('s', 1)").execute(&mut *transaction).await.unwrap();
    drop(transaction);
    let rows = sqlx::query("SELECT session_id FROM agents_sessions").fetch_all(store.pool()).await.unwrap();
    assert!(rows.is_empty());
}

/// Drops writes in all their states: while they wait for a connection, begin, and write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_are_dropped_leave_no_lock() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqlStore::connect(&format!("sqlite:{}", directory.path().join("agents.db").display())).await.unwrap();
    let write = async |store: SqlStore, key: String| {
        let mut transaction = store.begin().await.unwrap();
        let insert = "INSERT INTO agents_sessions VALUES ($1, 1)";
        sqlx::query(insert).bind(key).execute(&mut *transaction).await.unwrap();
        transaction.commit().await.unwrap();
    };
    for round in 0..200_u64 {
        let writes: Vec<_> =
            (0..8).map(|number| tokio::spawn(write(store.clone(), format!("{round}-{number}")))).collect();
        tokio::time::sleep(Duration::from_micros(round * 20)).await;
        writes.iter().for_each(tokio::task::JoinHandle::abort);
    }
    // Another writer would wait for a lock that was left for 20 seconds, and fail.
    write(store.clone(), "last".to_owned()).await;
}

#[tokio::test]
async fn an_error_of_the_database_says_what_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqlStore::connect(&format!("sqlite:{}", directory.path().join("agents.db").display())).await.unwrap();
    sqlx::query("DROP TABLE agents_session_items").execute(store.pool()).await.unwrap();
    let error = store.items("s", None).await.unwrap_err();
    assert!(error.to_string().contains("no such table: agents_session_items"), "{error}");
}
