//! Questions that nobody answers in time.

use std::time::Duration;

use futures::StreamExt;
use rstest::rstest;
use serde::Deserialize;
use serde_json::json;
use temporal_agents::{
    Agent, RunConfig, ToolDef,
    client::{RunEvents, transcript::Transcript},
    wire::{AgentRequest, Decision, EventKind, Item, ModelCall, RunEvent, Verdict},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, text, tool_calls},
};

use crate::examples::executions_of;

#[derive(Deserialize, schemars::JsonSchema)]
struct Payment {
    amount: u32,
}

fn clerk() -> Agent {
    let pay = ToolDef::inline("pay", "Pays.", |_ctx, Payment { amount }| Ok(format!("paid {amount}").into()));
    let pay = pay.approval(temporal_agents::tool::NeedsApproval::Always);
    let ask = ToolDef::client_of::<Payment>("ask_till", "Asks the till.");
    Agent::new("clerk").model("gpt-5").tool(pay).tool(ask)
}

fn model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        match call.input.iter().filter(|item| item.get("output").is_some()).count() {
            0 => tool_calls([
                ("pay", json!({"amount": 1})),
                ("pay", json!({"amount": 2})),
                ("ask_till", json!({"amount": 3})),
            ]),
            _ => text("done"),
        }
    })
}

fn outputs(model: &FakeModel) -> Vec<String> {
    let last = model.calls().pop().expect("the model was asked");
    let output = |item: &Item| Some(item.get("output")?.as_str()?.to_owned());
    last.input.iter().filter_map(output).collect()
}

#[rstest]
#[case::are_rejected(Decision::reject_with("Nobody was there."), ["paid 1", "Nobody was there.", "Nobody was there."])]
#[case::are_approved_where_they_can_be(Decision::approve(), ["paid 1", "paid 2", "Tool execution was not approved."])]
#[tokio::test]
async fn those_that_nobody_has_answered_in_time(
    #[case] late: Decision,
    #[case] told: [&str; 3],
    #[values(true, false)] cached: bool,
    #[values(true, false)] continues: bool,
) -> anyhow::Result<()> {
    let model = model();
    let config = RunConfig::builder().questions_expire(Duration::from_secs(3), late).build();
    let mut set = AgentSet::new((clerk,)).config(config);
    if continues {
        set = set.continue_when(ContinueOptions::builder().new_events(0).build());
    }
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(clerk)
        .model(&model);
    let builder = if cached { builder } else { builder.without_workflow_cache() };
    let env = builder.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("clerk", "Pay.")).await?;
    let handle = env.agent_handle(&started).by("ann");
    let asked = handle.wait_for_interruptions().await?;
    assert!(asked.iter().all(|question| question.expires_at.is_some()), "{asked:?}");
    handle.approve(&*asked[0].id).await?;
    let run = env.await_run(&started).await?;
    let id = run.workflow_id.clone();
    assert_eq!(run.output()?, json!("done"));
    assert_eq!(outputs(&model), told);
    let events: Vec<RunEvent> =
        RunEvents::new(env.client()).watch(&id).map(|event| event.expect("facts are read")).collect().await;
    let until = events.iter().filter_map(|event| match &event.kind {
        EventKind::QuestionAsked { expires_at, .. } => *expires_at,
        _ => None,
    });
    assert_eq!(until.count(), 3, "each says when it expires");
    let decided = events.iter().filter_map(|event| match &event.kind {
        EventKind::QuestionDecided { decision, by, .. } => Some((by.as_deref(), matches!(decision, Verdict::Approve))),
        _ => None,
    });
    let decided: Vec<_> = decided.collect();
    assert_eq!(decided.len(), 3, "each is decided once: {decided:?}");
    assert_eq!(decided[0], (Some("ann"), true));
    assert!(decided[1..].iter().all(|(by, _)| *by == Some("expired")), "{decided:?}");
    let transcript = Transcript::of_workflow(env.client(), &id, None).await?.to_markdown();
    assert!(transcript.contains("by expired"), "{transcript}");
    assert!(!transcript.contains("There is no decision yet"), "{transcript}");
    for history in executions_of(env.client(), &id).await? {
        env.replay(&history).await?;
    }
    env.finish().await?;
    Ok(())
}
