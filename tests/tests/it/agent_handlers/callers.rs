//! Callers that know nothing but a workflow id, and perhaps nothing of this crate.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::client::{AgentHandle, AgentHandleError};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::{
    UntypedQuery, UntypedUpdate, WorkflowExecuteUpdateOptions, WorkflowHandle, WorkflowQueryOptions,
};
use temporalio_common::{
    UntypedWorkflow,
    data_converters::{PayloadConverter, RawValue},
};

use super::support::{Desk, desk_with, lingering, request, state_when_waiting};
use crate::{
    held_model::HeldModel,
    support::{Clerk, Stock, clerk},
};

#[tokio::test]
async fn a_workflow_that_is_not_there_is_named() -> anyhow::Result<()> {
    let env = desk_with(&FakeModel::script([]), true).await?;
    let elsewhere = env.server().client().await?;
    let agent = AgentHandle::new(&elsewhere, "desk-99");
    let words = "workflow \"desk-99\" does not exist, or has ended";
    assert_eq!(agent.state().await.unwrap_err().to_string(), words);
    assert_eq!(agent.approve("call_0_0").await.unwrap_err().to_string(), words);
    assert_eq!(agent.supply_output("call_0_0", "x").await.unwrap_err().to_string(), words);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_workflow_without_handlers_says_so_and_goes_on(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([text("done")]);
    let held = HeldModel::new(&model);
    let mut builder = AgentEnvironment::builder().workflow::<Clerk>()?.model_provider(held.clone());
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.state(Stock(3)).agents((clerk,)).start().await?;
    let handle = env.start_workflow(Clerk::run, "How many?".to_owned()).await?;
    held.asked().await?;
    let agent = AgentHandle::new(env.client(), "clerk-0");
    let [asked, decided] = [agent.state().await.unwrap_err(), agent.approve("call_0_0").await.unwrap_err()];
    for (error, handler) in [(asked, "agent_state"), (decided, "agent_decide")] {
        assert!(matches!(&error, AgentHandleError::Refused { .. }), "{error:?}");
        let words = error.to_string();
        assert!(words.starts_with("workflow \"clerk-0\" rejected the message: "), "{words}");
        assert!(words.contains(handler) && words.ends_with("; check that it has #[agent_handlers]"), "{words}");
    }
    held.answer();
    let run = env.await_run(&handle).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

/// A caller without this crate: JSON in, JSON out.
struct Stranger(WorkflowHandle<temporalio_client::Client, UntypedWorkflow>);

impl Stranger {
    async fn update(&self, name: &str, message: Value) -> anyhow::Result<Value> {
        let converter = PayloadConverter::default();
        let input = RawValue::from_value(&message, &converter);
        let options = WorkflowExecuteUpdateOptions::default();
        let reply = self.0.execute_update(UntypedUpdate::new(name), input, options).await?;
        Ok(reply.to_value(&converter))
    }

    async fn query(&self, name: &str) -> anyhow::Result<Value> {
        let converter = PayloadConverter::default();
        let nothing = RawValue::new(Vec::new());
        let reply = self.0.query(UntypedQuery::new(name), nothing, WorkflowQueryOptions::default()).await?;
        Ok(reply.to_value(&converter))
    }
}

#[rstest]
#[tokio::test]
async fn messages_are_plain_json_and_those_nobody_understands_are_refused(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let env = desk_with(&model, cached).await?;
    let handle = env.start_workflow(Desk::run, lingering()).await?;
    state_when_waiting(&AgentHandle::new(env.client(), "desk-0")).await?;
    let stranger = Stranger(env.client().get_workflow_handle("desk-0"));
    let version = json!("1.2");
    let waiting = json!({
        "version": version, "status": "waiting", "agent": "desk", "turn": 1, "decided": [],
        "interruptions": [{"id": "call_0_0", "agent": "desk", "tool": "refund", "arguments": "{\"order\":7}"}],
    });
    assert_eq!(stranger.query("agent_state").await?, waiting);

    for wrong in [
        json!({"interruption_id": "call_0_0", "decision": {"kind": "postpone"}}),
        json!({"interruption_id": "call_0_0", "decision": {"kind": "approve"}, "version": {"major": 9, "minor": 0}}),
        json!({"decision": {"kind": "approve"}}),
        json!("approve"),
    ] {
        let refused = stranger.update("agent_decide", wrong.clone()).await;
        assert!(refused.is_err(), "{wrong}: {refused:?}");
    }
    assert_eq!(stranger.query("agent_state").await?, waiting, "nothing has changed");

    let approval = json!({"interruption_id": "call_0_0", "decision": {"kind": "approve"}});
    let reply = stranger.update("agent_decide", approval).await?;
    assert_eq!(reply, json!({"version": version, "answer": {"kind": "accepted"}}));
    let supplied = json!({"interruption_id": "call_0_0", "output": "paid by hand"});
    let reply = stranger.update("agent_supply_output", supplied).await?;
    let answer = json!({"kind": "already_decided", "decision": {"kind": "approve"}});
    assert_eq!(reply, json!({"version": version, "answer": answer}));
    handle.signal(Desk::close, (), temporalio_client::WorkflowSignalOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_workflow_that_has_ended_takes_no_decisions() -> anyhow::Result<()> {
    let env = desk_with(&FakeModel::script([text("done")]), true).await?;
    env.run(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    let late = agent.approve("call_0_0").await.unwrap_err();
    assert_eq!(late.to_string(), "workflow \"desk-0\" does not exist, or has ended");
    env.finish().await?;
    Ok(())
}
