//! Results without any text.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Resources,
    inline::InlineRunner,
    tool::{McpServer, McpSessionOptions},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};

use super::{
    answering::{Answer, AnsweringServer, Asked, tools},
    support::{outputs, smith},
};

/// A server with a tool for each of these results.
async fn server(results: Vec<Value>) -> anyhow::Result<AnsweringServer> {
    AnsweringServer::start(move |asked| {
        let answer = answer(&results, &asked);
        async move { answer }
    })
    .await
}

fn answer(results: &[Value], asked: &Asked) -> Answer {
    let names = tool_names(results.len());
    match &*asked.method {
        "initialize" => Answer::Session("session".to_owned()),
        "tools/list" => Answer::Result(json!({"tools": tools(names.iter().map(String::as_str))})),
        "tools/call" => {
            let number = names.iter().position(|name| asked.params["name"] == **name).expect("a known tool");
            Answer::Result(results[number].clone())
        }
        _ => Answer::Result(json!({})),
    }
}

fn tool_names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("look_{number}")).collect()
}

/// Returns what the model receives from the tools with these results.
async fn received(options: McpServer, results: Vec<Value>) -> anyhow::Result<Vec<Value>> {
    let names = tool_names(results.len());
    let model = FakeModel::script([tool_calls(names.iter().map(|name| (&**name, json!({})))), text("done")]);
    let server = server(results).await?;
    let resources = Resources::new().model_provider(model.clone()).mcp_server("workshop", server.transport());
    InlineRunner::new(resources).run(&smith(options), "Look.").await?;
    Ok(outputs(&model))
}

#[rstest]
#[tokio::test]
async fn a_result_without_text_reaches_the_model(#[values(true, false)] is_structured: bool) -> anyhow::Result<()> {
    let options = McpServer::named("workshop");
    let options = if is_structured { options.use_structured_content() } else { options };
    let blank = json!([{"type": "text", "text": " \n"}]);
    let limit = json!({"code": "RATE_LIMITED"});
    let results = vec![
        json!({"structuredContent": {"degrees": 22}}),
        json!({"content": [], "structuredContent": {"degrees": 22}}),
        json!({"content": blank, "structuredContent": [1, 2]}),
        json!({"content": []}),
        json!({"content": blank, "structuredContent": null}),
        json!({"content": [], "structuredContent": limit, "isError": true}),
        json!({"content": [{"type": "text", "text": "slow down"}], "structuredContent": limit, "isError": true}),
        json!({"content": blank, "isError": true}),
        json!({"isError": true}),
    ];
    let expected = [
        r#"{"degrees":22}"#,
        r#"{"degrees":22}"#,
        "[1,2]",
        "The tool returned no content.",
        "The tool returned no content.",
        r#"{"code":"RATE_LIMITED"}"#,
        "slow down",
        "The tool failed without giving a reason.",
        "The tool failed without giving a reason.",
    ];
    assert_eq!(received(options, results).await?, expected);
    Ok(())
}

#[tokio::test]
async fn blocks_beside_structured_content_are_kept() -> anyhow::Result<()> {
    let degrees = json!({"degrees": 22});
    let link = json!({"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt"});
    let results = vec![
        json!({"content": [link], "structuredContent": degrees}),
        json!({"content": [{"type": "text", "text": "22 degrees"}], "structuredContent": degrees}),
    ];
    let link = r#"{"type":"resource_link","uri":"file:///a.txt","name":"a.txt"}"#;
    let expected = [json!([{"type": "input_text", "text": link}]), json!("22 degrees")];
    assert_eq!(received(McpServer::named("workshop"), results).await?, expected);
    Ok(())
}

#[rstest]
#[case::structured(json!({"structuredContent": {"code": "NO_SEATS"}, "isError": true}), r#"{"code":"NO_SEATS"}"#)]
#[case::silent(json!({"content": [], "isError": true}), "The tool failed without giving a reason.")]
#[tokio::test]
async fn a_refused_set_up_call_has_a_reason(#[case] result: Value, #[case] reason: &str) -> anyhow::Result<()> {
    let server = server(vec![result]).await?;
    let model = FakeModel::script([tool_call("look_0", json!({}))]);
    let runner = InlineRunner::new(Resources::new().model_provider(model).mcp_server("workshop", server.transport()));
    let options = McpSessionOptions::new().set_up("look_0", json!({}));
    let failure = runner.run(&smith(McpServer::named("workshop").stateful(options)), "Look.").await.unwrap_err();
    let message = failure.error.to_string();
    let expected = format!("MCP server \"workshop\" refuses \"look_0\", a set-up call of the session: {reason}");
    assert!(message.ends_with(&expected), "{message}");
    Ok(())
}
