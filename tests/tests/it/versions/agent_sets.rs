//! `AgentWorkflow`s over a deploy of another version of their agent.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Tool,
    client::AgentHandle,
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::history::History;

use super::support::{Deploy, after, before, clerk, digests, order, order_with_details, patches, replays};
use crate::{
    agent_handlers::support::{answer_to, state_when_waiting},
    continuing::support::chain,
    examples::Cache,
    golden_history::recorded,
};

fn continuing(set: AgentSet, new_events: u32) -> AgentSet {
    set.continue_when(ContinueOptions::builder().new_events(new_events).build())
}

/// An order that is open when the new build is deployed, and one after: the histories of each.
async fn played(cache: Cache, new_events: u32) -> anyhow::Result<[Vec<History>; 2]> {
    let sets = [before(), after()].map(|set| continuing(set, new_events));
    let factories = sets.clone().map(|set| Box::new(AgentWorkflow::factory(set)) as Box<dyn Fn() -> _ + Send + Sync>);
    let mut deploy = Deploy::of_sets::<AgentWorkflow>(cache, &clerk(), sets, factories).await?;
    let request = || AgentRequest::new("desk", "A pen, please.");
    let open = deploy.env.start_workflow(AgentWorkflow::run, request()).await?;
    state_when_waiting(&AgentHandle::new(deploy.env.client(), &*open.info().workflow_id)).await?;
    deploy.now().await?;
    let new = deploy.env.start_workflow(AgentWorkflow::run, request()).await?;
    let mut played = Vec::new();
    for (started, output) in [(open, "pen is ordered"), (new, "pen is ordered, as it is")] {
        let desk = AgentHandle::new(deploy.env.client(), &*started.info().workflow_id);
        let waiting = state_when_waiting(&desk).await?;
        answer_to(async || desk.approve(&waiting.interruptions[0].id).await).await?;
        assert_eq!(deploy.env.await_run(&started).await?.output()?, json!(output));
        let histories = chain(&deploy.env, &started.info().workflow_id).await?;
        for history in &histories {
            replays(history, AgentWorkflow::factory(continuing(after(), new_events))).await?;
        }
        played.push(histories);
    }
    deploy.env.finish().await?;
    let [open, new] = <[_; 2]>::try_from(played).expect("two orders");
    Ok([open, new])
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn an_open_run_keeps_its_agents_and_a_new_one_has_the_newest(#[case] cache: Cache) -> anyhow::Result<()> {
    let [open, new] = Box::pin(played(cache, 10_000)).await?;
    assert_eq!((open.len(), new.len()), (1, 1));
    assert_eq!(patches(&open[0]), [""; 0]);
    assert_eq!(patches(&new[0]), ["details"]);
    assert_eq!(digests(&open[0]), [Some(order.definition().schema_digest())]);
    assert_eq!(digests(&new[0]), [Some(order_with_details.definition().schema_digest())]);
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_run_keeps_its_agents_when_it_continues_as_new(#[case] cache: Cache) -> anyhow::Result<()> {
    let [open, new] = Box::pin(played(cache, 0)).await?;
    assert!(open.len() > 1 && new.len() > 1, "{} and {} histories", open.len(), new.len());
    assert!(open.iter().all(|history| patches(history).is_empty()));
    let patched: Vec<_> = new.iter().map(patches).collect();
    assert_eq!(patched[0], ["details"]);
    assert!(patched[1..].iter().all(Vec::is_empty), "{patched:?}");
    Ok(())
}

#[tokio::test]
async fn histories_of_both_sides_of_a_version_replay() -> anyhow::Result<()> {
    let before = recorded("v0.1", "agent_version_before", async || {
        let [mut open, _] = Box::pin(played(Cache::On, 10_000)).await?;
        open.truncate(1);
        Ok(open)
    });
    for history in Box::pin(before).await? {
        assert_eq!(patches(&history), [""; 0]);
        replays(&history, AgentWorkflow::factory(after())).await?;
    }
    let newest = recorded("v0.1", "agent_version_newest", async || {
        let [_, mut new] = Box::pin(played(Cache::On, 10_000)).await?;
        new.truncate(1);
        Ok(new)
    });
    for history in Box::pin(newest).await? {
        assert_eq!(patches(&history), ["details"]);
        replays(&history, AgentWorkflow::factory(after())).await?;
        let dropped = replays(&history, AgentWorkflow::factory(super::support::before())).await;
        dropped.expect_err("the marker of a version that the set does not have");
    }
    Ok(())
}

#[tokio::test]
async fn a_caller_cannot_choose_the_version() -> anyhow::Result<()> {
    let env = temporal_agents_testing::AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(after()))?
        .model(&clerk())
        .agents(&after())
        .start()
        .await?;
    let request = json!({"agent": "desk", "input": "A pen.", "agent_version": "details"});
    let run = env.run(AgentWorkflow::run, serde_json::from_value(request)?).await?;
    let message = "version \"details\" of the agents is refused: the workflow chooses the version, and carries it to \
                   its next execution (agent \"desk\")";
    assert_eq!(run.failure_chain(), [("AgentsWorkflowError".to_owned(), message.to_owned())]);
    env.finish().await?;
    Ok(())
}
