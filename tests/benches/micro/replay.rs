//! Replay: what a worker pays for each turn when it takes a run up from its history.

use std::sync::LazyLock;

use divan::{Bencher, counter::ItemsCount};
use temporal_agents_testing::{AgentEnvironment, history::History, replay};
use temporal_agents_tests::bench::{AgentBench, Spec, agents, model::ScriptedModel};
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime starts"));

/// A run of so many turns; divan says how many turns are replayed in a second.
#[divan::bench(args = [5, 50, 200], sample_count = 20, sample_size = 1)]
fn turns(bencher: Bencher<'_, '_>, turns: u32) {
    let history = RUNTIME.block_on(recorded(turns)).expect("the run succeeds");
    bencher.counter(ItemsCount::new(turns)).bench_local(|| {
        RUNTIME.block_on(replay::<AgentBench>(&history)).expect("the run replays");
    });
}

async fn recorded(turns: u32) -> anyhow::Result<History> {
    let env = AgentEnvironment::builder().workflow::<AgentBench>()?.model_provider(ScriptedModel);
    let env = env.agent(agents::assistant).start().await?;
    let run = env.run(AgentBench::run, Spec::tools(turns)).await?;
    let history = run.history.clone();
    run.output()?;
    env.finish().await?;
    Ok(history)
}
