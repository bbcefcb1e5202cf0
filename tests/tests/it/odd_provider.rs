//! The quickstart's agents against a provider that does what providers do: refuses once, sends half a body, adds fields
//! and item kinds nobody knows, stops early, and orders items as it likes.

use std::time::Duration;

use serde_json::{Value, json};
use temporal_agents::provider::OpenAi;
use temporal_agents_examples::quickstart::trip::{Plan, Request, TravelData, Trip, travel_desk};
use temporal_agents_testing::AgentEnvironment;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({
        "type": "function_call",
        "id": format!("fc_{id}"),
        "call_id": id,
        "name": name,
        "arguments": arguments.to_string(),
        "status": "completed",
        "novel": {"nested": [1, null]},
    })
}

fn response(output: &Value) -> Value {
    json!({
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": output,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "unheard_of": 1},
        "brand_new": {"x": [1, 2]},
    })
}

fn message(text: &str) -> Value {
    json!({
        "type": "message",
        "id": "msg",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [], "future": true}],
    })
}

/// The provider's answers, in the order of the requests.
fn answers() -> (Vec<ResponseTemplate>, Vec<Value>) {
    let handoff = vec![
        json!({"type": "hologram", "id": "h1", "payload": {"deep": [1, {"a": null}]}, "score": 0.1}),
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque", "odd": true}),
        call("c1", "transfer_to_planner", &json!({})),
    ];
    let tools = vec![
        json!({"type": "reasoning", "id": "rs_2", "summary": []}),
        call("c4", "cost_of_nights", &json!({"euros_per_night": 80, "nights": 2})),
        message("let me see"),
        call("c3", "train_fare", &json!({"to": "Oslo", "from": "Bergen"})),
        call("c2", "get_weather", &json!({"city": "Oslo"})),
    ];
    let mut at_lunch = response(&json!(tools));
    at_lunch["status"] = json!("at lunch");
    let plan = json!({"euros": 210, "city": "Oslo", "reason": "it is near"});
    let ok = |body: &Value| ResponseTemplate::new(200).set_body_json(body);
    let templates = vec![
        ResponseTemplate::new(429)
            .insert_header("retry-after", "1")
            .set_body_json(json!({"error": {"message": "slow down"}})),
        ResponseTemplate::new(200).set_body_raw("{\"broken\": ", "application/json"),
        ok(&response(&json!(handoff))),
        ok(&at_lunch),
        ok(&response(&json!([message(&plan.to_string())]))),
    ];
    (templates, [handoff, tools].concat())
}

#[tokio::test]
async fn an_odd_provider_gets_its_items_back_unchanged() -> anyhow::Result<()> {
    let provider = MockServer::start().await;
    let (templates, said) = answers();
    for (place, template) in templates.into_iter().enumerate() {
        let priority = u8::try_from(place + 1)?;
        let mock = Mock::given(path("/v1/responses")).respond_with(template).up_to_n_times(1);
        mock.with_priority(priority).mount(&provider).await;
    }
    let openai = OpenAi::builder().api_key("sk-test").base_url(format!("{}/v1", provider.uri())).build()?;
    let env = AgentEnvironment::builder()
        .workflow::<Trip>()?
        .model_provider(openai)
        .state(TravelData { delay: Duration::ZERO })
        .agents((travel_desk,))
        .start()
        .await?;
    let request = Request { prompt: "To Oslo".to_owned(), heartbeat_seconds: 30 };
    let run = env.run(Trip::run, request).await?;
    let attempts: Vec<_> = run.activities().into_iter().map(|activity| activity.attempts).collect();
    assert_eq!(attempts, [3, 1, 1, 1, 1]);
    assert_eq!(run.output()?, Plan { city: "Oslo".to_owned(), reason: "it is near".to_owned(), euros: 210 });

    let requests = provider.received_requests().await.unwrap_or_default();
    let last: Value = serde_json::from_slice(&requests.last().expect("five requests").body)?;
    let input = last["input"].as_array().expect("a list of items");
    let ours = |item: &&Value| item["type"] != "function_call_output" && item["role"] != "user";
    let sent_back: Vec<Value> = input.iter().filter(ours).cloned().collect();
    assert_eq!(serde_json::to_string(&sent_back)?, serde_json::to_string(&said)?, "byte for byte, in their order");
    let outputs: Vec<&Value> = input.iter().filter(|item| item["type"] == "function_call_output").collect();
    let ids: Vec<_> = outputs.iter().map(|item| item["call_id"].as_str().unwrap_or_default()).collect();
    assert_eq!(ids, ["c1", "c4", "c3", "c2"], "outputs stand in call order");
    env.finish().await?;
    Ok(())
}
