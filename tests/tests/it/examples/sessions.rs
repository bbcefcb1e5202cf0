//! Three exchanges in two histories.

use rstest::rstest;
use temporal_agents::{run::MemorySession, wire::Item};
use temporal_agents_examples::sessions::{Chat, librarian, model};
use temporalio_client::{WorkflowExecuteUpdateOptions, WorkflowHandle, WorkflowSignalOptions};

use super::{Cache, Played, histories};

/// The answers, and the number of items that the session held at the end.
type Outcome = (Vec<String>, usize);

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Outcome>> {
    let model = model::scripted();
    let env = cache.environment::<Chat>()?.agents((librarian,)).model(&model).start().await?;
    let first = env.start_workflow(Chat::run, MemorySession::default()).await?;
    // Without a run id: the chat is where its latest run is.
    let chat: WorkflowHandle<_, Chat> = env.client().get_workflow_handle(&*first.info().workflow_id);
    let mut answers = Vec::new();
    for question in model::QUESTIONS {
        let options = WorkflowExecuteUpdateOptions::default();
        answers.push(chat.execute_update(Chat::ask, question.to_owned(), options).await?);
    }
    chat.signal(Chat::leave, (), WorkflowSignalOptions::default()).await?;
    let finished = env.await_run(&chat).await?;
    let histories = histories::<Chat>(&env, &finished.workflow_id).await?;
    let items = finished.output()?;
    env.finish().await?;
    Ok(Played { output: (answers, items), histories, calls: model.calls() })
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn the_conversation_goes_on_after_continue_as_new(#[case] cache: Cache) -> anyhow::Result<()> {
    let played = played(cache).await?;
    let answers = [
        "Two: The Summer Book by Tove Jansson, and The Outrun by Amy Liptrot.",
        "The Summer Book: 170 pages.",
        "The Summer Book is on shelf 12 for you, until Saturday.",
    ];
    assert_eq!(played.output, (answers.map(str::to_owned).to_vec(), 10));
    assert_eq!(played.histories.len(), 2);
    let heard: Vec<_> = played.calls[3].input.iter().filter_map(Item::text).collect();
    assert_eq!(heard, [model::QUESTIONS[0], answers[0], model::QUESTIONS[1], answers[1], model::QUESTIONS[2]]);
    let (model, tool) = ("agents.call_model", "agents.tool");
    let expected = [model, &format!("{tool}.find_books"), model, model, model, &format!("{tool}.reserve"), model];
    assert_eq!(played.activities(), expected);
    Ok(())
}
