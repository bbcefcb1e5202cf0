//! A provider that answers 429 for minutes.

use serde_json::{Value, json};
use temporal_agents::{AgentsPlugin, provider::OpenAi, workflow::AgentSet};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use super::{Site, desk, listed, problem, ready_made, start, streamed};

#[tokio::test]
async fn a_provider_that_answers_429_is_shown_with_agent_attempt_and_next_attempt() -> anyhow::Result<()> {
    let provider = MockServer::start().await;
    let refused = ResponseTemplate::new(429).set_body_json(json!({"error": {"message": "Slow down."}}));
    Mock::given(matchers::any()).respond_with(refused).mount(&provider).await;
    let site = Site::start().await?;
    let service = site.service((desk,));
    let model = OpenAi::builder().api_key("k").base_url(format!("{}/v1", provider.uri())).build()?;
    let plugin = AgentsPlugin::new(model).agents((desk,));
    let mut worker = site.worker(Some(plugin), ready_made(&AgentSet::new((desk,)))?)?;
    start(&service, "limited").await?;
    let found = problem(&service, "limited", "model_fails").await?;
    let message = found["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("the model call of agent `desk` has failed "), "{message}");
    assert!(message.contains("429") && message.contains("attempt "), "{message}");
    assert_eq!((&found["agent"], found["since"].is_u64()), (&json!("desk"), true));
    // Nothing of this is in the row of the list: a replica that has not looked at the run has a watcher.
    let other = site.service((desk,));
    assert_eq!(listed(&other, "limited", "model_fails").await?["agent"], "desk");

    let event = streamed(&service, "GET", "/runs/limited/events", &Value::Null, "event: problem").await?;
    assert!(event.contains("has failed"), "{event}");
    let message = json!([{"id": "m", "role": "user", "content": "Pay me 40."}]);
    let agui = json!({
        "threadId": "t", "runId": "r", "messages": message, "tools": [], "context": [], "resume": [],
    });
    let event = streamed(&service, "POST", "/agui/desk", &agui, "\"problem\"").await?;
    assert!(event.contains("\"CUSTOM\"") && event.contains("model_fails"), "{event}");
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Pay me 40."}]});
    let chat = json!({"id": "c", "messages": [user], "trigger": "submit-message"});
    let part = streamed(&service, "POST", "/chat/desk", &chat, "data-problem").await?;
    assert!(part.contains("model_fails") && part.contains("\"transient\":true"), "{part}");
    worker.stop()?;
    site.shutdown().await;
    Ok(())
}
