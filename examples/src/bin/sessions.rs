//! Chats with a library, across continue-as-new.

use temporal_agents::run::MemorySession;
use temporal_agents_examples::{
    sessions::{Chat, librarian, model},
    stage::Stage,
};
use temporalio_client::{WorkflowExecuteUpdateOptions, WorkflowSignalOptions};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stage = Stage::set::<Chat>((librarian,), model::scripted()).await?;
    let mut chat = stage.start(Chat::run, MemorySession::default()).await?;
    for question in model::QUESTIONS {
        println!("\n> {question}\n");
        chat.handle.execute_update(Chat::ask, question.to_owned(), WorkflowExecuteUpdateOptions::default()).await?;
        stage.look(&mut chat).await?;
    }
    chat.handle.signal(Chat::leave, (), WorkflowSignalOptions::default()).await?;
    let items = stage.finish(chat).await?;
    println!("\nThe reader has left. The session holds {items} items.");
    stage.clear().await
}
