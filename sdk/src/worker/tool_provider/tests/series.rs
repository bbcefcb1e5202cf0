//! Calls while providers and the workers of callers are killed, and are down for longer than anything
//! lives. `SEEDS=200` plays more of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use temporal_agents_core::tool::{OUTCOME_UNKNOWN, ToolActivityOptions, ToolContext, ToolDef};
use tokio::time::{advance, sleep, timeout};

use super::{Call, Stop, Task};
use crate::{
    Resources,
    remote::transport::{MemoryTransport, Streams},
    worker::{ToolProvider, ToolRegistry},
};

/// Calls of one seed.
const CALLS: usize = 6;

/// Seeds that are played without `SEEDS`.
const DEFAULT_SEEDS: u64 = 12;

/// Times for which a provider or a worker is down, in seconds. The last ones are longer than streams
/// and marks exist.
const DOWN: [u64; 6] = [0, 1, 45, 20 * 60, 50 * 60, 5 * 3600];

/// Random numbers (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn down(&mut self) -> Duration {
        let index = usize::try_from(self.roll(6)).expect("it is small");
        Duration::from_secs(DOWN[index])
    }
}

/// What is known of one call.
#[derive(Clone, Debug, Default)]
struct Known {
    begun: usize,
    outcome: Option<String>,
    /// `true` if the mark of its begin was there when its run was told.
    had_begun: bool,
    is_late: bool,
}

#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<BTreeMap<String, Known>>>);

impl Ledger {
    fn update(&self, key: &str, update: impl FnOnce(&mut Known)) {
        update(self.0.lock().expect("not poisoned").entry(key.to_owned()).or_default());
    }

    fn begin(&self, ctx: &ToolContext) {
        self.update(ctx.info().idempotency_key(), |known| {
            known.begun += 1;
            // The body begins a moment after its mark.
            known.is_late |= known.outcome.is_some() && !known.had_begun;
        });
    }

    fn registry(&self) -> ToolRegistry {
        let tool = |name: &str, idempotent: bool| {
            let ledger = self.clone();
            let tool = ToolDef::activity(name, "Pays.", move |ctx, _: super::Payment| {
                let ledger = ledger.clone();
                Box::pin(async move {
                    ledger.begin(ctx);
                    let length = ctx.info().idempotency_key().bytes().map(u64::from).sum::<u64>() % 40;
                    sleep(Duration::from_secs(length)).await;
                    Ok("paid".into())
                })
            });
            let start_to_close = Duration::from_hours(1);
            tool.options(ToolActivityOptions { start_to_close, idempotent, ..ToolActivityOptions::default() })
        };
        let registry = ToolRegistry::new(Resources::new()).register(tool("pay", false));
        registry.and_then(|registry| registry.register(tool("look", true))).expect("the tools are valid")
    }
}

/// Runs providers that are killed again and again. Does not return.
async fn provide(mut dice: Dice, ledger: Ledger, streams: MemoryTransport) {
    loop {
        let provider = ToolProvider::new("demo", ledger.registry(), streams.clone()).drain(Duration::from_secs(10));
        let task = Task::serve(provider).await;
        sleep(Duration::from_millis(dice.roll(60_000))).await;
        task.kill().await;
        sleep(dice.down()).await;
    }
}

/// Makes one call, whose worker is killed again and again, until its run is told an outcome.
async fn call(mut dice: Dice, call: Call, ledger: Ledger, streams: MemoryTransport) {
    sleep(Duration::from_millis(dice.roll(90_000))).await;
    let mark = format!("result:{}:begun", call.key);
    for attempt in 1.. {
        let stop = Stop::new(dice.roll(2) == 0);
        let lives_for = Duration::from_millis(dice.roll(90_000));
        let making = call.attempt(attempt, Arc::clone(&stop));
        tokio::pin!(making);
        let mut outcome = timeout(lives_for, &mut making).await.ok();
        if outcome.is_none() && dice.roll(3) == 0 {
            // The run is cancelled, or the worker stops: not killed.
            stop.cancel();
            outcome = timeout(Duration::from_secs(5), &mut making).await.ok();
            if outcome.as_ref().is_some_and(Result::is_err) && stop.is_final {
                outcome = Some(Ok("cancelled".to_owned()));
            }
        }
        if let Some(Ok(outcome)) = outcome {
            let had_begun = streams.exists(&mark).await.expect("it is a name");
            ledger.update(&call.key, |known| {
                known.outcome = Some(outcome);
                known.had_begun = had_begun;
            });
            return;
        }
        sleep(dice.down()).await;
    }
}

/// Plays one seed, and returns the outcomes.
async fn play(seed: u64) -> Vec<Known> {
    let streams = MemoryTransport::new();
    let ledger = Ledger::default();
    let mut dice = Dice(seed);
    let mut dices = move || Dice(dice.roll(u64::MAX));
    let providers = [0, 1].map(|_| Task(tokio::spawn(provide(dices(), ledger.clone(), streams.clone()))));
    let calls: Vec<_> = (0..CALLS)
        .map(|number| {
            let mut dice = dices();
            let made = Call {
                tool: if number % 3 == 2 { "look" } else { "pay" },
                timeout: Duration::from_secs(5 + dice.roll(120)),
                ..Call::new(&streams, &format!("call-{seed}-{number}"))
            };
            tokio::spawn(call(dice, made, ledger.clone(), streams.clone()))
        })
        .collect();
    for call in calls {
        call.await.expect("it does not panic");
    }
    // Providers come back at any time, and find what was left.
    for down in DOWN {
        advance(Duration::from_secs(down)).await;
        let task = Task::serve(ToolProvider::new("demo", ledger.registry(), streams.clone())).await;
        sleep(Duration::from_secs(100)).await;
        task.kill().await;
    }
    drop(providers);
    let known = ledger.0.lock().expect("not poisoned").clone();
    for (key, known) in &known {
        if key.ends_with(['2', '5']) {
            continue;
        }
        assert!(known.begun <= 1, "seed {seed}, {key} has begun twice: {known:?}");
        assert!(!known.is_late, "seed {seed}, {key} has begun after its run was told: {known:?}");
    }
    known.into_values().collect()
}

#[tokio::test(start_paused = true)]
async fn no_call_begins_twice_or_after_its_run_was_told() {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(DEFAULT_SEEDS);
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let mut begun = 0;
    for seed in 0..seeds {
        for known in play(seed).await {
            begun += known.begun;
            *outcomes.entry(known.outcome.unwrap_or_default()).or_default() += 1;
        }
    }
    println!("{seeds} seeds, {begun} bodies: {outcomes:#?}");
    assert!(begun > 0 && outcomes.contains_key("paid") && outcomes.contains_key(OUTCOME_UNKNOWN), "{outcomes:?}");
}
