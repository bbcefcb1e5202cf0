//! Idempotency keys: the same for the same call whatever happens to the workflow, another for another call.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, Resources, RunConfig, Runner, State, Tool, ToolContext, ToolError, agent_handlers,
    client::AgentHandle,
    inline::InlineRunner,
    tool,
    tool::{ToolGuardrailOutput, ToolInputGuardrail},
    wire::{Carried, DecisionAnswer, RunStatus},
    workflow::{AgentInbox, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_client::{
    NamespacedClient, WorkflowGetResultOptions, WorkflowHandle, grpc::WorkflowService, tonic::IntoRequest,
};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, enums::v1::EventType, workflowservice::v1::ResetWorkflowExecutionRequest,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowContextView, WorkflowResult};
use tokio::time::timeout;

use crate::{
    agent_handlers::support::state_when_waiting,
    examples::{Cache, histories},
};

/// The keys that the bodies have seen: of each call, what it was asked to pay, attempt by attempt.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(u32, String)>>>);

impl Seen {
    fn keys_of(&self, order: u32) -> Vec<String> {
        let seen = self.0.lock().expect("nobody panics");
        seen.iter().filter(|(paid, _)| *paid == order).map(|(_, key)| key.clone()).collect()
    }
}

/// Pays.
#[tool(attempts = 2)]
async fn pay(State(seen): State<Seen>, order: u32, call: &ToolContext) -> Result<String, ToolError> {
    seen.0.lock().expect("nobody panics").push((order, call.info().idempotency_key().to_owned()));
    match call.info().attempt {
        1 if order == 1 => Err(ToolError::transient("the bank is busy")),
        _ => Ok("paid".to_owned()),
    }
}

/// The key of a call in the workflow.
#[tool(inline)]
fn show_key(call: &ToolContext) -> String {
    call.info().idempotency_key().to_owned()
}

fn banker() -> Agent {
    let teller = Agent::new("teller").model("gpt-5").tool(pay);
    Agent::new("banker").model("gpt-5").tool(pay).tool(show_key).tool(teller.as_tool())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Bank;

#[workflow_methods]
impl Bank {
    #[run(name = "bank")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&banker(), request).await?.final_output)
    }
}

fn pays(order: u32) -> (&'static str, serde_json::Value) {
    ("pay", json!({"order": order}))
}

fn model() -> FakeModel {
    FakeModel::function(|call, _| match (&*call.agent, call.turn) {
        ("banker", 1) => tool_calls([pays(1), pays(2), ("show_key", json!({})), ("teller", json!({"input": "pay"}))]),
        ("teller", 1) => tool_calls([pays(3)]),
        _ => text("done"),
    })
}

fn all_differ(keys: &[&String]) -> bool {
    keys.iter().enumerate().all(|(place, key)| key.len() == 16 && !keys[..place].contains(key))
}

