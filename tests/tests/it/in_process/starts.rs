//! Starts, decisions and cancellations at any replica.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Resources, RunConfig, Tool,
    agent::SpecParts,
    client::{AgentRuns, NewRun},
    http::AgentsService,
    in_process::InProcessRuns,
    store::{AgentStore, SqlStore},
    wire::{AgentRequest, Decision, RunMode},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use super::support::{Database, Kind, events, get, kinds, post, service, set, until, workflows};

fn pays() -> FakeModel {
    FakeModel::script([tool_call("pay", json!({"amount": 40})), text("You have your money.")])
}

#[rstest]
#[tokio::test]
async fn a_run_is_started_once_and_decided_once_at_another_replica(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) -> anyhow::Result<()> {
    let database = Database::start(kind).await?;
    let model = pays();
    let (owner, other) = (database.replica(&model).await?, database.replica(&FakeModel::script([])).await?);
    let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": "run-1", "labels": {"customer": "7"}});
    for service in [&owner, &other] {
        assert_eq!(post(service, "/runs", &new).await?, (201.try_into()?, json!({"id": "run-1"})));
    }
    let run = until(&other, "run-1", "waiting").await?;
    assert_eq!(
        (&run["agent"], &run["labels"]["customer"], &run["mode"]),
        (&json!("clerk"), &json!("7"), &json!("inprocess"))
    );
    let question = &run["questions"][0]["question_id"];
    let (_, list) = get(&other, "/questions").await?;
    assert_eq!(list["questions"][0]["run_id"], "run-1");
    let unknown = json!({"question_id": "call_9", "approved": true});
    assert_eq!(post(&other, "/runs/run-1/decisions", &unknown).await?.0, 404);
    let decision = json!({"question_id": question, "approved": true});
    assert_eq!(post(&other, "/runs/run-1/decisions", &decision).await?.0, 200);
    let facts = events(&other, "run-1", "?deltas=false").await?;
    assert_eq!(kinds(&facts).iter().filter(|kind| **kind == "question_decided").count(), 1);
    let run = until(&other, "run-1", "completed").await?;
    assert_eq!(run["output"], "You have your money.");
    assert_eq!(model.calls().len(), 2);
    // It has ended, also for the other.
    for (path, body) in [("decisions", &decision), ("cancel", &json!({}))] {
        assert_eq!(post(&other, &format!("/runs/run-1/{path}"), body).await?.0, 409);
    }
    let (_, list) = get(&other, "/runs").await?;
    assert_eq!((&list["runs"][0]["id"], &list["runs"][0]["status"]), (&json!("run-1"), &json!("completed")));
    Ok(())
}

#[tokio::test]
async fn the_second_decision_is_a_conflict_unless_it_is_the_same() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let calls = [("pay", json!({"amount": 1})), ("pay", json!({"amount": 2}))];
    let model = FakeModel::script([temporal_agents_testing::fake_model::tool_calls(calls), text("Done.")]);
    let (owner, other) = (database.replica(&model).await?, database.replica(&FakeModel::script([])).await?);
    post(&owner, "/runs", &json!({"agent": "clerk", "input": "Pay.", "id": "run-1"})).await?;
    let run = until(&other, "run-1", "waiting").await?;
    let (first, second) = (&run["questions"][0]["question_id"], &run["questions"][1]["question_id"]);
    let approved = json!({"question_id": first, "approved": true});
    for service in [&other, &owner] {
        assert_eq!(post(service, "/runs/run-1/decisions", &approved).await?.0, 200);
    }
    let refused = json!({"question_id": first, "approved": false});
    assert_eq!(post(&other, "/runs/run-1/decisions", &refused).await?.0, 409);
    let other_one = json!({"question_id": second, "approved": false});
    assert_eq!(post(&other, "/runs/run-1/decisions", &other_one).await?.0, 200);
    until(&other, "run-1", "completed").await?;
    Ok(())
}

#[tokio::test]
async fn a_run_is_cancelled_at_another_replica() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let (owner, other) = (database.replica(&pays()).await?, database.replica(&FakeModel::script([])).await?);
    post(&owner, "/runs", &json!({"agent": "clerk", "input": "Pay.", "id": "run-1"})).await?;
    until(&other, "run-1", "waiting").await?;
    assert_eq!(post(&other, "/runs/run-1/cancel", &json!({})).await?.0, 202);
    until(&other, "run-1", "cancelled").await?;
    Ok(())
}

