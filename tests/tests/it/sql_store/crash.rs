//! PostgreSQL is killed while sessions are written: what was acknowledged is there, and nothing is there twice.
//!
//! `SEEDS=50` kills it so often; the default is 4.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use temporal_agents::{
    store::{Session, SqlStore},
    wire::Item,
};
use temporal_agents_testing::PostgresServer;
use tokio::{task::JoinSet, time::timeout};

use crate::PATIENCE;

use super::{said, texts};

const WRITERS: u32 = 8;

/// Numbers that look random, and are the same in each series.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

/// What writers share with the test that kills their server.
#[derive(Default)]
struct Work {
    attempts: AtomicU32,
    is_over: AtomicBool,
}

/// Writes until the work is over, each write until it is acknowledged. Returns the number of writes.
async fn write(store: SqlStore, writer: u32, work: Arc<Work>) -> u32 {
    let mut count = 0;
    while !work.is_over.load(Ordering::SeqCst) {
        let items = said((0..3).map(|part| format!("{writer}.{count}.{part}")));
        let key = format!("{writer}/{count}");
        loop {
            work.attempts.fetch_add(1, Ordering::SeqCst);
            if store.add("s", items.clone(), &key).await.is_ok() {
                break;
            }
        }
        count += 1;
    }
    count
}

async fn until(reached: impl Fn() -> bool) -> anyhow::Result<()> {
    let waiting = async {
        while !reached() {
            tokio::task::yield_now().await;
        }
    };
    Ok(timeout(PATIENCE, waiting).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_is_lost_or_made_twice_when_postgres_is_killed() -> anyhow::Result<()> {
    let kills = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(4);
    let mut server = PostgresServer::start().await?;
    let store = SqlStore::connect(&server.url("postgres")).await?;
    let (work, mut numbers) = (Arc::new(Work::default()), Numbers(20_261_125));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let writing = write(store.clone(), writer, Arc::clone(&work));
        writers.spawn(async move { (writer, writing.await) });
    }
    for _ in 0..kills {
        let attempts = work.attempts.load(Ordering::SeqCst) + 1 + numbers.below(200);
        until(|| work.attempts.load(Ordering::SeqCst) >= attempts).await?;
        server.kill();
        server.restart().await?;
    }
    let attempts = work.attempts.load(Ordering::SeqCst) + 2 * WRITERS;
    until(|| work.attempts.load(Ordering::SeqCst) >= attempts).await?;
    work.is_over.store(true, Ordering::SeqCst);
    let acknowledged = timeout(PATIENCE, writers.join_all()).await?;

    let found = store.items("s", None).await.map_err(|error| anyhow::anyhow!(error))?;
    for (writer, writes) in acknowledged {
        let expected: Vec<String> =
            (0..writes).flat_map(|write| (0..3).map(move |part| format!("{writer}.{write}.{part}"))).collect();
        let own = format!("{writer}.");
        let of_writer: Vec<Item> =
            found.iter().filter(|item| item.text().is_some_and(|text| text.starts_with(&own))).cloned().collect();
        assert_eq!(texts(&of_writer), expected, "the items of writer {writer}");
    }
    let texts = texts(&found);
    for write in texts.chunks(3) {
        let (name, _) = write[0].rsplit_once('.').expect("a name");
        assert_eq!(write, (0..3).map(|part| format!("{name}.{part}")).collect::<Vec<_>>());
    }
    Ok(())
}
