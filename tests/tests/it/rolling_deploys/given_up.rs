//! Runs that have waited in vain for five minutes: recorded once, in that time, and replayed since.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use temporal_agents::{AgentsPlugin, Runner, run::SessionRef};
use temporal_agents_testing::{
    AgentEnvironment, FinishedRun,
    environment::ActivityOutcome,
    history::{self, History},
};
use temporalio_client::WorkflowGetResultOptions;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::timeout;

use super::{
    histories::{Missing, Recorded, desk, old, shopper},
    release::timers,
};
use crate::examples::Cache;

/// Longer than a run waits.
const PATIENCE: Duration = Duration::from_mins(6);

/// What no worker has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Lost {
    Tool,
    Store,
}

#[workflow]
#[derive(Default)]
pub(crate) struct Waiting;

#[workflow_methods]
impl Waiting {
    #[run(name = "waiting")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, lost: Lost) -> WorkflowResult<String> {
        let session = SessionRef::Stored { store: "cellar".to_owned(), session_id: "7".to_owned(), limit: None };
        let runner = Runner::new(ctx);
        let runner = if lost == Lost::Store { runner.session(session) } else { runner };
        Ok(runner.run(&desk(Missing::Fails), "A bolt, please.").await?.final_output)
    }
}

/// Both runs, at the same time.
pub(crate) async fn given_up(_cache: Cache) -> anyhow::Result<Recorded> {
    let model = shopper();
    let lacks: AgentsPlugin = old(&model);
    let env = AgentEnvironment::builder().workflow::<Waiting>()?.plugin(|_| lacks).start().await?;
    let mut handles = Vec::new();
    for lost in [Lost::Tool, Lost::Store] {
        handles.push(env.start_workflow(Waiting::run, lost).await?);
    }
    let mut histories = Vec::new();
    for handle in handles {
        let ended = timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await?;
        anyhow::ensure!(ended.is_err(), "it found a worker");
        histories.push(history::fetch(env.client(), &handle.info().workflow_id, None).await?);
    }
    env.finish().await?;
    Ok(Recorded { histories })
}

fn recorded(number: u32) -> anyhow::Result<FinishedRun<()>> {
    let file = format!("golden/histories/v0.1/deploy_given_up-{number}.json");
    let history: History = history::load(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file))?;
    Ok(FinishedRun::new("", Ok(()), history))
}

#[test]
fn after_five_minutes_a_run_fails_with_what_is_missing() -> anyhow::Result<()> {
    let first_link = |number| anyhow::Ok(recorded(number)?.failure_chain().into_iter().next());
    let tool = "tool \"order\" of agent \"desk\" is not registered on task queue \"agents\"; \
                add the agent to AgentsPlugin::agents on that queue's worker (tried for 300 s)";
    assert_eq!(first_link(1)?, Some(("AgentsWorkflowError".to_owned(), tool.to_owned())));
    let (kind, store) = first_link(2)?.expect("it has failed");
    assert_eq!(kind, "AgentsWorkflowError");
    let begins = "the session \"7\" could not be read: NotFoundError: Activity agents.session.cellar is not registered on this worker";
    assert!(store.starts_with(begins) && store.ends_with(" (tried for 300 s)"), "{store}");
    Ok(())
}

#[test]
fn in_five_minutes_an_activity_is_scheduled_fifteen_times() -> anyhow::Result<()> {
    for (number, what) in [(1, "tool `order`"), (2, "activity `agents.session.cellar`")] {
        let run = recorded(number)?;
        let summaries = timers(&run.history);
        assert_eq!(summaries, [&*format!("waiting for a worker that has {what}"); 14]);
        let tries = run.activities().iter().filter(|activity| activity.outcome != ActivityOutcome::Completed).count();
        assert_eq!(tries, 15);
    }
    Ok(())
}
