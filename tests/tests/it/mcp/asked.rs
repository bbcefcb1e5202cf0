//! Prompts and resources, asked for by a workflow itself.

use rstest::rstest;
use serde_json::{Map, Value, json};
use temporal_agents::{tool::McpServer, workflow::McpHandle};
use temporal_agents_testing::AgentEnvironment;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::support::{By, activities, done};
use crate::examples::{Cache, Played};

#[workflow]
#[derive(Default)]
pub(crate) struct Reader;

#[workflow_methods]
impl Reader {
    #[run(name = "reader")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, name: String) -> WorkflowResult<Vec<Value>> {
        let server = McpHandle::new(ctx, McpServer::named("workshop"));
        let arguments = Map::from_iter([("name".to_owned(), json!(name))]);
        Ok(vec![
            server.list_prompts().await?["prompts"][0]["name"].clone(),
            server.get_prompt("greeting", arguments).await?["messages"].clone(),
            server.list_resources().await?["resources"][0]["uri"].clone(),
            server.list_resource_templates().await?["resourceTemplates"][0]["uriTemplate"].clone(),
            server.read_resource("rules://room/attic").await?["contents"][0]["text"].clone(),
            json!(server.list_tools().await?[0].name),
            json!(server.read_resource("rules://nowhere").await.expect_err("there is none").to_string()),
        ])
    }
}

/// Plays the run whose history is golden.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<Vec<Value>>> {
    let env = cache.environment::<Reader>()?.mcp_server("workshop", By::Stdio.reach().transport).start().await?;
    let run = env.run(Reader::run, "Ada".to_owned()).await?;
    let histories = vec![run.history.clone()];
    env.finish().await?;
    Ok(Played { output: run.output()?, histories, calls: Vec::new() })
}

#[rstest]
#[tokio::test]
async fn a_workflow_asks_for_prompts_and_resources(
    #[values(By::Stdio, By::Http)] by: By,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let reached = by.reach();
    let builder = AgentEnvironment::builder().workflow::<Reader>()?.mcp_server("workshop", reached.transport);
    let env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    let run = env.run(Reader::run, "Ada".to_owned()).await?;
    let asked =
        ["list_prompts", "get_prompt", "list_resources", "list_resource_templates", "read_resource", "list_tools"];
    let mut expected: Vec<_> =
        asked.iter().map(|operation| done(&format!("agents.mcp.workshop.{operation}"))).collect();
    let mut refused = done("agents.mcp.workshop.read_resource");
    refused.2 = temporal_agents_testing::environment::ActivityOutcome::Failed("McpError.Refused".to_owned());
    expected.push(refused);
    assert_eq!(activities(&run), expected);
    let told = run.output()?;
    assert_eq!(
        told[..6],
        [
            json!("greeting"),
            json!([{"role": "user", "content": {"type": "text", "text": "Say hello to Ada."}}]),
            json!("rules://house"),
            json!("rules://room/{room}"),
            json!("Knock at attic."),
            json!("add"),
        ]
    );
    let refusal = told[6].as_str().unwrap_or_default();
    assert!(refusal.starts_with("MCP server \"workshop\" did not read_resource: "), "{refusal}");
    env.finish().await?;
    Ok(())
}
