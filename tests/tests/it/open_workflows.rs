//! The check of a build against all open workflows of a server, and against a folder of histories.

use std::time::Duration;

use serde_json::json;
use temporal_agents::{
    Agent, Tool,
    client::{AgentHandle, ChatHandle},
    tool,
    wire::{AgentRequest, ChatRequest, Item},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, CheckFailure, FakeModel, ReplayCheck, ReplayReport,
    fake_model::{Reply, text, tool_call},
    history,
};
use temporalio_client::Client;

use crate::{
    agent_handlers::support::state_when_waiting,
    cipher::{Cipher, ciphered},
};

/// Orders something.
#[tool]
async fn order(item: String) -> String {
    format!("ordered {item}")
}

/// Orders something, with a parameter more.
#[tool(name = "order")]
async fn order_in_detail(item: String, details: bool) -> String {
    format!("{item} {details}")
}

/// Gives money back.
#[tool]
async fn refund(number: u32) -> String {
    format!("refunded {number}")
}

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5").tool(order).tool(refund.needs_approval())
}

fn changed_desk() -> Agent {
    Agent::new("desk").model("gpt-5").tool(order_in_detail).tool(refund.needs_approval())
}

/// Orders first where it is asked to; then waits for the approval of a refund. Only answers a chat.
fn model() -> FakeModel {
    FakeModel::function(|call, _| -> Reply {
        let asked = call.input.iter().find_map(Item::text).unwrap_or_default();
        match (&*asked, call.turn) {
            ("Hello?", _) => text("Hello."),
            ("Order, then refund.", 1) => tool_call("order", json!({"item": "lamp"})),
            _ => tool_call("refund", json!({"number": 7})),
        }
    })
}

fn check(desk: fn() -> Agent) -> anyhow::Result<ReplayCheck> {
    let set = AgentSet::new((desk,));
    Ok(ReplayCheck::new()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set.clone()))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set))?
        .max_parallel(2))
}

/// The report, once visibility has so many workflows.
async fn report(check: &ReplayCheck, client: &Client, kind: &str, count: usize) -> anyhow::Result<ReplayReport> {
    let looking = async {
        loop {
            let report = check.open_workflows(client, kind).await?;
            if report.checked.len() == count {
                return anyhow::Ok(report);
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), looking).await?
}

const WHY: &str = "turn 1, tool `order` of agent `desk`: the recorded arguments no longer match its schema: `details` \
                   is required";

#[tokio::test]
async fn the_check_names_the_open_workflows_that_a_build_would_break() -> anyhow::Result<()> {
    let set = AgentSet::new((desk,));
    let chats = set.clone().continue_when(ContinueOptions::builder().new_events(0).build());
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(chats))?
        .model_provider(model())
        .agents((desk,))
        .data_converter(ciphered(Cipher(7)))
        .start()
        .await?;
    let folder = tempfile::tempdir()?;
    let mut broken = String::new();
    for question in ["Refund.", "Order, then refund.", "Refund again."] {
        let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("desk", question)).await?;
        let id = started.info().workflow_id.clone();
        state_when_waiting(&AgentHandle::new(env.client(), &*id)).await?;
        history::save(folder.path().join(format!("{id}.json")), &history::fetch(env.client(), &id, None).await?)?;
        if question.starts_with("Order") {
            broken = id;
        }
    }
    // Its current execution alone is open, and checked.
    let chat = env.start_workflow(ChatWorkflow::run, ChatRequest::new("desk")).await?;
    ChatHandle::new(env.client(), &*chat.info().workflow_id).send("Hello?").await?;

    let report_of_same = report(&check(desk)?, env.client(), "AgentWorkflow", 3).await?;
    assert_eq!(report_of_same.into_result()?.to_string(), "all of 3 histories replay with this build");
    let chats = report(&check(changed_desk)?, env.client(), "ChatWorkflow", 1).await?.into_result()?;
    assert_ne!(chats.checked[0].run_id, chat.info().run_id, "the chat has continued as new");

    let report_of_changed = report(&check(changed_desk)?, env.client(), "AgentWorkflow", 3).await?;
    let found: Vec<_> =
        report_of_changed.broken().map(|(checked, _)| (&*checked.name, checked.run_id.is_some())).collect();
    assert_eq!(found, [(&*broken, true)]);
    let failure = report_of_changed.into_result().expect_err("one would break");
    let run_id = failure.broken().find_map(|(checked, _)| checked.run_id.clone()).unwrap_or_default();
    let expected = format!("2 of 3 histories replay with this build; 1 would break:\n- {broken} (run {run_id}): {WHY}");
    assert_eq!((failure.to_string(), format!("{failure:?}")), (expected.clone(), expected));

    std::fs::write(folder.path().join("zzz.json"), "{}")?;
    std::fs::write(folder.path().join("notes.txt"), "no history")?;
    let of_folder = check(changed_desk)?.data_converter(ciphered(Cipher(7))).folder(folder.path()).await?;
    assert_eq!(of_folder.checked.len(), 4);
    let found: Vec<_> = of_folder.broken().collect();
    assert_eq!(found.len(), 2, "{of_folder}");
    assert_eq!(found[0].0.name, format!("{broken}.json"));
    assert!(
        matches!(found[0].1, CheckFailure::Replay(error) if error.change().is_some_and(|change| change.to_string() == WHY))
    );
    assert_eq!(found[1].0.name, "zzz.json");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_no_empty_report() -> anyhow::Result<()> {
    let error = check(desk)?.folder("no/such/folder").await.expect_err("it is not there").to_string();
    assert!(error.starts_with("folder no/such/folder cannot be read: "), "{error}");
    Ok(())
}
