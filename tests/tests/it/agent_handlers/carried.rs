//! Decisions and questions that a workflow carries over to the run it continues as new with.

use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Runner, agent_handlers,
    client::AgentHandle,
    run::{PausedRun, RunOutcome},
    wire::{DecisionAnswer, RunState, RunStatus, Verdict},
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
    history::{self, History},
};
use temporalio_client::{Client, WorkflowHandle};
use temporalio_common::protos::temporal::api::{enums::v1::EventType, history::v1::history_event::Attributes};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ContinueAsNewOptions, WorkflowContext, WorkflowContextView, WorkflowResult};
use tokio::time::timeout;

use super::support::{desk, environment, interruption, kept, last_outputs, state, state_when_waiting, taken};
use crate::held_model::HeldModel;

/// What one run of the workflow leaves to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Carried {
    inbox: AgentInbox,
    paused: Option<RunState>,
}

/// Continues as new where its agents wait for the first time, and waits in the new run.
#[workflow]
pub(crate) struct Ticket {
    inbox: AgentInbox,
    paused: Option<RunState>,
}

#[agent_handlers]
#[workflow_methods]
impl Ticket {
    #[init]
    fn new(_ctx: &WorkflowContextView, carried: Carried) -> Self {
        Self { inbox: carried.inbox, paused: carried.paused }
    }

    #[run(name = "ticket")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let runner = Runner::with_inbox(ctx);
        let outcome = match ctx.state_mut(|ticket| ticket.paused.take()) {
            None => runner.run(&desk(), "Give me my money back.").until_paused().await?,
            Some(state) => return Ok(runner.run(&desk(), state).await?.final_output),
        };
        match outcome {
            RunOutcome::Finished(result) => Ok(result.final_output),
            RunOutcome::Paused(PausedRun { state, .. }) => {
                let carried = Carried { inbox: ctx.state(|ticket| ticket.inbox.clone()), paused: Some(state) };
                match ctx.continue_as_new(carried, ContinueAsNewOptions::default())? {}
            }
        }
    }
}

type Handle = WorkflowHandle<Client, ticket::Run>;

/// Waits for the end and replays the history of each run, the first one first; gives how many activities each has.
async fn finished(env: &AgentEnvironment, handle: &Handle) -> anyhow::Result<(String, Vec<usize>)> {
    let last = env.await_run(handle).await?;
    let mut histories = vec![last.history];
    while let Some(before) = earlier_run(&histories[0]) {
        let history = history::fetch(env.client(), &last.workflow_id, Some(&before)).await?;
        env.replay(&history).await?;
        histories.insert(0, history);
    }
    let count =
        |history: &History, kind: EventType| history.events.iter().filter(|event| event.event_type() == kind).count();
    assert!(histories.iter().all(|history| count(history, EventType::WorkflowTaskFailed) == 0));
    let activities = histories.iter().map(|history| count(history, EventType::ActivityTaskScheduled)).collect();
    Ok((last.result?, activities))
}

fn earlier_run(history: &History) -> Option<String> {
    let started = history.events.first().and_then(|event| event.attributes.as_ref());
    match started {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
            Some(started.continued_execution_run_id.clone()).filter(|run| !run.is_empty())
        }
        _ => None,
    }
}

/// Waits until the latest run of the workflow is its second.
async fn renewed(env: &AgentEnvironment) -> anyhow::Result<()> {
    let looking = async {
        while earlier_run(&history::fetch(env.client(), "ticket-0", None).await?).is_none() {}
        anyhow::Ok(())
    };
    let renewed = timeout(crate::PATIENCE, looking).await;
    renewed.unwrap_or_else(|_| Err(anyhow::anyhow!("the workflow has not continued as new")))
}

#[rstest]
#[tokio::test]
async fn a_question_can_be_decided_after_continue_as_new(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let env = environment::<Ticket>(cached)?.model(&model).agents((desk,)).start().await?;
    let handle = env.start_workflow(Ticket::run, Carried::default()).await?;
    let agent = AgentHandle::new(env.client(), "ticket-0");
    renewed(&env).await?;
    let mut waiting = state(RunStatus::Waiting, 1);
    waiting.interruptions.push(interruption("call_0_0", 7));
    assert_eq!(state_when_waiting(&agent).await?, waiting);
    assert_eq!(agent.reject("call_0_0", "ask the boss").await?, DecisionAnswer::Accepted);
    let (output, activities) = finished(&env, &handle).await?;
    assert_eq!((&*output, &*activities), ("done", &[1, 1][..]));
    assert_eq!(last_outputs(&model), [json!("ask the boss")]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn decisions_count_after_continue_as_new_taken_and_kept_ones(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let refund = |order: u32| tool_call("refund", json!({"order": order}));
    let model = FakeModel::script([refund(7), refund(8), refund(9), text("done")]);
    let held = HeldModel::new(&model);
    let env = environment::<Ticket>(cached)?.model_provider(held.clone()).agents((desk,)).start().await?;
    let handle = env.start_workflow(Ticket::run, Carried::default()).await?;
    let agent = AgentHandle::new(env.client(), "ticket-0");
    held.asked().await?;
    let nothing_waits = || DecisionAnswer::Kept { waits_for: Vec::new() };
    assert_eq!(agent.approve("call_0_0").await?, nothing_waits());
    assert_eq!(agent.reject("call_2_0", "no more").await?, nothing_waits());
    held.answer();
    held.answer();

    renewed(&env).await?;
    let waiting = state_when_waiting(&agent).await?;
    let rejected = || Verdict::Reject { message: Some("no more".to_owned()) };
    assert_eq!(waiting.decided, [taken("call_0_0", Verdict::Approve), kept("call_2_0", rejected())]);
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted, "the same again, in another run");
    let approved = DecisionAnswer::AlreadyDecided { decision: Verdict::Approve, always: false };
    assert_eq!(agent.reject("call_0_0", "too late").await?, approved);
    assert_eq!(agent.approve("call_1_0").await?, DecisionAnswer::Accepted);

    held.answer();
    held.answer();
    let (output, activities) = finished(&env, &handle).await?;
    assert_eq!((&*output, &*activities), ("done", &[3, 3][..]));
    assert_eq!(last_outputs(&model), [json!("refunded 7"), json!("refunded 8"), json!("no more")]);
    let [first, second] = ["call_0_0", "call_1_0"].map(|id| taken(id, Verdict::Approve));
    assert_eq!(agent.state().await?.decided, [first, taken("call_2_0", rejected()), second]);
    env.finish().await?;
    Ok(())
}
