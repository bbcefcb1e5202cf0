//! Servers whose lists and documents have no end.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Resources,
    inline::InlineRunner,
    tool::{McpServer, ToolActivityOptions},
    workflow::McpHandle,
};
use temporal_agents_testing::{AgentEnvironment, FakeModel};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{
    answering::{Answer, AnsweringServer, Asked},
    support::smith,
};

/// What is on each page of the list of tools.
#[derive(Clone, Copy)]
enum Page {
    TenTools,
    Nothing,
    ToolOfManyBytes,
    CursorOfManyBytes,
}

fn page(page: Page, at: usize) -> Value {
    let tool = |name: String, description: &str| json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
    let next = format!("page {}", at + 1);
    match page {
        Page::TenTools => {
            let tools: Vec<_> = (0..10).map(|tool_at| tool(format!("tool_{at}_{tool_at}"), "")).collect();
            json!({"tools": tools, "nextCursor": next})
        }
        Page::Nothing => json!({"tools": [], "nextCursor": next}),
        Page::ToolOfManyBytes => {
            json!({"tools": [tool(format!("tool_{at}"), &"x".repeat(700_000))], "nextCursor": next})
        }
        Page::CursorOfManyBytes => json!({"tools": [], "nextCursor": format!("{next}{}", "x".repeat(700_000))}),
    }
}

#[rstest]
#[case::tools(Page::TenTools, 101, "lists more than 1000 tools")]
#[case::pages(Page::Nothing, 1_000, "lists tools on more than 1000 pages")]
#[case::bytes(Page::ToolOfManyBytes, 3, "lists tools of more than 2.00 MB")]
#[case::cursors(Page::CursorOfManyBytes, 3, "lists tools of more than 2.00 MB")]
#[tokio::test]
async fn a_list_of_tools_without_an_end_is_given_up_at_a_limit(
    #[case] kind: Page,
    #[case] asked_for: usize,
    #[case] told: &str,
) -> anyhow::Result<()> {
    let pages = Arc::new(AtomicUsize::new(0));
    let of_server = Arc::clone(&pages);
    let server = AnsweringServer::start(move |asked: Asked| {
        let answer = match &*asked.method {
            "initialize" => Answer::Session("one".to_owned()),
            "tools/list" => Answer::Result(page(kind, of_server.fetch_add(1, Ordering::SeqCst))),
            _ => Answer::Refusal("not here".to_owned()),
        };
        async move { answer }
    })
    .await?;
    let resources = Resources::new().model_provider(FakeModel::script([])).mcp_server("workshop", server.transport());
    let runner = InlineRunner::new(resources);
    let options = ToolActivityOptions::builder().attempts(2).build();
    let agent = smith(McpServer::named("workshop").list_options(options));
    let failure = runner.run(&agent, "Work.").await.expect_err("there are too many");
    let (error, chain) = (failure.error.to_string(), format!("{:?}", failure.error));
    assert!(error.contains("MCP server \"workshop\"") && (error.contains(told) || chain.contains(told)), "{chain}");
    assert_eq!(pages.load(Ordering::SeqCst), asked_for);
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Librarian;

#[workflow_methods]
impl Librarian {
    #[run(name = "librarian")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Vec<String>> {
        let library = McpHandle::new(ctx, McpServer::named("library"));
        let no_arguments = serde_json::Map::new();
        Ok(vec![
            library.list_resources().await.expect_err("no end").to_string(),
            library.list_resource_templates().await.expect_err("no end").to_string(),
            library.list_prompts().await.expect_err("no end").to_string(),
            library.read_resource("book://all").await.expect_err("too long").to_string(),
            library.get_prompt("epic", no_arguments).await.expect_err("too long").to_string(),
        ])
    }
}

#[tokio::test]
async fn what_is_too_large_for_history_fails_at_once_and_names_server_and_limit() -> anyhow::Result<()> {
    let server = AnsweringServer::start(|asked: Asked| {
        let next = asked.params["cursor"].as_str().map_or(0, str::len) + 1;
        let many = |item: Value| vec![item; 500];
        let paged = |name: &str, item: Value| Answer::Result(json!({name: many(item), "nextCursor": "x".repeat(next)}));
        let long = "x".repeat(2_100_000);
        let answer = match &*asked.method {
            "initialize" => Answer::Session("one".to_owned()),
            "resources/list" => paged("resources", json!({"uri": "book://a", "name": "a"})),
            "resources/templates/list" => paged("resourceTemplates", json!({"uriTemplate": "book://{a}", "name": "a"})),
            "prompts/list" => paged("prompts", json!({"name": "a"})),
            "resources/read" => Answer::Result(json!({"contents": [{"uri": "book://all", "text": long}]})),
            "prompts/get" => {
                Answer::Result(json!({"messages": [{"role": "user", "content": {"type": "text", "text": long}}]}))
            }
            _ => Answer::Refusal("not here".to_owned()),
        };
        async move { answer }
    })
    .await?;
    let builder = AgentEnvironment::builder().workflow::<Librarian>()?;
    let env = builder.mcp_server("library", server.transport()).start().await?;
    let run = env.run(Librarian::run, ()).await?;
    assert!(run.activities().iter().all(|activity| activity.attempts == 1), "{:?}", run.activities());
    let told = run.output()?;
    let expected = [
        "MCP server \"library\" lists more than 10000 resources",
        "MCP server \"library\" lists more than 10000 resourceTemplates",
        "MCP server \"library\" lists more than 10000 prompts",
        "MCP server \"library\" responds to read_resource with more than 2.00 MB",
        "MCP server \"library\" responds to get_prompt with more than 2.00 MB",
    ];
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{told}");
    }
    env.finish().await?;
    Ok(())
}
