//! Files a letter as a ticket: an agent whose answer is a value of a Rust type.

use temporal_agents_examples::{
    stage::Stage,
    structured_output::{Filed, Mail, mail_clerk, model},
};

const LETTER: &str = "Dear shop, of the six cups you sent me (A-1042) two came in pieces, and I do not see the tea towel. \
                      Otherwise very pretty. E. Lind";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stage = Stage::set::<Mail>((mail_clerk,), model::scripted()).await?;
    println!();
    let Filed { ticket, desk, days } = stage.run(Mail::run, LETTER.to_owned()).await?;
    println!("\nFiled at the {desk}, to be answered within {days} days:\n{ticket:#?}");
    stage.clear().await
}
