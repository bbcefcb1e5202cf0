//! Answers a question with two providers: the second one continues after an outage of the first.

use std::{sync::atomic::Ordering, time::Duration};

use clap::Parser;
use temporal_agents::{
    Resources,
    inline::InlineRunner,
    provider::{Genai, OpenAi},
};
use temporal_agents_examples::{
    provider_switch::{Desk, Lookups, MODELS, Question, model},
    stage::{
        Options, Stage,
        model::{CHUNK_PAUSE, has_key},
    },
};
use temporal_agents_testing::AgentEnvironment;

/// Answers a question with two providers. With OPENAI_API_KEY and ANTHROPIC_API_KEY both are real,
/// and the second one is called only if the first one has an outage.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { options } = Arguments::parse();
    let lookups = Lookups::default();
    let resources = Resources::new().state(lookups.clone());
    let resources = if has_key() {
        resources.model_provider(Genai::from_env()?).model_provider(OpenAi::from_env()?)
    } else {
        resources.model_provider(model::scripted().chunk_pause(CHUNK_PAUSE))
    };
    let runner = InlineRunner::new(resources).first_pause(Duration::from_millis(100));
    let env = AgentEnvironment::builder().worker_options(move |options| {
        options.register_activities(Desk { runner });
    });
    let stage = Stage::set_with::<Question>(options, env, model::scripted()).await?;
    println!("\n> Where is my parcel NO-71?\n");
    println!("{} looks it up; then it has an outage, and {} continues ...", MODELS[0], MODELS[1]);
    let answer = stage.run(Question::run, "Where is my parcel NO-71?".to_owned()).await?;
    println!("\n{answer}\nThe parcel was looked up {} time(s).", lookups.0.load(Ordering::Relaxed));
    stage.clear().await
}
