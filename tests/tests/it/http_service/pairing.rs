//! Messages and the runs that answer them, over many executions of a chat and at a new replica.

use serde_json::{Value, json};
use temporal_agents::{client::ChatHandle, http::AgentsService, wire::ChatOutcome};
use temporal_agents_testing::{AgentEnvironment, FakeModel, fake_model::text};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, NamespacedClient, UntypedUpdate, WorkflowExecuteUpdateOptions,
};
use temporalio_common::{UntypedWorkflow, data_converters::PayloadConverter};

use super::{clerk, environment, find, raw, replica, request, stream, written};
use crate::gateway::Gateway;

fn message(run: &str, words: &str) -> Value {
    let messages = json!([{"id": run, "role": "user", "content": words}]);
    json!({"threadId": "t", "runId": run, "messages": messages, "tools": [], "context": []})
}

/// The text of the answer to a message, as a replica that has just begun finds it.
async fn answer(env: &AgentEnvironment, run: &str, words: &str) -> anyhow::Result<Value> {
    let events = stream(&replica(env), request("POST", "/agui/clerk", Some(&message(run, words)))).await?;
    let deltas = find(&events, "TEXT_MESSAGE_CONTENT");
    assert!(!deltas.is_empty(), "{events:?}");
    Ok(deltas.iter().filter_map(|event| event["delta"].as_str()).collect::<String>().into())
}

#[tokio::test]
async fn messages_without_an_id_and_repeated_ones_do_not_shift_later_answers() -> anyhow::Result<()> {
    let replies: Vec<_> = (0..8).map(|number| text(format!("answer {number}"))).collect();
    let env = environment(FakeModel::script(replies), true).await?;
    assert_eq!(answer(&env, "r0", "zero").await?, "answer 0");
    let chat = env.client().get_workflow_handle::<UntypedWorkflow>("clerk:t");
    for number in 1..4 {
        // A message as a person writes it by hand: it has no id.
        let sent = json!({"text": format!("without an id {number}")});
        let update = UntypedUpdate::new("chat_send");
        let reply = chat.execute_update(update, raw(&sent), WorkflowExecuteUpdateOptions::default()).await?;
        let reply: Value = reply.to_value(&PayloadConverter::default());
        assert_eq!(reply["message"], format!("#{}", number + 1));
        // An old one again, to the execution that has taken over.
        assert_eq!(answer(&env, "r0", "zero").await?, "answer 0");
    }
    assert_eq!(answer(&env, "r4", "four").await?, "answer 4");
    assert_eq!(answer(&env, "r5", "five").await?, "answer 5");
    assert_eq!(answer(&env, "r4", "four").await?, "answer 4");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_message_that_the_chat_has_forgotten_is_answered_again_and_shifts_nothing() -> anyhow::Result<()> {
    // The chat remembers 100 replies.
    let replies: Vec<_> = (0..104).map(|number| text(format!("answer {number}"))).collect();
    let env = environment(FakeModel::script(replies), false).await?;
    let chat = ChatHandle::new(env.client(), "clerk:t");
    assert_eq!(answer(&env, "r0", "zero").await?, "answer 0");
    for number in 1..=100 {
        let reply = chat.send_as(format!("r{number}"), format!("message {number}")).await?;
        assert!(matches!(reply.outcome, ChatOutcome::Answered { .. }), "{reply:?}");
    }
    let again = chat.send_as("r0", "zero").await?;
    assert_eq!(again.outcome, ChatOutcome::Answered { output: json!("answer 101") });
    assert_eq!(answer(&env, "r102", "the next one").await?, "answer 102");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_first_request_at_a_new_replica_does_not_read_the_whole_chat() -> anyhow::Result<()> {
    let replies: Vec<_> = (0..14).map(|number| text(format!("answer {number}"))).collect();
    // Each message begins with an execution of its own.
    let env = environment(FakeModel::script(replies), true).await?;
    for number in 0..12 {
        assert_eq!(answer(&env, &format!("r{number}"), "hi").await?, format!("answer {number}"));
    }
    let gateway = Gateway::counting(env.server().address().to_owned()).await?;
    let connection =
        Connection::connect(ConnectionOptions::new(gateway.url().parse::<temporalio_client::Url>()?).build()).await?;
    let client = Client::new(connection, ClientOptions::new(env.client().namespace()).build())?;
    let service = AgentsService::new(&client, env.task_queue()).agents((clerk,)).into_router();
    let events = stream(&service, request("POST", "/agui/clerk", Some(&message("r12", "hi")))).await?;
    assert_eq!(written(&events, "TEXT_MESSAGE_CONTENT"), "answer 12");
    let pages = gateway.calls("GetWorkflowExecutionHistory");
    assert!(pages < 12, "{pages} pages of the histories of more than 12 executions");
    env.finish().await?;
    Ok(())
}