#[tokio::test]
async fn a_key_is_the_same_at_the_next_attempt_and_after_a_reset_and_no_other_call_has_it() -> anyhow::Result<()> {
    let (model, seen) = (model(), Seen::default());
    let builder = AgentEnvironment::builder().workflow::<Bank>()?.model(&model).state(seen.clone());
    let env = builder.agents((banker,)).start().await?;
    let run = env.run(Bank::run, "Pay.".to_owned()).await?;
    let keys = [seen.keys_of(1), seen.keys_of(2), seen.keys_of(3)];
    assert_eq!(keys.each_ref().map(Vec::len), [2, 1, 1]);
    assert_eq!(keys[0][0], keys[0][1], "two attempts");
    assert!(all_differ(&[&keys[0][0], &keys[1][0], &keys[2][0]]), "{keys:?}");

    // Back to where the calls were scheduled.
    let is_task = |event: &&temporalio_common::protos::temporal::api::history::v1::HistoryEvent| {
        event.event_type() == EventType::WorkflowTaskCompleted
    };
    let second_task = run.history.events.iter().filter(is_task).nth(1).expect("the calls").event_id;
    let request = ResetWorkflowExecutionRequest {
        namespace: env.client().namespace(),
        workflow_execution: Some(WorkflowExecution { workflow_id: run.workflow_id.clone(), run_id: String::new() }),
        reason: "a test".to_owned(),
        workflow_task_finish_event_id: second_task,
        request_id: "reset-1".to_owned(),
        ..ResetWorkflowExecutionRequest::default()
    };
    let mut client = env.client().clone();
    WorkflowService::reset_workflow_execution(&mut client, request.into_request()).await?;
    let again: WorkflowHandle<_, Bank> = env.client().get_workflow_handle(&*run.workflow_id);
    timeout(Duration::from_mins(1), again.get_result(WorkflowGetResultOptions::default())).await??;
    for (order, keys) in (1..).zip(&keys[..2]) {
        let after = seen.keys_of(order);
        assert!(after.len() > keys.len() && after.iter().all(|key| *key == keys[0]), "order {order}: {after:?}");
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_without_temporal_has_keys_of_its_own() -> anyhow::Result<()> {
    let seen = Seen::default();
    let pause = Duration::from_millis(1);
    let runner = InlineRunner::new(Resources::new().model_provider(model()).state(seen.clone())).first_pause(pause);
    runner.run(&banker(), "Pay.").await?;
    let first = [seen.keys_of(1), seen.keys_of(2), seen.keys_of(3)].concat();
    runner.run(&banker(), "Pay.").await?;
    assert_eq!(first[0], first[1], "two attempts");
    let second = &seen.keys_of(2)[1];
    assert!(all_differ(&[&first[0], &first[2], &first[3], second]), "{first:?}");
    Ok(())
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    New,
    Continued(Carried),
}

/// The keys that the guardrail of the approved tool has seen.
static GUARDED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn cautious() -> Agent {
    let notes = ToolInputGuardrail::new("notes the key", |ctx| {
        GUARDED.lock().expect("nobody panics").push(ctx.call.idempotency_key().to_owned());
        ToolGuardrailOutput::allow()
    });
    Agent::new("cautious").model("gpt-5").tool(show_key.needs_approval().with_input_guardrail(notes))
}

/// Continues as new whenever it would wait. Its first call needs an approval as well.
#[workflow]
pub(crate) struct Cautious {
    inbox: AgentInbox,
    request: Option<Request>,
}

#[agent_handlers]
#[workflow_methods]
impl Cautious {
    #[init]
    fn new(_ctx: &WorkflowContextView, request: Request) -> Self {
        let inbox = match &request {
            Request::New => AgentInbox::default(),
            Request::Continued(carried) => AgentInbox::of(carried),
        };
        Self { inbox, request: Some(request) }
    }

    #[run(name = "cautious")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let request = ctx.state_mut(|cautious| cautious.request.take()).unwrap_or(Request::New);
        let info = ctx.info();
        let (now, first) = (ctx.run_id().to_owned(), info.first_execution_run_id().to_owned());
        let options = ContinueOptions::builder().new_events(0).build();
        let config = RunConfig::builder().guard_tools_before_approval(true).build();
        let runner = Runner::with_config(ctx, config).inbox().continue_with(Request::Continued).continue_when(options);
        let result = match request {
            Request::New => runner.run(&cautious(), "Ask.").await?,
            Request::Continued(carried) => runner.run(&cautious(), carried).await?,
        };
        let moved = if now == first { "here" } else { "elsewhere" };
        Ok(format!("{} {moved}", result.final_output))
    }
}

#[tokio::test]
async fn a_call_that_waits_for_approval_keeps_its_key_when_the_workflow_continues_as_new() -> anyhow::Result<()> {
    let said = |call: &temporal_agents::wire::ModelCall| {
        call.input.iter().rev().find_map(|item| item.get("output")?.as_str().map(str::to_owned))
    };
    let model = FakeModel::function(move |call, _| match said(call) {
        None => tool_call("show_key", json!({})),
        Some(key) => text(key),
    });
    let env = Cache::On.environment::<Cautious>()?.model(&model).agents((cautious,)).start().await?;
    let handle = env.start_workflow(Cautious::run, Request::New).await?;
    let agent = AgentHandle::new(env.client(), "cautious-0");
    let waiting = state_when_waiting(&agent).await?;
    assert_eq!(waiting.status, RunStatus::Waiting);
    let call_id = waiting.interruptions[0].id.clone();
    let before = GUARDED.lock().expect("nobody panics").clone();
    let key = before.first().expect("the guardrail was asked before the person").clone();
    assert_eq!(agent.approve(&*call_id).await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&handle).await?.output()?, format!("{key} elsewhere"));
    assert!(GUARDED.lock().expect("nobody panics").iter().all(|other| *other == key), "before and after");
    histories::<Cautious>(&env, "cautious-0").await?;
    env.finish().await?;
    Ok(())
}
