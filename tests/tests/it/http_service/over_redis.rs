//! The doors of a service whose workers send tokens over Redis.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{http::AgentsService, remote::transport::RedisTransport, worker::BrokerDeltas};
use temporal_agents_testing::{FakeModel, RedisServer, fake_model::text};

use super::{agui, builder, clerk, find, post, request, stream};

const ANSWER: &str = "You have your money, and here is a receipt.";

#[rstest]
#[tokio::test]
async fn tokens_over_redis_come_out_of_every_door(
    #[values("events", "agui", "chat")] door: &str,
) -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let deltas = || anyhow::Ok(BrokerDeltas::new(RedisTransport::new(&redis.url())?));
    let model = FakeModel::script([text(ANSWER).chunk_size(3).chunk_pause(Duration::from_millis(60))]);
    let of_workers = deltas()?;
    let env = builder(model, false)?.plugin(|plugin| plugin.deltas(of_workers)).start().await?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).deltas(deltas()?).into_router();
    let (asked, kind) = match door {
        "events" => {
            let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": "r1"});
            post(&service, "/runs", &new).await?;
            (request("GET", "/runs/r1/events", None), "text_delta")
        }
        "agui" => (request("POST", "/agui/clerk", Some(&agui("r1", json!([])))), "TEXT_MESSAGE_CONTENT"),
        _ => {
            let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Pay me 40."}]});
            let body = json!({"id": "c", "messages": [user], "trigger": "submit-message"});
            (request("POST", "/chat/clerk", Some(&body)), "text-delta")
        }
    };
    let events = stream(&service, asked).await?;
    let of_kind = |event: &&Value| event["type"] == kind || event["kind"] == kind;
    let parts: Vec<&str> = events.iter().filter(of_kind).filter_map(|event| event["delta"].as_str()).collect();
    assert!(parts.len() > 3, "{events:?}");
    assert!(ANSWER.starts_with(&parts.concat()), "{parts:?}");
    if door != "events" {
        assert_eq!(parts.concat(), ANSWER, "the rest of the text follows with the fact");
        assert_eq!(find(&events, "TEXT_MESSAGE_START").len() + find(&events, "text-start").len(), 1, "{events:?}");
    }
    env.finish().await?;
    Ok(())
}
