//! Tools of MCP servers in a registry: those of a list that is called by hand, and those of the official Python package's server.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Map, Value, json};
use temporal_agents::{
    Agent, Resources, ToolDef, ToolError,
    inline::InlineRunner,
    mcp::McpTransport,
    tool::{McpServer, McpSessionOptions, ToolActivityOptions, ToolFailureKind},
    wire::McpTool,
    worker::{RegisterError, ToolRegistry},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use crate::mcp::support::By;

/// Two tools, one with nothing but a name.
pub(super) fn kept_list() -> Vec<ToolDef> {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let listed = json!([{"name": "read-file", "description": "Reads a file.", "inputSchema": path}, {"name": "ping"}]);
    let listed: Vec<McpTool> = serde_json::from_value(listed).expect("a list as servers write it");
    McpServer::named("papers").prefix("papers_").tools_with_client(&listed, |tool, arguments| async move {
        match tool.as_str() {
            "ping" => Ok("pong".into()),
            _ if arguments["path"] == "gone.txt" => Err(ToolError::tell_model("there is no such file")),
            tool => Ok(format!("{} with {}", tool.replace('-', " "), Value::Object(arguments)).into()),
        }
    })
}

#[tokio::test]
async fn descriptors_with_a_caller_really_call() -> anyhow::Result<()> {
    let registry = ToolRegistry::default().register_all(kept_list())?;
    assert_eq!(registry.dispatch("papers_ping", "").await?.text(), "pong");
    let read = registry.dispatch("papers_read-file", r#"{"path":"a.txt"}"#).await?;
    assert_eq!(read.text(), r#"read file with {"path":"a.txt"}"#);
    let gone = registry.dispatch("papers_read-file", r#"{"path":"gone.txt"}"#).await?;
    assert_eq!((gone.text().as_str(), gone.is_error()), ("there is no such file", true));
    let wrong = registry.dispatch("papers_read-file", "{}").await?;
    assert_eq!(wrong.failure.map(|failure| failure.kind), Some(ToolFailureKind::Arguments), "nobody was called");
    assert_eq!(
        registry.to_anthropic(),
        [
            json!({
                "name": "papers_read-file",
                "description": "Reads a file.",
                "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            }),
            json!({"name": "papers_ping", "description": "", "input_schema": {"type": "object", "properties": {}}}),
        ]
    );
    Ok(())
}

#[rstest]
#[tokio::test]
async fn the_tools_of_a_server_are_listed_and_called(#[values(By::Stdio, By::Http)] by: By) -> anyhow::Result<()> {
    let reached = by.reach();
    let workshop = McpServer::named("workshop")
        .only(["add", "broken", "pid", "seen_meta"])
        .meta(|_run, call| Map::from_iter([("trace".to_owned(), json!(format!("{} {}", call.agent, call.call_id)))]));
    let resources = Resources::new().mcp_server("workshop", reached.transport);
    let registry = ToolRegistry::new(resources).register_mcp(workshop).await?;
    let mut names: Vec<_> = registry.names().collect();
    names.sort_unstable();
    assert_eq!(names, ["add", "broken", "pid", "seen_meta"]);

    assert_eq!(registry.dispatch("add", r#"{"a": 3, "b": 4}"#).await?.text(), "7");
    assert_eq!(registry.dispatch("seen_meta", "{}").call_id("call_1").await?.text(), "registry call_1");
    let broken = registry.dispatch("broken", "{}").await?;
    let told = "Error executing tool broken: the saw is blunt";
    assert_eq!((broken.text().as_str(), broken.is_error()), (told, true));
    let wrong = registry.dispatch("add", r#"{"a": "three"}"#).await?;
    assert_eq!(wrong.failure.map(|failure| failure.kind), Some(ToolFailureKind::Arguments));
    let pids = [registry.dispatch("pid", "{}").await?.text(), registry.dispatch("pid", "{}").await?.text()];
    assert_eq!(pids[0], pids[1], "calls share a connection");

    let model = FakeModel::script([tool_call("add", json!({"a": 1, "b": 1})), text("done")]);
    let agent: Agent = Agent::new("smith").model("gpt-5").tools(registry.tools());
    let runner = InlineRunner::new(model.clone());
    runner.run(&agent, "Work.").await?;
    assert_eq!(model.calls()[1].input.last().and_then(|item| item.get("output").cloned()), Some(json!("2")));
    Ok(())
}

#[tokio::test]
async fn hosts_with_the_same_resources_have_connections_of_their_own() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pid", json!({})), text("done")]);
    let resources = Resources::new().model_provider(model.clone()).mcp_server("workshop", By::Stdio.reach().transport);
    let workshop = || McpServer::named("workshop").only(["pid"]);
    let registry = ToolRegistry::new(resources.clone()).register_mcp(workshop()).await?;
    let pid = registry.dispatch("pid", "{}").await?.text();
    let agent: Agent = Agent::new("smith").model("gpt-5").mcp_server(workshop());
    InlineRunner::new(resources).run(&agent, "Which process?").await?;
    let of_runner = model.calls()[1].input.last().and_then(|item| item.get("output").cloned());
    assert!(of_runner.is_some() && of_runner != Some(json!(pid)), "{of_runner:?}, and {pid} of the registry");
    Ok(())
}

#[tokio::test]
async fn two_servers_with_one_tool_name_need_a_prefix() -> anyhow::Result<()> {
    let workshop = || McpServer::named("workshop").only(["add"]);
    let resources = Resources::new().mcp_server("workshop", By::Stdio.reach().transport);
    let mut registry = ToolRegistry::new(resources).register_mcp(workshop()).await?;
    let error = registry.add_mcp(workshop()).await.unwrap_err();
    assert!(matches!(&error, RegisterError::Duplicate { tool } if tool == "add"), "{error}");
    registry.add_mcp(workshop().prefix("other_")).await?;
    assert_eq!(registry.names().collect::<Vec<_>>(), ["add", "other_add"]);
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_named() {
    let once = ToolActivityOptions::builder().attempts(2).build();
    let server = McpServer::named("workshop").list_options(once);
    let nowhere = McpTransport::stdio("/nowhere/no-such-program", [""; 0]);
    let registry =
        ToolRegistry::new(Resources::new().mcp_server("workshop", nowhere)).first_pause(Duration::from_millis(1));
    let error = registry.register_mcp(server.clone()).await.unwrap_err();
    assert!(error.to_string().starts_with("MCP server \"workshop\" did not list its tools: "), "{error}");
    let error = ToolRegistry::default().register_mcp(server).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the registry has no connection to MCP server \"workshop\"; add Resources::mcp_server(\"workshop\", \
         McpTransport::..)"
    );
}

#[tokio::test]
async fn a_server_that_needs_a_run_is_refused() {
    let told = async |server| {
        let registered = ToolRegistry::default().register_mcp(server).await;
        registered.unwrap_err().to_string()
    };
    let advice = ", which needs a run; add the server to an agent with Agent::mcp_server, or remove that term";
    assert_eq!(
        told(McpServer::named("shop").stateful(McpSessionOptions::new())).await,
        format!("MCP server \"shop\" keeps a state for each connection{advice}")
    );
    assert_eq!(
        told(McpServer::named("shop").allow_elicitation()).await,
        format!("MCP server \"shop\" may request input from people{advice}")
    );
}
