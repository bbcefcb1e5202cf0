//! What stays on the worker.

use prost::Message;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{AgentsPlugin, tool::McpServer, worker::McpTransport};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
    history::{self, History},
};

use super::{
    python::{HttpServer, stdio},
    support::{By, Reached, Workshop, outputs, smith, workshop},
};

/// Whether a history holds this text: in its own fields, or in the bytes of a payload.
fn holds(history: &History, text: &str) -> bool {
    let bytes = history.encode_to_vec();
    bytes.windows(text.len()).any(|window| window == text.as_bytes()) || history::to_json(history).contains(text)
}

#[rstest]
#[tokio::test]
async fn a_factory_makes_connections_with_credentials_that_no_history_has(
    #[values(By::Stdio, By::Http)] by: By,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("backwards", json!({})), text("done")]);
    let Reached { transport: _, http } = by.reach();
    let of_factory = http.as_ref().map(HttpServer::transport);
    let transport = McpTransport::factory(move |argument| {
        let tenant = argument.and_then(|argument| argument["tenant"].as_str().map(str::to_owned));
        let http = of_factory.clone();
        async move {
            let key = format!("key-of-{}", tenant.ok_or("no tenant")?);
            Ok(match http {
                Some(http) => http.bearer(key).into(),
                None => stdio().env("WORKSHOP_TOKEN", key).into(),
            })
        }
    });
    let server = McpServer::named("workshop").argument(json!({"tenant": "acme"}));
    let env = workshop(&smith(server), &model, transport, true).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    let told = match by {
        By::Stdio => "emca-fo-yek",
        By::Http => "emca-fo-yek reraeB",
    };
    assert_eq!(outputs(&model), [json!(told)]);
    assert_eq!((holds(&run.history, told), holds(&run.history, "key-of-acme")), (true, false));
    env.finish().await?;
    Ok(())
}

#[test]
fn credentials_are_in_no_debug_output() {
    let http = McpTransport::streamable_http("https://user:SECRET@example.com/?key=SECRET").bearer("SECRET");
    let child = McpTransport::stdio("server", ["--token=SECRET"]).env("TOKEN", "SECRET");
    let shown = format!("{http:?} {child:?} {:?}", McpTransport::from(http.clone()));
    let shown = format!("{shown} {:?}", AgentsPlugin::new().mcp_server("files", child));
    assert!(!shown.contains("SECRET"), "{shown}");
}
