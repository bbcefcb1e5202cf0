//! Questions and decisions of a run that continues as new before it waits.

use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Runner, agent_handlers,
    client::AgentHandle,
    wire::{Carried, DecisionAnswer, RunStatus, Verdict},
    workflow::{AgentInbox, ContinueOptions},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowContextView, WorkflowResult};

use crate::{
    agent_handlers::support::{desk, interruption, last_outputs, state, state_when, state_when_waiting, taken},
    examples::{Cache, histories},
    held_model::HeldModel,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    New(String),
    Continued(Carried),
}

/// Continues as new after each turn, and whenever it would wait.
#[workflow]
pub(crate) struct Counter {
    inbox: AgentInbox,
    request: Option<Request>,
}

#[agent_handlers]
#[workflow_methods]
impl Counter {
    #[init]
    fn new(_ctx: &WorkflowContextView, request: Request) -> Self {
        let inbox = match &request {
            Request::New(_) => AgentInbox::default(),
            Request::Continued(carried) => AgentInbox::of(carried),
        };
        Self { inbox, request: Some(request) }
    }

    #[run(name = "counter")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let request = ctx.state_mut(|counter| counter.request.take()).unwrap_or_else(request);
        let runner = Runner::with_inbox(ctx)
            .continue_with(Request::Continued)
            .continue_when(ContinueOptions::builder().new_events(0).build());
        let result = match request {
            Request::New(request) => runner.run(&desk(), request).await?,
            Request::Continued(carried) => runner.run(&desk(), carried).await?,
        };
        Ok(format!("{} after {} calls", result.final_output, result.usage.requests))
    }
}

fn request() -> Request {
    Request::New("Give me my money back.".to_owned())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_question_can_be_answered_in_the_next_execution(#[case] cache: Cache) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("refund", json!({"order": 7})), ("refund", json!({"order": 8}))]),
        text("done"),
    ]);
    let env = cache.environment::<Counter>()?.model(&model).agents((desk,)).start().await?;
    let handle = env.start_workflow(Counter::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "counter-0");
    let mut waiting = state(RunStatus::Waiting, 1);
    waiting.interruptions = vec![interruption("call_0_0", 7), interruption("call_0_1", 8)];
    assert_eq!(state_when_waiting(&agent).await?, waiting);
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted);
    let open = |state: &temporal_agents::wire::AgentState| state.interruptions == [interruption("call_0_1", 8)];
    let waiting = state_when(&agent, "waiting for the second call alone", open).await?;
    assert_eq!(waiting.decided, [taken("call_0_0", Verdict::Approve)]);
    assert_eq!(agent.reject("call_0_1", "one is enough").await?, DecisionAnswer::Accepted);

    assert_eq!(env.await_run(&handle).await?.output()?, "done after 2 calls");
    assert_eq!(last_outputs(&model), [json!("refunded 7"), json!("one is enough")]);
    // The first execution ends before it waits, the second one has called no model before it is at the next turn.
    assert_eq!(histories::<Counter>(&env, "counter-0").await?.len(), 2);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_decision_that_comes_before_its_question_counts_in_the_next_execution(
    #[case] cache: Cache,
) -> anyhow::Result<()> {
    let refund = |order: u32| tool_call("refund", json!({"order": order}));
    let model = FakeModel::script([refund(7), refund(8), text("done")]);
    let held = HeldModel::new(&model);
    let env = cache.environment::<Counter>()?.model_provider(held.clone()).agents((desk,)).start().await?;
    let handle = env.start_workflow(Counter::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "counter-0");
    held.asked().await?;
    let nothing_waits = || DecisionAnswer::Kept { waits_for: Vec::new() };
    assert_eq!(agent.approve("call_0_0").await?, nothing_waits());
    assert_eq!(agent.reject("call_1_0", "no more").await?, nothing_waits());
    held.answer();
    held.asked().await?;
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted, "the same again, in another execution");
    let approved = DecisionAnswer::AlreadyDecided { decision: Verdict::Approve, always: false };
    assert_eq!(agent.reject("call_0_0", "too late").await?, approved);
    held.answer();
    held.answer();
    assert_eq!(env.await_run(&handle).await?.output()?, "done after 3 calls");
    assert_eq!(last_outputs(&model), [json!("refunded 7"), json!("no more")]);
    let rejected = Verdict::Reject { message: Some("no more".to_owned()) };
    assert_eq!(agent.state().await?.decided, [taken("call_0_0", Verdict::Approve), taken("call_1_0", rejected)]);
    histories::<Counter>(&env, "counter-0").await?;
    env.finish().await?;
    Ok(())
}
