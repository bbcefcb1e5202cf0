//! Runs in workflows whose sessions are in a database.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    store::{Session, SqlStore},
    wire::Item,
};
use temporal_agents_testing::{
    FakeModel, PostgresServer,
    fake_model::{text, tool_call},
};

use crate::{
    databases::Kind,
    examples::{Cache, histories},
    held_model::HeldModel,
    stored_sessions::Shop,
    support::{Stock, clerk},
};

fn asks(question: &str, limit: Option<u32>) -> (String, String, Option<u32>) {
    ("shop".to_owned(), question.to_owned(), limit)
}

/// Text, output or kind of each item of the customer's session.
async fn kept(store: &SqlStore) -> anyhow::Result<Vec<String>> {
    let content = |item: &Item| match (item.text(), item.get("output")) {
        (Some(text), _) => text,
        (None, Some(output)) => output.as_str().unwrap_or_default().to_owned(),
        (None, None) => item.kind().to_owned(),
    };
    let items = store.items("customer 7", None).await.map_err(|error| anyhow::anyhow!(error))?;
    Ok(items.iter().map(content).collect())
}

#[rstest]
#[tokio::test]
async fn a_conversation_goes_on_in_the_next_run(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let database = kind.create().await?;
    let store = SqlStore::connect(&database.url).await?;
    let answers = [tool_call("stock_of", json!({"product": "bolt"})), text("There are 3."), text("I said 3.")];
    let model = FakeModel::script(answers);
    let builder = cache.environment::<Shop>()?.model(&model).state(Stock(3)).agents((clerk,));
    let env = builder.session_store("shop", store.clone()).start().await?;
    let first = env.run(Shop::run, asks("How many bolts?", None)).await?;
    histories::<Shop>(&env, &first.workflow_id).await?;
    assert_eq!(first.output()?, "There are 3.");
    let second = env.run(Shop::run, asks("How many?", Some(2))).await?;
    histories::<Shop>(&env, &second.workflow_id).await?;
    assert_eq!(second.output()?, "I said 3.");
    let heard: Vec<_> = model.calls().pop().expect("it was asked").input.iter().filter_map(Item::text).collect();
    assert_eq!(heard, ["There are 3.", "How many?"], "an output without its call is not sent");
    let said = ["How many bolts?", "function_call", "3", "There are 3.", "How many?", "I said 3."];
    assert_eq!(kept(&store).await?, said);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_waits_for_a_database_that_was_killed(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let mut server = PostgresServer::start().await?;
    let store = SqlStore::connect(&server.url("postgres")).await?;
    let script = FakeModel::script([text("There are 3.")]);
    let model = HeldModel::new(&script);
    let builder = cache.environment::<Shop>()?.model_provider(model.clone()).state(Stock(3)).agents((clerk,));
    let env = builder.session_store("shop", store.clone()).start().await?;
    let started = env.start_workflow(Shop::run, asks("How many bolts?", None)).await?;
    model.asked().await?;
    server.kill();
    model.answer();
    server.restart().await?;
    let run = env.await_run(&started).await?;
    histories::<Shop>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, "There are 3.");
    assert_eq!(kept(&store).await?, ["How many bolts?", "There are 3."]);
    env.finish().await?;
    Ok(())
}
