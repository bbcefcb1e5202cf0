//! A worker process killed with SIGKILL at each point of a session: where the next attempt goes on, what runs again, and that nothing is
//! lost. And what heartbeats that wait for their turn would lose.
//!
//! Nothing here depends on how fast anything is: the process to be killed holds still at its point, and is killed once its ledger and
//! the server show that it is there. Another process takes over when the server has missed the first one's heartbeats.

mod ledger;
mod review;
mod worker;

use std::{collections::BTreeSet, num::NonZero, time::Duration};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{wire::DecisionAnswer, workflow::ApprovalWorkflow};
use temporal_agents_testing::environment::ActivityOutcome;
use temporalio_client::Client;
use tokio::time::{Instant, sleep};

use self::{
    ledger::Ledger,
    review::{Hold, Work},
};
use super::{
    asked::{approvals, asked},
    desk::{Office, Order, office},
    kept::{checkpoint, model_answers, tool_answers},
};
use crate::{PATIENCE, examples::histories_of};

/// How soon the server notices that a worker is gone.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(3);

fn order(heartbeat_timeout: Duration) -> Order {
    Order { heartbeat_timeout, task_queue: Some(worker::TASK_QUEUE.to_owned()), ..Order::new("Review it.") }
}

fn ledger(directory: &tempfile::TempDir) -> Ledger {
    Ledger { path: directory.path().join("ledger.jsonl") }
}

/// Waits until the first attempt has begun all this, and the server has what it has come to.
async fn until_there(
    client: &Client,
    workflow_id: &str,
    ledger: &Ledger,
    hold: Hold,
    begun: &[&str],
) -> anyhow::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let so_far = ledger.of_attempt(1)?;
        let kept = checkpoint(client, workflow_id).await?.unwrap_or_default();
        let tools = tool_answers(&kept);
        let is_kept = match hold {
            Hold::SecondTool => tools == 1,
            // Or it has the state after them already.
            Hold::AfterTheTools => tools == 2 || kept.turns == 1,
            // It waits for approval.
            Hold::Nothing => !approvals(client).await?.is_empty(),
            _ => true,
        };
        if so_far == begun && is_kept {
            return Ok(());
        }
        anyhow::ensure!(
            Instant::now() < deadline,
            "it does not come to {hold:?}: {so_far:?}, answers of tools: {tools}"
        );
        sleep(Duration::from_millis(20)).await;
    }
}

/// What the killed attempt has begun, and what the one after it: `<turn> <model or tool>`. Turn 0 is the body of the session.
#[rstest]
#[case::before_the_first_turn(
    Hold::BeforeTheFirstTurn,
    &["0 begins anew"],
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 model", "2 publish", "3 merge", "3 model", "4 model"]
)]
#[case::during_a_model_call(
    Hold::ModelCall,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 model"],
    &["0 goes on", "2 model", "2 publish", "3 merge", "3 model", "4 model"]
)]
#[case::during_both_tools_of_a_turn(
    Hold::BothTools,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model"],
    &["0 goes on", "1 inspect a.rs", "1 inspect b.rs", "2 model", "2 publish", "3 merge", "3 model", "4 model"]
)]
#[case::between_two_tools_of_a_turn(
    Hold::SecondTool,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model"],
    &["0 goes on", "1 inspect b.rs", "2 model", "2 publish", "3 merge", "3 model", "4 model"]
)]
#[case::during_a_tool_that_must_not_run_twice(
    Hold::Publishing,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 model", "2 publish"],
    &["0 goes on", "3 merge", "3 model", "4 model"]
)]
#[case::after_the_tools(
    Hold::AfterTheTools,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 instructions"],
    &["0 goes on", "2 model", "2 publish", "3 merge", "3 model", "4 model"]
)]
#[case::while_it_waits_for_approval(
    Hold::Nothing,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 model", "2 publish", "3 model"],
    &["0 goes on", "3 merge", "4 model"]
)]
#[tokio::test]
async fn a_session_whose_worker_is_killed_goes_on_where_it_stood(
    #[case] hold: Hold,
    #[case] first: &[&str],
    #[case] second: &[&str],
) -> anyhow::Result<()> {
    killed(hold, NonZero::<u32>::MIN, first, second).await
}

/// Turns since the last checkpoint run again, but for what must not: it writes all there is. So does a session that asks people.
#[rstest]
#[case::during_a_model_call(
    Hold::ModelCall,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 model"],
    &["0 goes on", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 model", "2 publish", "3 merge", "3 model", "4 model"]
)]
#[case::during_a_tool_that_must_not_run_twice(
    Hold::Publishing,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 model", "2 publish"],
    &["0 goes on", "3 merge", "3 model", "4 model"]
)]
#[case::while_it_waits_for_approval(
    Hold::Nothing,
    &["0 begins anew", "1 inspect a.rs", "1 inspect b.rs", "1 model", "2 model", "2 publish", "3 model"],
    &["0 goes on", "3 merge", "4 model"]
)]
#[tokio::test]
async fn a_session_with_a_checkpoint_every_third_turn_goes_on_from_it(
    #[case] hold: Hold,
    #[case] first: &[&str],
    #[case] second: &[&str],
) -> anyhow::Result<()> {
    killed(hold, NonZero::new(3).expect("3 is not 0"), first, second).await
}

