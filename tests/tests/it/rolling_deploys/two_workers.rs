//! Twelve runs at once, while an old worker and a new one poll the same queue. `SEEDS=20` plays that many tries.

use std::{collections::BTreeSet, time::Duration};

use temporal_agents_testing::{AgentEnvironment, environment::ActivityOutcome};

use super::{
    histories::{Missing, Orders, Shop, new, old, shopper},
    release::{beside, timers},
};
use crate::examples::histories;

const RUNS: usize = 12;
const TRIES: usize = 2;

#[tokio::test]
async fn a_rolling_deploy_loses_no_run() -> anyhow::Result<()> {
    let tries = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(TRIES);
    let mut refused = 0;
    for _ in 0..tries {
        refused += runs_beside_an_old_worker().await?;
    }
    assert!(refused > 0, "no activity has come to the old worker, so that nothing was tried");
    Ok(())
}

/// Plays the runs and returns how many activities the old worker has refused.
async fn runs_beside_an_old_worker() -> anyhow::Result<usize> {
    let (model, orders) = (shopper(), Orders::default());
    // Each refusal costs a run a pause, and chance decides how many there are.
    let builder = AgentEnvironment::builder().workflow::<Shop>()?.plugin(|_| old(&model));
    let env = builder.patience(Duration::from_mins(10)).start().await?;
    let new_worker = beside::<Shop>(&env, new(&model, &orders))?;
    let mut handles = Vec::new();
    for _ in 0..RUNS {
        handles.push(env.start_workflow(Shop::run, Missing::Fails).await?);
    }
    let (mut refused, mut waited_for) = (0, BTreeSet::new());
    for handle in handles {
        let run = env.await_run(&handle).await?;
        histories::<Shop>(&env, &run.workflow_id).await?;
        let not_found = ActivityOutcome::Failed("NotFoundError".to_owned());
        let refusals = run.activities().into_iter().filter(|activity| activity.outcome == not_found).count();
        assert_eq!(timers(&run.history).len(), refusals, "each refusal is followed by one pause");
        refused += refusals;
        waited_for.extend(timers(&run.history));
        assert_eq!(run.output()?, "nut is ordered");
    }
    // Each of the two calls of each run, once.
    assert_eq!(orders.made(), [1; 2 * RUNS]);
    assert!(waited_for.iter().all(|summary| summary == "waiting for a worker that has tool `order`"), "{waited_for:?}");
    drop(new_worker);
    env.finish().await?;
    Ok(refused)
}
