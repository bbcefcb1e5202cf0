//! Runs that a session with the checkpoints of the ToolRegistry/AgenticSession proposal refuses,
//! because another attempt could not continue them from such a checkpoint without harm.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, RunConfig,
    agentic_session::{AgenticSession, CheckpointFormat::ProposalString, MessageDialect::Anthropic},
    inline::InlineRunner,
    mcp::McpTransport,
    run::MemorySession,
    tool,
    tool::{McpServer, ToolActivityOptions},
};
use temporal_agents_testing::{
    FakeModel, SessionEnvironment,
    fake_model::{text, tool_call},
};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, split};

use super::Desk;

/// Pays.
#[tool(idempotent = false)]
async fn pay() -> String {
    "paid".to_owned()
}

/// A session that begins these runs, one after another, and answers with the text of the last one's error.
async fn refused(runs: Vec<(Agent, RunConfig)>) -> String {
    let resources = Resources::new()
        .model_provider(FakeModel::function(
            |call, _| if call.turn == 1 { tool_call("saw", json!({})) } else { text("done") },
        ))
        .mcp_server("workshop", workshop());
    let runs = Arc::new(runs);
    let desk = Desk::new(move |ctx, _| {
        let (resources, runs) = (resources.clone(), Arc::clone(&runs));
        async move {
            let body = async |session: AgenticSession| {
                let mut answer = Value::Null;
                for (agent, config) in &*runs {
                    let inline = InlineRunner::with_config(resources.clone(), config.clone());
                    let ended = session.runner(&inline).run(agent, "Begin.").await;
                    answer = ended.map_or_else(|failure| failure.to_string(), |result| result.final_output).into();
                }
                Ok(answer)
            };
            AgenticSession::options().checkpoint_format(ProposalString(Anthropic)).run(&ctx, body).await
        }
    });
    let env = SessionEnvironment::new().register_activities(move || desk.clone());
    let answer = env.attempt().run(Desk::work, Value::Null).await.result.expect("the body ends well");
    answer.as_str().unwrap_or_default().to_owned()
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5")
}

/// The workshop, whose server says that its only tool must not run twice.
fn workshop() -> McpTransport {
    McpTransport::in_process(|| {
        let (client, server) = tokio::io::duplex(64 * 1024);
        tokio::spawn(serve(server));
        client
    })
}

async fn serve(stream: impl AsyncRead + AsyncWrite) -> std::io::Result<()> {
    let (read, mut write) = split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        // What has no id is a notification, and wants no answer.
        let Some(id) = message.get("id") else { continue };
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "workshop", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{
                "name": "saw",
                "inputSchema": {"type": "object", "properties": {}},
                "annotations": {"idempotentHint": false},
            }]}),
            _ => json!({"content": [{"type": "text", "text": "sawn"}]}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        write.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

fn with(change: impl FnOnce(&mut RunConfig)) -> RunConfig {
    let mut config = RunConfig::default();
    change(&mut config);
    config
}

#[rstest]
#[case::a_tool_that_must_not_run_twice(
    vec![(clerk().tool(pay), RunConfig::default())],
    "tool \"pay\" of agent \"clerk\" is not idempotent, and another attempt would call it again"
)]
#[case::a_tool_of_an_agent_that_is_a_tool(
    vec![(clerk().tool(Agent::new("teller").model("gpt-5").tool(pay).as_tool().name("teller")), RunConfig::default())],
    "tool \"pay\" of agent \"teller\" is not idempotent, and another attempt would call it again"
)]
#[case::a_server_whose_tools_must_not_run_twice(
    vec![(
        clerk().mcp_server(
            McpServer::named("workshop").call_options(ToolActivityOptions::builder().idempotent(false).build())
        ),
        RunConfig::default()
    )],
    "MCP server \"workshop\" of agent \"clerk\" is not idempotent, and another attempt would call it again"
)]
#[case::a_session(
    vec![(clerk(), with(|config| config.session = Some(MemorySession::default().into())))],
    "the run has a session, to which another attempt would add the same items again"
)]
#[case::a_conversation_at_the_provider(
    vec![(clerk(), with(|config| config.conversation_id = Some("conv_1".to_owned())))],
    "the provider keeps a part of the conversation, which the checkpoint cannot keep"
)]
#[case::a_second_run(
    vec![(clerk(), RunConfig::default()), (clerk(), RunConfig::default())],
    "the session has had a run, and the checkpoint keeps one conversation"
)]
#[tokio::test]
async fn a_run_that_could_not_be_continued_is_refused(#[case] runs: Vec<(Agent, RunConfig)>, #[case] obstacle: &str) {
    let expected = format!(
        "the session cannot write checkpoints of the ToolRegistry/AgenticSession proposal: {obstacle}; change this, or \
         set .checkpoint_format(CheckpointFormat::Native), whose checkpoints only this crate reads (agent \"clerk\")"
    );
    assert_eq!(refused(runs).await, expected);
}

#[tokio::test]
async fn a_tool_that_its_server_says_must_not_run_twice_is_not_called() {
    let said = refused(vec![(clerk().mcp_server(McpServer::named("workshop")), RunConfig::default())]).await;
    let expected = "the call of tool \"saw\" by agent \"clerk\" at turn 1 failed: tool \"saw\" is not idempotent, \
                    and checkpoints of the ToolRegistry/AgenticSession proposal do not record that a call has begun; \
                    remove the tool from the agent, or set .checkpoint_format(CheckpointFormat::Native), whose \
                    checkpoints only this crate reads";
    assert_eq!(said, expected);
}
