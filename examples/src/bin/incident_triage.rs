//! Triages an incident inside one activity, with an MCP server and the consent of the person on call.

use clap::Parser;
use temporal_agents::{Resources, inline::InlineRunner, provider::OpenAi, workflow::ApprovalWorkflow};
use temporal_agents_examples::{
    incident_triage::{Incident, OnCall, Page, SERVER, model, operations},
    stage::{Options, Stage, model::has_key},
};
use temporal_agents_testing::AgentEnvironment;

/// Triages an incident inside one activity.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { options } = Arguments::parse();
    let resources = Resources::new().mcp_server(SERVER, operations::transport());
    let resources = if has_key() {
        resources.model_provider(OpenAi::from_env()?)
    } else {
        resources.model_provider(model::scripted())
    };
    let runner = InlineRunner::new(resources);
    let env = AgentEnvironment::builder().workflow::<ApprovalWorkflow>()?.worker_options(move |options| {
        options.register_activities(OnCall { runner });
    });
    let stage = Stage::set_with::<Incident>(options, env, model::scripted()).await?;
    let page = Page { service: "checkout".to_owned(), alert: "one order in five fails".to_owned() };
    println!("The workflow calls one activity, which looks for the cause and then waits for the person on call ...");
    let incident = stage.start(Incident::run, page).await?;
    let report = stage.finish_approving(incident).await?;
    println!("\n{:?}: {}. {}.", report.conclusion.severity, report.conclusion.cause, report.conclusion.done);
    for finding in report.findings {
        println!("- {}", finding.fact);
    }
    stage.clear().await
}
