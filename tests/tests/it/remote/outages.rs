//! Calls over Redis while providers are killed, and are down for longer than streams and marks exist:
//! 300 and 600 ms. `SEEDS=200 cargo test outages` plays more of them.
//!
//! A series asserts what never happens. It depends on no time, however slow the machine is.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use redis::aio::MultiplexedConnection;
use serde_json::json;
use temporal_agents::{
    Agent, Resources, ToolContext,
    inline::InlineRunner,
    remote::{
        message::toolset_stream,
        transport::{Append, Appended, Entry, EntryId, GroupMember, RedisTransport, StreamError, Streams},
    },
    tool,
    tool::{OUTCOME_UNKNOWN, RemoteToolset, State},
    wire::{Item, RemoteTool},
    worker::{ToolProvider, ToolRegistry},
};
use temporal_agents_testing::{
    FakeModel, RedisServer,
    fake_model::{text, tool_calls},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::PATIENCE;

/// Seeds that are played without `SEEDS`, and seeds at a time.
const DEFAULT_SEEDS: u64 = 8;
const AT_A_TIME: usize = 16;

/// Runs of one seed, and calls of one run.
const RUNS: u64 = 3;
const CALLS: u64 = 4;

/// The life of results. Marks exist for twice as long.
const KEPT: Duration = Duration::from_millis(300);

/// Lets result streams exist for 300 ms at most, and marks for 600 ms.
const SHORTEN: &str = r"
for _, key in ipairs(redis.call('KEYS', 'pulse:stream:result:*')) do
    local most = string.find(key, '^pulse:stream:result:[^:]+$') and 300 or 600
    if redis.call('PTTL', key) > most then redis.call('PEXPIRE', key, most) end
end";

/// Random numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }

    async fn pause(&mut self, most_millis: u64) {
        sleep(Duration::from_millis(self.roll(most_millis))).await;
    }
}

/// Streams of a provider, which note when it last asked for the time: just before it begins a call.
/// Streams of a caller, which let results expire soon.
#[derive(Clone)]
struct Watched {
    transport: RedisTransport,
    asked: Arc<Mutex<Instant>>,
    shortens: Option<MultiplexedConnection>,
}

impl Streams for Watched {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, StreamError>> {
        async move {
            let appended = self.transport.append(append).await?;
            if let Some(mut connection) = self.shortens.clone() {
                let shortened: Result<(), _> =
                    redis::cmd("EVAL").arg(SHORTEN).arg(0).query_async(&mut connection).await;
                shortened.expect("the server runs");
            }
            Ok(appended)
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        stream: &'a str,
        after: Option<EntryId>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.transport.read(stream, after, most, wait)
    }

    fn exists<'a>(&'a self, stream: &'a str) -> BoxFuture<'a, Result<bool, StreamError>> {
        self.transport.exists(stream)
    }

    fn create_group<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        since: Duration,
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        self.transport.create_group(stream, group, since)
    }

    fn read_group<'a>(
        &'a self,
        member: GroupMember<'a>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.transport.read_group(member, most, wait)
    }

    fn claim_idle<'a>(
        &'a self,
        member: GroupMember<'a>,
        idle: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        self.transport.claim_idle(member, idle, most)
    }

    fn renew<'a>(&'a self, member: GroupMember<'a>, ids: &'a [EntryId]) -> BoxFuture<'a, Result<(), StreamError>> {
        self.transport.renew(member, ids)
    }

    fn acknowledge<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        self.transport.acknowledge(stream, group, ids)
    }

    fn idle_time<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
    ) -> BoxFuture<'a, Result<Option<Duration>, StreamError>> {
        self.transport.idle_time(stream, group)
    }

    fn now(&self) -> BoxFuture<'_, Result<u64, StreamError>> {
        *self.asked.lock().expect("not poisoned") = Instant::now();
        self.transport.now()
    }
}

/// What has happened in one seed.
#[derive(Debug, Default)]
struct Events {
    /// How often the bodies of the calls began.
    begun: BTreeMap<String, usize>,
    /// The times at which runs were told that outcomes are unknown.
    told: BTreeMap<u64, Instant>,
    /// Calls that a provider began after their run was told.
    late: Vec<String>,
    outcomes: BTreeMap<String, usize>,
}

/// A provider's view of the events.
#[derive(Clone)]
struct Ledger {
    events: Arc<Mutex<Events>>,
    asked: Arc<Mutex<Instant>>,
}

/// Has an effect, which must not happen twice.
#[tool(idempotent = false)]
async fn charge(ctx: &ToolContext, ledger: State<Ledger>, run: u64, millis: u64) -> String {
    {
        let mut events = ledger.events.lock().expect("not poisoned");
        let key = ctx.info().idempotency_key().to_owned();
        let asked = *ledger.asked.lock().expect("not poisoned");
        if events.told.get(&run).is_some_and(|told| *told < asked) {
            events.late.push(key.clone());
        }
        *events.begun.entry(key).or_default() += 1;
    }
    sleep(Duration::from_millis(millis)).await;
    "done".to_owned()
}

/// One seed: its toolset, and what happens.
struct Series {
    seed: u64,
    url: String,
    toolset: String,
    events: Arc<Mutex<Events>>,
    connection: MultiplexedConnection,
}

impl Series {
    fn provider(&self) -> anyhow::Result<ToolProvider> {
        let asked = Arc::new(Mutex::new(Instant::now()));
        let ledger = Ledger { events: Arc::clone(&self.events), asked: Arc::clone(&asked) };
        let streams = Watched { transport: RedisTransport::new(&self.url)?, asked, shortens: None };
        let registry = ToolRegistry::new(Resources::new().state(ledger)).register(charge)?;
        // One call at a time, so that the last time asked is that of the call.
        let provider = ToolProvider::new(&*self.toolset, registry, streams).concurrency(1);
        Ok(provider.lease(KEPT).retention(KEPT).drain(Duration::ZERO))
    }

