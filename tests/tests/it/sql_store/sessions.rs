//! The contract of a session store, on SQLite and on PostgreSQL.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use rstest::rstest;
use serde_json::json;
use sqlx::Row as _;
use temporal_agents::{
    store::{Session, SqlStore},
    tool::BoxError,
    wire::Item,
};

use super::{said, texts};
use crate::{
    databases::{Kind, TestDatabase},
    support::read,
};

async fn store(kind: Kind) -> anyhow::Result<(SqlStore, TestDatabase)> {
    let database = kind.create().await?;
    Ok((SqlStore::connect(&database.url).await?, database))
}

fn plain(error: BoxError) -> anyhow::Error {
    anyhow::anyhow!(error)
}

async fn add(store: &SqlStore, session: &str, texts: &[&str], key: &str) -> anyhow::Result<()> {
    store.add(session, said(texts.iter().copied()), key).await.map_err(plain)
}

async fn items(store: &SqlStore, session: &str, limit: Option<u32>) -> anyhow::Result<Vec<Item>> {
    store.items(session, limit).await.map_err(plain)
}

async fn heard(store: &SqlStore, session: &str, limit: Option<u32>) -> anyhow::Result<Vec<String>> {
    Ok(texts(&items(store, session, limit).await?))
}

#[rstest]
#[tokio::test]
async fn items_come_in_their_order_and_a_limit_takes_the_latest(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) -> anyhow::Result<()> {
    let (store, database) = store(kind).await?;
    assert_eq!(heard(&store, "s", None).await?, [""; 0], "an unknown session is empty");
    add(&store, "s", &["1", "2"], "a").await?;
    add(&store, "another", &["x"], "b").await?;
    add(&store, "s", &[], "c").await?;
    add(&store, "s", &["3", "4"], "d").await?;
    let cases: [(Option<u32>, &[&str]); 6] = [
        (None, &["1", "2", "3", "4"]),
        (Some(0), &[]),
        (Some(1), &["4"]),
        (Some(3), &["2", "3", "4"]),
        (Some(4), &["1", "2", "3", "4"]),
        (Some(u32::MAX), &["1", "2", "3", "4"]),
    ];
    // A second store is another process.
    let again = SqlStore::connect(&database.url).await?;
    for (limit, expected) in cases {
        assert_eq!(heard(&store, "s", limit).await?, expected, "{limit:?}");
        assert_eq!(heard(&again, "s", limit).await?, expected, "{limit:?}");
    }
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_key_counts_once_in_its_session(#[values(Kind::Sqlite, Kind::Postgres)] kind: Kind) -> anyhow::Result<()> {
    let (store, database) = store(kind).await?;
    add(&store, "s", &["1"], "run/1-1").await?;
    add(&store, "s", &["another content"], "run/1-1").await?;
    add(&store, "t", &["2"], "run/1-1").await?;
    add(&store, "s", &[], "run/1-2").await?;
    add(&store, "s", &["also with another content"], "run/1-2").await?;
    let stores = try_join_all((0..4).map(|_| SqlStore::connect(&database.url))).await?;
    try_join_all((0..24).map(|attempt| add(&stores[attempt % 4], "s", &["3", "4"], "run/1-3"))).await?;
    assert_eq!(heard(&store, "s", None).await?, ["1", "3", "4"]);
    assert_eq!(heard(&store, "t", None).await?, ["2"]);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn every_text_can_be_an_item_an_id_and_a_key(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) -> anyhow::Result<()> {
    let (store, _database) = store(kind).await?;
    let long = "long id ".repeat(2000);
    let longer = format!("{long}!");
    let ids = ["", "ünïcödé 🙂", "a\0b", "a\\0b", "a\\\\0b", "'; DROP TABLE agents_sessions; --", &long, &longer];
    for id in ids {
        for key in ids {
            add(&store, id, &[id, key], key).await?;
        }
    }
    for id in ids {
        let expected: Vec<&str> = ids.iter().flat_map(|key| [id, key]).collect();
        assert_eq!(heard(&store, id, None).await?, expected);
    }
    Ok(())
}

#[rstest]
#[tokio::test]
async fn an_item_comes_back_byte_for_byte(#[values(Kind::Sqlite, Kind::Postgres)] kind: Kind) -> anyhow::Result<()> {
    let (store, _database) = store(kind).await?;
    let odd = json!({
        "type": "of_tomorrow", "zebra": 1, "apple": {"b": [0.1, 1e300, -0.0, 9_007_199_254_740_993_u64], "a": null},
        "nul": "a\u{0}b", "escapes": "\\u0000 \\ \" \u{1f} \u{feff} \u{10ffff}", "": "",
    });
    let item: Item = read(odd);
    store.add("s", vec![item.clone()], "a").await.map_err(plain)?;
    let found = items(&store, "s", None).await?;
    assert_eq!(serde_json::to_string(&found)?, serde_json::to_string(&[item])?);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn large_items_and_many_items_are_one_write(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) -> anyhow::Result<()> {
    let (store, _database) = store(kind).await?;
    let large = "x".repeat(5_000_000);
    add(&store, "s", &[&large, "small"], "a").await?;
    let many: Vec<String> = (0..1201).map(|number| number.to_string()).collect();
    store.add("s", said(many.clone()), "b").await.map_err(plain)?;
    let found = heard(&store, "s", None).await?;
    assert_eq!(found.len(), 1203);
    assert!(found[0] == large && found[1] == "small");
    assert_eq!(found[2..], many);
    assert_eq!(heard(&store, "s", Some(600)).await?, many[601..]);
    Ok(())
}

/// Sixteen writers in four stores, and a reader: each reading is the beginning of the next one.
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_at_the_same_time_do_not_mix_their_items_and_readers_see_a_beginning(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) -> anyhow::Result<()> {
    const WRITERS: usize = 16;
    const WRITES: usize = 6;
    let (store, database) = store(kind).await?;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = SqlStore::connect(&database.url).await?;
        writers.spawn(async move {
            for write in 0..WRITES {
                let item = |part| format!("{writer}.{write}.{part}");
                store.add("s", said((0..3).map(item)), &format!("{writer}/{write}")).await.map_err(plain)?;
            }
            anyhow::Ok(())
        });
    }
    let mut seen = Vec::new();
    while seen.len() < WRITERS * WRITES * 3 {
        while let Some(ended) = writers.try_join_next() {
            ended??;
        }
        let now = heard(&store, "s", None).await?;
        assert!(now.starts_with(&seen), "a reader has seen items that others do not see");
        seen = now;
    }
    let mut next = BTreeMap::new();
    for write in seen.chunks(3) {
        let (name, _) = write[0].rsplit_once('.').expect("a name");
        assert_eq!(write, (0..3).map(|part| format!("{name}.{part}")).collect::<Vec<_>>());
        let (writer, number) = name.split_once('.').expect("a number");
        let expected = next.entry(writer.to_owned()).or_insert(0_usize);
        assert_eq!(number, expected.to_string(), "the writes of one writer are in its order");
        *expected += 1;
    }
    assert_eq!(next.len(), WRITERS);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn stores_that_connect_to_an_empty_database_at_once_prepare_it_once(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) -> anyhow::Result<()> {
    let database = kind.create().await?;
    let stores = try_join_all((0..8).map(|_| SqlStore::connect(&database.url))).await?;
    add(&stores[7], "s", &["1"], "a").await?;
    assert_eq!(heard(&stores[0], "s", None).await?, ["1"]);
    let mut connection = database.connect().await?;
    let rows = sqlx::query("SELECT COUNT(*) AS applied, COUNT(DISTINCT name) AS names FROM agents_migrations")
        .fetch_one(&mut connection)
        .await?;
    let (applied, names): (i64, i64) = (rows.try_get("applied")?, rows.try_get("names")?);
    assert!(applied > 0 && applied == names, "{applied} of {names}");
    Ok(())
}

#[tokio::test]
async fn a_wrong_password_is_an_error_without_it() -> anyhow::Result<()> {
    let database = Kind::Postgres.create().await?;
    let (_, host) = database.url.rsplit_once('@').expect("a host");
    let url = format!("postgres://postgres:hunter2@{host}");
    let error = SqlStore::connect(&url).await.expect_err("the password is wrong");
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("password authentication failed") && !shown.contains("hunter2"), "{shown}");
    Ok(())
}
