//! Orders before a deploy and after it, each with the tool that it began with.

use rstest::rstest;
use temporal_agents::{AgentsPlugin, client::AgentHandle};
use temporal_agents_examples::versions::{Shop, before, desk, desk_v2, model};
use temporalio_sdk::WorkerOptions;

use super::{Cache, Played, histories};
use crate::{
    agent_handlers::support::{answer_to, state_when_waiting},
    versions::support::{Deploy, digests},
};

const WISH: &str = "A scarf, please. I like red.";

/// The open order, then the new one.
pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Vec<String>>> {
    let model = model::scripted();
    let env = cache.environment::<Shop>()?.model(&model).agents((desk, desk_v2)).start().await?;
    let mut before = WorkerOptions::new(env.task_queue()).register_workflow::<before::Shop>()?.build();
    AgentsPlugin::new(model.clone()).agents((desk,)).install(&mut before)?;
    let mut deploy = Deploy::before(env, before).await?;

    let open = deploy.env.start_workflow(Shop::run, WISH.to_owned()).await?;
    state_when_waiting(&deploy.env.agent_handle(&open)).await?;
    deploy.now().await?;
    let new = deploy.env.start_workflow(Shop::run, WISH.to_owned()).await?;
    let (mut output, mut recorded) = (Vec::new(), Vec::new());
    for order in [open, new] {
        let handle = AgentHandle::new(deploy.env.client(), &*order.info().workflow_id);
        let waiting = state_when_waiting(&handle).await?;
        answer_to(async || handle.approve(&waiting.interruptions[0].id).await).await?;
        let run = deploy.env.await_run(&order).await?;
        recorded.extend(histories::<Shop>(&deploy.env, &run.workflow_id).await?);
        output.push(run.output()?);
    }
    deploy.env.finish().await?;
    Ok(Played { output, histories: recorded, calls: model.calls() })
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn an_open_order_keeps_its_tool_and_a_new_one_has_the_new_tool(#[case] cache: Cache) -> anyhow::Result<()> {
    let played = Box::pin(played(cache)).await?;
    assert_eq!(played.output, ["Done: scarf is ordered.", "Done: scarf is ordered in red."]);
    let [open, new] = &played.histories[..] else { panic!("{} histories", played.histories.len()) };
    assert_eq!(digests(open), [None]);
    assert_eq!(digests(new), [Some(desk_v2().def().tools[0].schema_digest())]);
    Ok(())
}