/// Kills the worker of a session at this point, and lets another one take over.
async fn killed(hold: Hold, every: NonZero<u32>, first: &[&str], second: &[&str]) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let ledger = ledger(&directory);
    let env = office()?.start().await?;
    let client = env.client();
    let victim = worker::start(env.server(), &ledger, Work::Review { hold, every }).await?;
    let handle = env.start_workflow(Office::run, order(HEARTBEAT_TIMEOUT)).await?;
    until_there(client, &handle.info().workflow_id, &ledger, hold, first).await?;
    victim.kill()?;
    assert_eq!(ledger.of_attempt(1)?, first, "it was over before the kill");

    let successor = worker::start(env.server(), &ledger, Work::Review { hold: Hold::Nothing, every }).await?;
    let (approval, call) = asked(client).await?;
    assert_eq!(approval.approve(&*call.id).await?, DecisionAnswer::Accepted);
    let run = env.await_run(&handle).await?;
    drop(successor);

    let begun = (ledger.of_attempt(1)?, ledger.of_attempt(2)?);
    assert_eq!(
        begun,
        (first.iter().map(ToString::to_string).collect(), second.iter().map(ToString::to_string).collect())
    );
    let attempts: Vec<_> = run.activities().into_iter().map(|record| (record.attempts, record.outcome)).collect();
    assert_eq!(attempts, [(2, ActivityOutcome::Completed)]);
    let published = match hold {
        Hold::Publishing => temporal_agents::tool::OUTCOME_UNKNOWN,
        _ => "published",
    };
    let said = format!("a.rs is fine; b.rs is fine; {published}; merged");
    let mut ended = run.output()?;
    // The two tools that find them run side by side.
    ended["findings"].as_array_mut().expect("a list").sort_by_key(Value::to_string);
    assert_eq!(ended, json!({"said": said, "findings": ["a.rs", "b.rs"]}));

    let approvals = approvals(client).await?;
    assert_eq!(approvals.len(), 1, "people are asked once: {approvals:?}");
    histories_of::<ApprovalWorkflow>(client, &approvals[0]).await?;
    let mut keys_of_calls = BTreeSet::new();
    for (call, keys) in ledger.keys()? {
        let different: BTreeSet<_> = keys.into_iter().collect();
        assert_eq!(different.len(), 1, "{call} has one key in both attempts: {different:?}");
        assert!(keys_of_calls.is_disjoint(&different), "the key of {call} is another call's, too");
        keys_of_calls.extend(different);
    }
    env.finish().await?;
    Ok(())
}

/// The server notices the loss of this worker only after 60 s, in which the SDK sends two heartbeats: one at once, one after 48 s. What it holds
/// right after the kill is what the next attempt will go on from.
#[rstest]
#[case::when_each_checkpoint_is_sent_at_once(false)]
#[case::when_checkpoints_wait_for_the_next_heartbeat(true)]
#[tokio::test]
async fn with_a_long_heartbeat_timeout_a_crash_costs_at_most_the_turn_under_way_or_all_of_them(
    #[case] throttled: bool,
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let ledger = ledger(&directory);
    let env = office()?.start().await?;
    let work = Work::Endless { pace: Duration::from_millis(200), throttled };
    let victim = worker::start(env.server(), &ledger, work).await?;
    let handle = env.start_workflow(Office::run, order(Duration::from_mins(1))).await?;
    let turns = || anyhow::Ok(ledger.lines()?.iter().filter(|line| line.what == "model").count());
    let deadline = Instant::now() + PATIENCE;
    while turns()? < 8 {
        anyhow::ensure!(Instant::now() < deadline, "there are only {} turns", turns()?);
        sleep(Duration::from_millis(20)).await;
    }
    victim.kill()?;
    let kept = checkpoint(env.client(), &handle.info().workflow_id).await?;
    let (turns, kept) = (turns()?, kept.as_ref().map_or(0, model_answers));
    println!(
        "killed in turn {turns}; the next attempt has the answers of {kept} model calls: {} are lost",
        turns - kept
    );
    if throttled {
        assert_eq!(kept, 0, "the only heartbeat that was sent is older than the first answer");
    } else {
        assert!(turns - kept <= 1, "of {turns} model calls the server has {kept}");
    }
    env.finish().await?;
    Ok(())
}
