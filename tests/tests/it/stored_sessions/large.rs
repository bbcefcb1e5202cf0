//! Sessions that are larger than one message: read in portions, one after another.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures::future::BoxFuture;
use rstest::rstest;
use temporal_agents::{store::Session, tool::BoxError, wire::Item};
use temporal_agents_testing::{FakeModel, fake_model::text};

use super::{Shop, asks, attempts, contents};
use crate::{
    examples::{Cache, histories},
    support::{Stock, clerk},
};

const KB: usize = 1000;

/// A session of so many items of this size, to which somebody else adds an item after each read.
#[derive(Clone, Default)]
struct Archive {
    items: usize,
    bytes: usize,
    /// Somebody else writes.
    is_busy: bool,
    /// The store forgets its first item after each read.
    forgets: bool,
    reads: Arc<AtomicUsize>,
}

impl Archive {
    fn of(items: usize, bytes: usize) -> Self {
        Self { items, bytes, ..Self::default() }
    }

    fn item(&self, number: usize) -> Item {
        let mut content = format!("{number} ");
        content.extend(std::iter::repeat_n('x', self.bytes));
        Item::user(content)
    }
}

impl Session for Archive {
    fn items<'a>(&'a self, _session_id: &'a str, limit: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        let end = if self.is_busy { self.items + reads } else { self.items };
        let start = if self.forgets { reads } else { 0 };
        let start = limit.map_or(start, |limit| end.saturating_sub(limit as usize));
        Box::pin(std::future::ready(Ok((start..end).map(|number| self.item(number)).collect())))
    }

    fn add<'a>(
        &'a self,
        _session_id: &'a str,
        _items: Vec<Item>,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What the model is given of a session, by the first word of each item, and the ids of the activities that read it.
async fn heard(archive: Archive, limit: Option<u32>, cache: Cache) -> anyhow::Result<(Vec<String>, Vec<String>)> {
    let model = FakeModel::script([text("Yes.")]);
    let builder = cache.environment::<Shop>()?.model(&model).state(Stock(3)).agents((clerk,));
    let env = builder.session_store("shop", archive).start().await?;
    let run = env.run(Shop::run, asks("And now?", limit)).await?;
    histories::<Shop>(&env, &run.workflow_id).await?;
    let reads = run.activities().into_iter().take_while(|activity| activity.activity_type == "agents.session.shop");
    let reads: Vec<String> = reads.map(|activity| activity.activity_id).collect();
    assert!(attempts(&run).iter().all(|(_, attempts)| *attempts == 1));
    assert_eq!(run.output()?, "Yes.");
    let heard = contents(&model.calls().pop().expect("it was asked").input);
    env.finish().await?;
    let words = heard.iter().map(|text| text.split(' ').next().unwrap_or_default().to_owned()).collect();
    Ok((words, reads))
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).chain(["And".to_owned()]).collect()
}

#[rstest]
#[case::three_megabytes(Archive::of(60, 50 * KB), None, numbers(0..60))]
#[case::the_latest(Archive::of(200, 50 * KB), Some(50), numbers(150..200))]
#[case::while_somebody_writes(Archive { is_busy: true, ..Archive::of(60, 50 * KB) }, None, numbers(0..60))]
#[case::the_latest_while_somebody_writes(Archive { is_busy: true, ..Archive::of(200, 50 * KB) }, Some(50), numbers(150..200))]
#[tokio::test]
async fn a_session_over_two_megabytes_is_read_in_portions(
    #[case] archive: Archive,
    #[case] limit: Option<u32>,
    #[case] expected: Vec<String>,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (heard, reads) = heard(archive, limit, cache).await?;
    assert_eq!(heard, expected);
    assert!(reads.len() > 1, "{reads:?}");
    let first = &reads[0];
    let others: Vec<String> = (1..reads.len() - 1).map(|number| format!("{first}-{number}")).collect();
    assert_eq!(reads[1..reads.len() - 1], others, "the last one is the write of the question");
    Ok(())
}

/// Without a cache each workflow task reads the ten megabytes anew, which takes minutes in a debug build; `histories` replays them.
#[tokio::test]
async fn a_session_of_ten_megabytes_is_read_and_replays() -> anyhow::Result<()> {
    let (heard, reads) = heard(Archive::of(10, 1000 * KB), None, Cache::On).await?;
    assert_eq!(heard, numbers(0..10));
    assert_eq!(reads.len(), 11, "ten portions of one item, and the write of the question");
    Ok(())
}

#[tokio::test]
async fn a_session_that_fits_is_read_once() -> anyhow::Result<()> {
    let (heard, reads) = heard(Archive::of(30, 50 * KB), None, Cache::On).await?;
    assert_eq!((heard, reads.len()), (numbers(0..30), 2));
    Ok(())
}

#[rstest]
#[case::one_item(
    Archive::of(1, 3000 * KB),
    "SessionItemTooLarge",
    "item 0 of session \"customer 7\" is 3.00 MB of JSON, over the limit of 2.00 MB for one message; shorten it in the store, or read \
     only later items with a limit"
)]
#[case::forgotten(
    Archive { forgets: true, ..Archive::of(60, 50 * KB) },
    "SessionChanged",
    "session \"customer 7\" was changed while it was read in portions: the items of the first read are no longer at \
     their positions; a store may only add items at the end"
)]
#[tokio::test]
async fn a_session_that_cannot_be_read_says_why(
    #[case] archive: Archive,
    #[case] kind: &str,
    #[case] message: &str,
) -> anyhow::Result<()> {
    let builder = Cache::On.environment::<Shop>()?.without_models().state(Stock(3)).agents((clerk,));
    let env = builder.session_store("shop", archive).start().await?;
    let run = env.run(Shop::run, asks("And now?", None)).await?;
    histories::<Shop>(&env, &run.workflow_id).await?;
    let chain = run.failure_chain();
    assert!(chain.contains(&(kind.to_owned(), message.to_owned())), "{chain:?}");
    assert!(run.activities().iter().all(|activity| activity.attempts == 1));
    env.finish().await?;
    Ok(())
}
