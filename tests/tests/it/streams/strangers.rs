//! Input that no client sends: malformed batches and polls, and duplicates.

use serde_json::json;
use temporalio_client::{UntypedQuery, UntypedUpdate, WorkflowExecuteUpdateOptions, WorkflowQueryOptions};
use temporalio_common::{UntypedWorkflow, data_converters::RawValue, protos::temporal::api::common::v1::Payload};

use super::support::{Channel, Open, Order, POLL, Subscriber, json_payload, offsets, signal};
use crate::examples::{Cache, histories};

const STATE: &str = "ChYKCGVuY29kaW5nEgpqc29uL3BsYWluEhB7InN0YXRlIjoicnVuMCJ9";

#[tokio::test]
async fn nothing_that_a_caller_sends_fails_the_workflow() -> anyhow::Result<()> {
    let channel = Open::begin(Cache::On).await?;
    let client = channel.env.client();
    let item = json!({"topic": "events", "data": STATE});
    let batch = json!({"items": [item], "publisher_id": "ba0decda0cd1445a", "sequence": 1});
    let odd =
        json!({"items": ["nonsense", {"topic": 5, "data": STATE}, {"topic": "t", "data": "*"}, {"topic": "t"}, item]});
    let binary = Payload {
        metadata: [("encoding".to_owned(), b"binary/plain".to_vec())].into(),
        data: vec![0, 159, 146, 150],
        ..Payload::default()
    };
    for payloads in [
        vec![json_payload(&json!("nonsense"))],
        vec![binary],
        Vec::new(),
        vec![Payload::default()],
        vec![json_payload(&batch)],
        vec![json_payload(&batch), json_payload(&batch)],
        vec![json_payload(&odd)],
    ] {
        signal(client, &channel.id, payloads).await?;
    }
    let mut subscriber = Subscriber::of(channel.items());
    let events = |offset: u64| (offset, "events".to_owned(), json!({"state": "run0"}));
    assert_eq!(subscriber.next(2).await?, [events(0), events(1)], "a batch once, and the item between the others");

    let handle = client.get_workflow_handle::<UntypedWorkflow>(&*channel.id);
    for input in [json!("nonsense"), json!({"from_offset": -1, "topics": 7}), json!({})] {
        let raw = || RawValue::new(vec![json_payload(&input)]);
        let polled = handle.execute_update(UntypedUpdate::new(POLL), raw(), WorkflowExecuteUpdateOptions::default());
        let queried = handle.query(UntypedQuery::new(POLL), raw(), WorkflowQueryOptions::default());
        for result in [polled.await?, queried.await?] {
            let result: serde_json::Value = serde_json::from_slice(&result.payloads[0].data)?;
            assert_eq!((&result["next_offset"], &result["more_ready"]), (&json!(2), &json!(false)));
            assert_eq!(result["items"][1], json!({"topic": "events", "data": STATE, "offset": 1}));
        }
    }
    channel.order(Order::End).await?;
    assert_eq!(offsets(&subscriber.rest().await?), [2]);
    histories::<Channel>(&channel.env, &channel.id).await?;
    channel.env.finish().await?;
    Ok(())
}
