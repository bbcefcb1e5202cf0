//! The provider's key stays on the worker: no event of a history holds it, however the provider answers.

use prost::Message;
use temporal_agents::{
    AgentsPlugin,
    provider::{OpenAi, OpenAiBuilder},
};
use temporal_agents_testing::history::{self, History};
use wiremock::MockServer;

use super::{
    provider::{answer, asked_for, failure},
    run::{Ask, Asking, asking},
};

const KEY: &str = "sk-test-SECRET-0123456789abcdef";
const GATEWAY_TOKEN: &str = "SECRET-of-the-gateway";

fn builder(server: &MockServer) -> OpenAiBuilder {
    OpenAi::builder().api_key(KEY).header("x-gateway", GATEWAY_TOKEN).base_url(format!("{}/v1", server.uri()))
}

/// Whether a history holds this text: in its own fields, or in the bytes of a payload.
fn holds(history: &History, text: &str) -> bool {
    let bytes = history.encode_to_vec();
    bytes.windows(text.len()).any(|window| window == text.as_bytes()) || history::to_json(history).contains(text)
}

#[tokio::test]
async fn a_key_is_in_no_history() -> anyhow::Result<()> {
    let echo = format!("wrong key {KEY} through {GATEWAY_TOKEN}");
    let server = MockServer::start().await;
    asked_for("good").respond_with(answer("the answer")).mount(&server).await;
    asked_for("locked").respond_with(failure(401, &echo)).mount(&server).await;
    asked_for("broken").respond_with(failure(500, &echo).insert_header("x-request-id", "req_1")).mount(&server).await;
    let env = asking()?.model_provider(builder(&server).build()?).start().await?;
    // What each history must hold shows that a text in it is found.
    let runs = [("good", "the answer"), ("locked", "wrong key [redacted]"), ("broken", "wrong key [redacted]")];
    for (model, expected) in runs {
        let run = env.run(Asking::run, Ask::model(model).attempts(2)).await?;
        let found = [expected, KEY, GATEWAY_TOKEN, "SECRET"].map(|text| holds(&run.history, text));
        assert_eq!((model, found), (model, [true, false, false, false]));
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_key_is_in_no_debug_output() -> anyhow::Result<()> {
    let server = MockServer::start().await;
    let (builder, provider) = (builder(&server), builder(&server).build()?);
    let shown = format!("{builder:?} {provider:?}");
    let shown = format!("{shown} {:?}", AgentsPlugin::new(provider));
    assert!(!shown.contains("SECRET"), "{shown}");
    Ok(())
}