#[tokio::test]
async fn a_service_with_both_modes_starts_each_run_in_the_one_that_it_chooses() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = FakeModel::function(|_, _| text("Hello."));
    let (env, _) = workflows(&model).await?;
    let tasks = database.tasks(&model).await?;
    let runs = AgentRuns::new(env.client(), env.task_queue()).with_in_process(&tasks);
    let both = AgentsService::with_runs(runs.clone()).agents((super::support::clerk,)).into_router();
    let id = |name: &str| format!("{name}-{}", env.task_queue());
    for (name, mode) in [("w", "temporal"), ("t", "inprocess")] {
        let new = json!({"agent": "clerk", "input": "Hi.", "id": id(name), "mode": mode});
        assert_eq!(post(&both, "/runs", &new).await?.0, 201);
        let run = until(&both, &id(name), "completed").await?;
        assert_eq!((&run["mode"], &run["output"]), (&json!(mode), &json!("Hello.")));
    }
    // The same id is the same run, whatever the mode, with HTTP and without.
    let calls = model.calls().len();
    for (name, mode) in [("w", RunMode::InProcess), ("t", RunMode::Temporal)] {
        let again = NewRun::new(AgentRequest::new("clerk", "Hi.")).id(id(name)).mode(mode);
        assert_eq!(runs.start_run(again).await?, id(name));
        let run = until(&both, &id(name), "completed").await?;
        assert_ne!(run["mode"], serde_json::to_value(mode)?);
    }
    assert_eq!(model.calls().len(), calls);
    // A mode that the service does not have is refused.
    let only = service(&tasks);
    let new = json!({"agent": "clerk", "input": "Hi.", "mode": "temporal"});
    assert_eq!(post(&only, "/runs", &new).await?.0, 400);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn questions_expire_also_in_the_process_that_takes_the_run_over(
    #[values(true, false)] is_taken_over: bool,
) -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let tasks = async |model: &FakeModel| {
        let late = Decision::reject_with("Nobody was there.");
        let config = RunConfig::builder().questions_expire(Duration::from_secs(3), late).build();
        let store = SqlStore::connect(&database.url).await?;
        anyhow::Ok(InProcessRuns::new(store, set().config(config), model.clone()).lease(Duration::from_secs(2)))
    };
    let first = tasks(&pays()).await?;
    let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": "run-1"});
    post(&service(&first), "/runs", &new).await?;
    let run = until(&service(&first), "run-1", "waiting").await?;
    assert!(run["questions"][0]["expires_at"].is_u64(), "{run}");
    let after = FakeModel::script([text("You have no money.")]);
    // The process that was stopped still exists.
    let other = if is_taken_over {
        first.shutdown(Duration::ZERO).await;
        Some(tasks(&after).await?)
    } else {
        None
    };
    let last = service(other.as_ref().unwrap_or(&first));
    until(&last, "run-1", "completed").await?;
    let events = events(&last, "run-1", "?deltas=false").await?;
    let decided: Vec<_> = events.iter().filter(|event| event["kind"] == "question_decided").collect();
    assert_eq!(decided.len(), 1, "{events:#?}");
    assert_eq!(decided[0]["by"], "expired");
    Ok(())
}

/// The run waits, its agent changes, and another process takes it over.
#[tokio::test]
async fn agents_as_data_run_in_processes_as_they_were_recorded() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let store = SqlStore::connect(&database.url).await?;
    let desk =
        |instructions: &str| json!({"name": "desk", "model": "gpt-5", "instructions": instructions, "tools": ["pay"]});
    store.put("desk", &desk("You pay."), 0, None).await?;
    let replica = async |model: &FakeModel| {
        let parts = SpecParts::new().tool(super::support::pay.needs_approval());
        let resources = Resources::new().model_provider(model.clone()).agent_store(store.clone());
        let tasks = InProcessRuns::new(SqlStore::connect(&database.url).await?, set().specs(parts), resources);
        let service = AgentsService::with_runs(AgentRuns::in_process(&tasks)).agent_store(store.clone()).into_router();
        anyhow::Ok((tasks, service))
    };
    let (owner, service) = replica(&FakeModel::script([tool_call("pay", json!({"amount": 40}))])).await?;
    let run = json!({"spec": {"name": "desk"}, "input": "Pay me 40.", "id": "run-1"});
    assert_eq!(post(&service, "/runs", &run).await?.0, 201);
    assert_eq!(post(&service, "/runs", &json!({"spec": {"name": "desk"}, "chat": true, "id": "chat-1"})).await?.0, 201);
    let run = until(&service, "run-1", "waiting").await?;
    assert_eq!(run["agent"], "desk");
    store.put("desk", &desk("You refuse."), 1, None).await?;
    owner.shutdown(Duration::ZERO).await;
    let model = FakeModel::script([text("You have your money."), text("Good morning.")]);
    let (_other, service) = replica(&model).await?;
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    assert_eq!(post(&service, "/runs/run-1/decisions", &decision).await?.0, 200);
    assert_eq!(until(&service, "run-1", "completed").await?["output"], "You have your money.");
    assert_eq!(post(&service, "/runs/chat-1/messages", &json!({"text": "Hi.", "id": "m1"})).await?.0, 202);
    super::support::first(&service, "/runs/chat-1/events", "run_finished").await?;
    let instructions: Vec<_> = model.calls().iter().map(|call| call.definitions.instructions.clone()).collect();
    assert_eq!(instructions, [Some("You pay.".to_owned()), Some("You pay.".to_owned())]);
    Ok(())
}

#[tokio::test]
async fn edited_arguments_are_checked_before_they_are_sent() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let service = database.replica(&pays()).await?;
    post(&service, "/runs", &json!({"agent": "clerk", "input": "Pay me 40.", "id": "run-1"})).await?;
    let run = until(&service, "run-1", "waiting").await?;
    let question = &run["questions"][0]["question_id"];
    let decide = async |arguments: Value| {
        let decision = json!({"question_id": question, "approved": true, "arguments": arguments});
        post(&service, "/runs/run-1/decisions", &decision).await
    };
    let (status, refused) = decide(json!({"amount": "lots"})).await?;
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (422, &json!("invalid_arguments")));
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("amount") && message.contains("pay") && !message.contains("lots"), "{message}");
    assert_eq!(decide(json!({"amount": 30})).await?.0, 200);
    until(&service, "run-1", "completed").await?;
    let events = events(&service, "run-1", "?deltas=false").await?;
    let output = events.iter().find(|event| event["kind"] == "tool_output").expect("an output");
    assert!(output.to_string().contains("paid 30"), "{output}");
    Ok(())
}
