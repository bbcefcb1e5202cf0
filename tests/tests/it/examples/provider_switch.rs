//! A conversation that OpenAI's model begins and Anthropic's model ends, over HTTP.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};
use temporal_agents::{
    Resources,
    inline::InlineRunner,
    provider::{Genai, OpenAi},
};
use temporal_agents_examples::provider_switch::{Desk, Lookups, MODELS, Question};
use temporal_agents_testing::{AgentEnvironment, FakeModel};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

/// A server that calls a tool, and has an outage from then on.
async fn openai() -> MockServer {
    let server = MockServer::start().await;
    let call = json!({
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "locate_parcel",
        "arguments": "{\"number\":\"NO-71\"}",
        "status": "completed",
    });
    let answer = json!({"id": "resp_1", "status": "completed", "output": [call]});
    let once = Mock::given(matchers::path("/v1/responses"));
    once.respond_with(ResponseTemplate::new(200).set_body_json(answer)).up_to_n_times(1).mount(&server).await;
    let outage = Mock::given(matchers::path("/v1/responses"));
    outage.respond_with(ResponseTemplate::new(503)).mount(&server).await;
    server
}

/// A server that answers.
async fn anthropic() -> MockServer {
    let server = MockServer::start().await;
    let answer = json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODELS[1],
        "content": [{"type": "text", "text": "Your parcel waits in Bergen."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 40, "output_tokens": 8},
    });
    Mock::given(matchers::any()).respond_with(ResponseTemplate::new(200).set_body_json(answer)).mount(&server).await;
    server
}

#[tokio::test]
async fn what_one_provider_has_begun_another_one_ends() -> anyhow::Result<()> {
    let (openai, anthropic, lookups) = (openai().await, anthropic().await, Lookups::default());
    let first = OpenAi::builder().api_key("key").base_url(format!("{}/v1", openai.uri())).build()?;
    let second = Genai::builder()
        .api_key("anthropic", "key")
        .base_url("anthropic", format!("{}/v1", anthropic.uri()))
        .serving(|model| model.starts_with("claude"))
        .build()?;
    let runner =
        InlineRunner::new(Resources::new().model_provider(second).model_provider(first).state(lookups.clone()));
    let runner = runner.first_pause(Duration::from_millis(1));
    let builder = AgentEnvironment::builder().workflow::<Question>()?.model(&FakeModel::script([]));
    let env = builder
        .worker_options(move |options| {
            options.register_activities(Desk { runner });
        })
        .start()
        .await?;
    let run = env.run(Question::run, "Where is my parcel?".to_owned()).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, "Your parcel waits in Bergen.");
    assert_eq!(lookups.0.load(Ordering::Relaxed), 1, "the tool ran once");
    let asked = anthropic.received_requests().await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&asked[0].body)?;
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": "Where is my parcel?"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "call_1", "name": "locate_parcel", "input": {"number": "NO-71"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "parcel NO-71 is in Bergen, since Monday"},
            ]},
        ])
    );
    env.finish().await?;
    Ok(())
}
