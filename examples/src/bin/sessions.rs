//! Chats with a library, across continue-as-new.

use temporal_agents::{run::MemorySession, wire::EventKind};
use temporal_agents_examples::{
    sessions::{Chat, librarian, model},
    stage::Stage,
};
use temporalio_client::{WorkflowDescribeOptions, WorkflowExecuteUpdateOptions, WorkflowSignalOptions};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stage = Stage::set::<Chat>((librarian,), model::scripted()).await?;
    let mut chat = stage.start(Chat::run, MemorySession::default()).await?;
    let mut execution = String::new();
    for question in model::QUESTIONS {
        let described = chat.handle.describe(WorkflowDescribeOptions::default()).await?;
        if !execution.is_empty() && described.run_id() != execution {
            println!("~ continues as new: a fresh history, the same conversation");
        }
        described.run_id().clone_into(&mut execution);
        println!();
        chat.handle.execute_update(Chat::ask, question.to_owned(), WorkflowExecuteUpdateOptions::default()).await?;
        stage.look_until(&mut chat, EventKind::ends_the_run).await?;
    }
    chat.handle.signal(Chat::leave, (), WorkflowSignalOptions::default()).await?;
    let items = stage.finish(chat).await?;
    println!("\nThe reader has left. The session holds {items} items.");
    stage.clear().await
}
