//! Sends five questions to a bank's chat, four of which it must not answer.

use temporal_agents_examples::{
    guardrails::{BankChat, Reply, model, teller},
    stage::Stage,
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stage = Stage::set::<BankChat>((teller,), model::scripted()).await?;
    for (index, question) in model::QUESTIONS.into_iter().enumerate() {
        println!("\nQuestion {}: {question}\n", index + 1);
        match stage.run(BankChat::run, question.to_owned()).await? {
            Reply::Answer(text) => println!("Answered: {text}"),
            Reply::Declined { guardrail, info } => println!("Declined by {guardrail}: {info}"),
            Reply::Withheld { guardrail } => println!("The answer was withheld by {guardrail}."),
        }
    }
    stage.clear().await
}
