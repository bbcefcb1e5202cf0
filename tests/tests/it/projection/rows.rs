//! Rows beside histories, in both databases.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::{AgentHandle, AgentRuns, ChatHandle, NewRun},
    projection::Projector,
    wire::{AgentRequest, ChatRequest},
    workflow::AgentWorkflow,
};
use temporal_agents_testing::AgentEnvironment;
use temporalio_client::{WorkflowCancelOptions, WorkflowStartOptions, WorkflowTerminateOptions};

use super::support::{Database, Running, Stored, delete, environment, facts};
use crate::databases::Kind;

/// Starts a run of the clerk, and returns its id.
async fn start(env: &AgentEnvironment, id: &str, message: &str) -> anyhow::Result<String> {
    let runs = AgentRuns::new(env.client(), env.task_queue());
    Ok(runs.start_run(NewRun::new(AgentRequest::new("clerk", message)).id(id)).await?)
}

fn kind(run: &Stored, at: usize) -> &str {
    run.events[at]["kind"].as_str().unwrap_or_default()
}

#[rstest]
#[tokio::test]
async fn rows_are_what_the_histories_say(#[values(Kind::Sqlite, Kind::Postgres)] database: Kind) -> anyhow::Result<()> {
    let env = environment().await?;
    let database = Database::start(database).await?;
    let client = env.client();
    // Runs that the projector finds when it begins: one that has ended, one that waits, and a chat
    // in its second execution.
    let before = start(&env, "before", "Good morning!").await?;
    facts(client, &before).await?;
    for id in ["waits", "is cancelled", "is terminated", "is deleted"] {
        start(&env, id, "I want my money.").await?;
    }
    let runs = AgentRuns::new(client, env.task_queue());
    for id in ["chat", "terminated chat"] {
        runs.start_run(NewRun::chat(ChatRequest::new("clerk")).id(id)).await?;
        ChatHandle::new(client, id).send("one").await?;
    }
    let projector = Running::start(Projector::new(client, &database.store, env.task_queue()));

    let run = database.until("before", |run| run.status == "completed").await?;
    assert_eq!((run.agent.as_deref(), run.output), (Some("clerk"), Some(json!("You say: Good morning!"))));
    let messages = [("user", "Good morning!"), ("assistant", "You say: Good morning!")];
    assert_eq!(run.messages, messages.map(|(role, text)| (role.to_owned(), text.to_owned())));
    for id in ["waits", "is cancelled", "is terminated", "is deleted"] {
        let run = database.until(id, |run| run.status == "waiting").await?;
        assert_eq!((kind(&run, run.events.len() - 1), run.has_ended), ("run_paused", false));
    }

    // Runs that begin later, started by anybody.
    start(&env, "fails", "").await?;
    let options =
        WorkflowStartOptions::new(env.task_queue(), "times out").execution_timeout(std::time::Duration::from_secs(3));
    let request = AgentRequest::new("clerk", "I want my money.");
    client.start_workflow(AgentWorkflow::run, request, options.build()).await?;
    let waits = AgentHandle::new(client, "waits");
    let question = waits.state().await?.interruptions[0].id.clone();
    waits.approve(question).await?;
    let handle = |id: &str| client.get_workflow_handle::<AgentWorkflow>(id);
    handle("is cancelled").cancel(WorkflowCancelOptions::default()).await?;
    handle("is terminated").terminate(WorkflowTerminateOptions::builder().reason("enough").build()).await?;
    for number in ["two", "three"] {
        ChatHandle::new(client, "chat").send(number).await?;
    }
    ChatHandle::new(client, "chat").end().await?;
    handle("terminated chat").terminate(WorkflowTerminateOptions::default()).await?;
    for (id, status) in [
        ("before", "completed"),
        ("waits", "completed"),
        ("fails", "failed"),
        ("is cancelled", "cancelled"),
        ("is terminated", "terminated"),
        ("times out", "timed_out"),
        ("chat", "completed"),
        ("terminated chat", "terminated"),
    ] {
        let run = database.until(id, |run| run.has_ended).await?;
        assert_eq!((id, &*run.status), (id, status));
        assert_eq!(run.events, facts(client, id).await?, "{id}");
    }
    // A projector that runs may see that the server terminates the run before it deletes it.
    projector.stop().await?;
    let paused = database.until("is deleted", |run| run.status == "waiting").await?;
    delete(client, "is deleted").await?;
    let projector = Running::start(Projector::new(client, &database.store, env.task_queue()));
    let deleted = database.until("is deleted", |run| run.has_ended).await?;
    assert_eq!(deleted.status, "gone");
    let (last, earlier) = deleted.events.split_last().expect("events");
    assert_eq!((&last["kind"], earlier), (&json!("run_failed"), &paused.events[..]));
    let chat = database.run("chat").await?.expect("a row");
    let texts: Vec<&str> = chat.messages.iter().map(|(_, text)| &**text).collect();
    assert_eq!(texts, ["one", "You say: one", "two", "You say: two", "three", "You say: three"]);
    assert_eq!(database.count().await?, 9);
    projector.stop().await?;
    env.finish().await?;
    Ok(())
}