    /// Runs providers that are killed again and again. Does not return, unless it fails.
    async fn provide(&self, mut dice: Dice) -> anyhow::Result<()> {
        loop {
            let provider = self.provider()?;
            let lives_for = Duration::from_millis(dice.roll(700));
            let _killed = timeout(lives_for, provider.serve(std::future::pending())).await;
            let most = [1, 100, 1_000, 2_500][usize::try_from(dice.roll(4))?];
            dice.pause(most).await;
        }
    }

    /// Runs an agent that makes some calls at once; it may be dropped before its end.
    async fn run(&self, run: u64, mut dice: Dice) -> anyhow::Result<()> {
        dice.pause(1_000).await;
        let calls: Vec<_> = (0..CALLS).map(|_| ("charge", json!({"run": run, "millis": dice.roll(500)}))).collect();
        let events = Arc::clone(&self.events);
        let model = FakeModel::function(move |call, _| {
            if call.turn == 1 {
                return tool_calls(calls.clone());
            }
            let mut events = events.lock().expect("not poisoned");
            let output = |item: &Item| Some(item.get("output")?.as_str()?.to_owned());
            for outcome in call.input.iter().filter_map(output) {
                if outcome == OUTCOME_UNKNOWN {
                    events.told.insert(run, Instant::now());
                }
                *events.outcomes.entry(outcome).or_default() += 1;
            }
            text("done")
        });
        let schema =
            json!({"type": "object", "properties": {"run": {"type": "integer"}, "millis": {"type": "integer"}}});
        let tool = RemoteTool::new("charge", "Has an effect.", schema);
        let toolset = RemoteToolset::named(&*self.toolset).timeout(Duration::from_secs(1 + dice.roll(2)));
        let agent: Agent = Agent::new("caller").model("gpt-5").tools(toolset.tools([tool]));
        let asked = Arc::new(Mutex::new(Instant::now()));
        let shortens = (dice.roll(4) > 0).then(|| self.connection.clone());
        let streams = Watched { transport: RedisTransport::new(&self.url)?, asked, shortens };
        let runner = InlineRunner::new(Resources::new().model_provider(model).tool_streams(streams));
        let running = runner.run(&agent, "Work.").into_future();
        if dice.roll(4) == 0 {
            let _dropped = timeout(Duration::from_millis(dice.roll(1_000)), running).await;
        } else {
            running.await?;
        }
        Ok(())
    }

    /// Returns `true` once providers have handled all requests.
    async fn is_over(&self) -> anyhow::Result<bool> {
        let key = format!("pulse:stream:{}", toolset_stream(&self.toolset));
        let mut connection = self.connection.clone();
        let groups: redis::streams::StreamInfoGroupsReply =
            redis::cmd("XINFO").arg("GROUPS").arg(&key).query_async(&mut connection).await?;
        let stream: redis::streams::StreamInfoStreamReply =
            redis::cmd("XINFO").arg("STREAM").arg(&key).query_async(&mut connection).await?;
        let is_over = |group: &redis::streams::StreamInfoGroup| {
            group.pending == 0 && group.last_delivered_id == stream.last_generated_id
        };
        Ok(stream.length == 0 || groups.groups.iter().all(is_over))
    }

    async fn play(self) -> anyhow::Result<Events> {
        let mut dice = Dice(self.seed);
        let mut dices = || Dice(dice.roll(u64::MAX));
        // Without the group of providers no call is published.
        RedisTransport::new(&self.url)?
            .create_group(&toolset_stream(&self.toolset), "provider", Duration::from_mins(1))
            .await?;
        let providers = futures::future::try_join(self.provide(dices()), self.provide(dices()));
        let runs = futures::future::try_join_all((0..RUNS).map(|run| self.run(run, dices())));
        tokio::select! {
            failed = providers => { failed?; }
            ended = runs => { ended?; }
        }
        let handled = async {
            while !self.is_over().await? {
                sleep(Duration::from_millis(50)).await;
            }
            anyhow::Ok(())
        };
        let last = self.provider()?;
        tokio::select! {
            () = last.serve(std::future::pending()) => {}
            handled = timeout(PATIENCE, handled) => handled??,
        }
        let events = std::mem::take(&mut *self.events.lock().expect("not poisoned"));
        let seed = self.seed;
        assert!(events.begun.values().all(|times| *times == 1), "seed {seed}: {events:?}");
        assert!(events.late.is_empty(), "seed {seed}: {events:?}");
        Ok(events)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_begins_twice_or_after_its_run_was_told() -> anyhow::Result<()> {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(DEFAULT_SEEDS);
    let server = RedisServer::start().await?;
    let connection = redis::Client::open(server.url())?.get_multiplexed_async_connection().await?;
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut begun = 0;
    let mut playing = JoinSet::new();
    for seed in 0..seeds {
        let (url, toolset, connection) = (server.url(), format!("series{seed}"), connection.clone());
        playing.spawn(Series { seed, url, toolset, events: Arc::default(), connection }.play());
        let most = if seed + 1 == seeds { 1 } else { AT_A_TIME };
        while playing.len() >= most {
            let Some(events) = playing.join_next().await else { break };
            let events = events??;
            begun += events.begun.len();
            for (outcome, times) in events.outcomes {
                *outcomes.entry(outcome).or_default() += times;
            }
        }
    }
    println!("{seeds} seeds, {begun} bodies: {outcomes:#?}");
    assert!(!outcomes.is_empty(), "nothing was played");
    Ok(())
}
