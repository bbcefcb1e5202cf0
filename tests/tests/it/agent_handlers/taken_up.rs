//! A paused run that a fresh history takes up, with a decision that is there as early as can be.
//!
//! In the first workflow task of such a history the run pauses. A worker without the workflow in its cache must not be given it together
//! with the next task's news, which on replay come one after the other.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Runner, agent_handlers,
    client::AgentHandle,
    inline::InlineRunner,
    run::RunOutcome,
    wire::{AgentDecision, RunState, Verdict},
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::{
    WorkflowGetResultOptions, WorkflowHandle, WorkflowIdConflictPolicy, WorkflowUpdateWithStartOptions,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::timeout;

use super::support::{desk, last_outputs, state_when_waiting, taken};
use crate::examples::{Cache, histories};

/// Takes a paused run up, and waits by itself where it pauses.
#[workflow]
#[derive(Default)]
pub(crate) struct Shift {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Shift {
    #[run(name = "shift")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, mut paused: RunState) -> WorkflowResult<String> {
        let runner = Runner::with_inbox(ctx);
        loop {
            paused = match runner.run(&desk(), paused).until_paused().await? {
                RunOutcome::Finished(result) => return Ok(result.final_output),
                RunOutcome::Paused(paused) => paused.state,
            };
            ctx.wait_condition(|shift| shift.inbox.has_decisions_on(&paused)).await?;
        }
    }
}

/// When the decision is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decided {
    /// With the start of the workflow.
    WithTheStart,
    /// After the first workflow task.
    AfterTheFirstTask,
}

#[rstest]
#[tokio::test]
async fn a_run_that_is_taken_up_replays_whenever_it_was_decided(
    #[values(Decided::WithTheStart, Decided::AfterTheFirstTask)] decided: Decided,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let inline = InlineRunner::new(model.clone());
    let RunOutcome::Paused(paused) = inline.run(&desk(), "Give me my money back.").until_paused().await? else {
        anyhow::bail!("it did not pause")
    };
    let env = cache.environment::<Shift>()?.model(&model).agents((desk,)).start().await?;
    let approval = AgentDecision::approve("call_0_0");
    match decided {
        Decided::WithTheStart => {
            let options =
                WorkflowUpdateWithStartOptions::new(env.task_queue(), "shift-0", WorkflowIdConflictPolicy::Fail);
            let started = env.client().execute_update_with_start_workflow(
                Shift::run,
                paused.state,
                Shift::agent_decide,
                approval,
                options.build(),
            );
            started.await?;
        }
        Decided::AfterTheFirstTask => {
            env.start_workflow(Shift::run, paused.state).await?;
            let agent = AgentHandle::new(env.client(), "shift-0");
            state_when_waiting(&agent).await?;
            agent.decide(approval).await?;
        }
    }
    let shift: WorkflowHandle<_, Shift> = env.client().get_workflow_handle("shift-0");
    let done = timeout(crate::PATIENCE, shift.get_result(WorkflowGetResultOptions::default())).await;
    assert_eq!(done??, "done");
    histories::<Shift>(&env, "shift-0").await?;
    assert_eq!(last_outputs(&model), [json!("refunded 7")]);
    let agent = AgentHandle::new(env.client(), "shift-0");
    assert_eq!(agent.state().await?.decided, [taken("call_0_0", Verdict::Approve)]);
    env.finish().await?;
    Ok(())
}
