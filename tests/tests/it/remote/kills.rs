//! Calls while Redis and the provider are killed at random times. `SEEDS=20 cargo test kills` plays
//! more of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use temporal_agents::{
    Resources, ToolContext,
    remote::transport::RedisTransport,
    tool,
    tool::{OUTCOME_UNKNOWN, RemoteToolset, State},
    wire::RemoteTool,
    worker::{ToolProvider, ToolRegistry},
};
use temporal_agents_testing::RedisServer;
use tokio::{task::JoinHandle, time::sleep};

use super::support::{caller, environment, model, run, told};

/// The effects of all calls: how often each began.
#[derive(Clone, Debug, Default)]
struct Effects(Arc<Mutex<BTreeMap<String, usize>>>);

/// Has an effect, which must not happen twice.
#[tool(idempotent = false)]
async fn charge(ctx: &ToolContext, effects: State<Effects>, millis: u64) -> String {
    work(ctx, &effects, millis).await
}

/// Has an effect that may be repeated.
#[tool]
async fn look(ctx: &ToolContext, effects: State<Effects>, millis: u64) -> String {
    work(ctx, &effects, millis).await
}

async fn work(ctx: &ToolContext, Effects(effects): &Effects, millis: u64) -> String {
    let key = format!("{} {}", ctx.info().tool, ctx.info().idempotency_key());
    *effects.lock().expect("not poisoned").entry(key).or_default() += 1;
    sleep(Duration::from_millis(millis)).await;
    "done".to_owned()
}

fn serve(effects: &Effects, url: &str) -> anyhow::Result<JoinHandle<()>> {
    let registry = ToolRegistry::new(Resources::new().state(effects.clone())).register(charge)?.register(look)?;
    let provider = ToolProvider::new("demo", registry, RedisTransport::new(url)?);
    let provider = provider.concurrency(20).lease(Duration::from_millis(600)).drain(Duration::ZERO);
    Ok(tokio::spawn(async move { provider.serve(std::future::pending()).await }))
}

/// The victims of one series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Redis,
    Provider,
}

async fn series(seed: u64, victim: Victim) -> anyhow::Result<()> {
    let mut server = RedisServer::start().await?;
    let effects = Effects::default();
    let mut serving = serve(&effects, &server.url())?;
    let schema = json!({"type": "object", "properties": {"millis": {"type": "integer"}}, "required": ["millis"]});
    let listed = [
        RemoteTool::new("charge", "Has an effect.", schema.clone()),
        RemoteTool::new("look", "Looks.", schema).idempotent(),
    ];
    let millis = |number: u64| (seed * 7919 + number * 104_729) % 800;
    let calls: Vec<_> = (0..16)
        .map(|number| (if number % 2 == 0 { "charge" } else { "look" }, json!({"millis": millis(number)})))
        .collect();
    let model = model(&calls);
    let agent = caller(&RemoteToolset::named("demo").timeout(Duration::from_secs(90)), listed);
    let env = environment(&agent, &model, RedisTransport::new(&server.url())?, true).await?;
    let (of_kills, url) = (effects.clone(), server.url());
    let kills = async {
        for number in 0..3 {
            while of_kills.0.lock().expect("not poisoned").is_empty() {
                sleep(Duration::from_millis(5)).await;
            }
            sleep(Duration::from_millis(millis(number + 100) / 2)).await;
            match victim {
                Victim::Redis => server.restart().await.expect("Redis starts again"),
                Victim::Provider => {
                    serving.abort();
                    serving = serve(&of_kills, &url).expect("a provider");
                }
            }
        }
    };
    run(&env, kills).await?;
    env.finish().await?;
    serving.abort();
    let told = told(&model);
    assert_eq!(told.len(), 16, "each call has one outcome");
    for (number, outcome) in told.iter().enumerate() {
        let is_allowed = outcome == "done" || number % 2 == 0 && outcome == OUTCOME_UNKNOWN;
        assert!(is_allowed, "seed {seed}, {victim:?}, call {number}: {outcome}");
    }
    let effects = effects.0.lock().expect("not poisoned").clone();
    let done = told.iter().step_by(2).filter(|outcome| *outcome == "done").count();
    let charged: Vec<usize> =
        effects.iter().filter(|(key, _)| key.starts_with("charge")).map(|(_, times)| *times).collect();
    assert!(charged.len() >= done, "seed {seed}: {done} are done, {charged:?}");
    // A provider that is killed leaves its mark; a Redis server that is killed loses the request
    // with it.
    assert!(charged.iter().all(|times| *times == 1), "seed {seed}, {victim:?}: {effects:?}");
    Ok(())
}

fn seeds() -> u64 {
    std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_end_once_while_redis_is_killed() -> anyhow::Result<()> {
    for seed in 0..seeds() {
        series(seed, Victim::Redis).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_end_once_while_providers_are_killed() -> anyhow::Result<()> {
    for seed in 0..seeds() {
        series(seed, Victim::Provider).await?;
    }
    Ok(())
}
