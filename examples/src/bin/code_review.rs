//! Reviews a pull request inside one activity of a workflow without any agent code, and approves
//! the comment.

use clap::Parser;
use temporal_agents::{Resources, inline::InlineRunner, provider::OpenAi, workflow::ApprovalWorkflow};
use temporal_agents_examples::{
    code_review::{
        Forge, model,
        session::{PullRequest, Reviews},
    },
    stage::{Options, Stage, model::has_key},
};
use temporal_agents_testing::AgentEnvironment;

/// Reviews a pull request inside one activity.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { options } = Arguments::parse();
    let forge = Forge::new();
    let resources = Resources::new().state(forge.clone());
    let resources = if has_key() {
        resources.model_provider(OpenAi::from_env()?)
    } else {
        resources.model_provider(model::scripted())
    };
    let runner = InlineRunner::new(resources);
    let env = AgentEnvironment::builder().workflow::<ApprovalWorkflow>()?.worker_options(move |options| {
        options.register_activities(Reviews { runner });
    });
    let stage = Stage::set_with::<PullRequest>(options, env, model::scripted()).await?;
    let request = stage.start(PullRequest::run, forge.changed()).await?;
    println!("\nThe workflow calls one activity, which reads the files and then waits for somebody ...");
    println!("\n{}", stage.finish_approving(request).await?);
    println!("Comments: {:?}", forge.comments());
    stage.clear().await
}
