//! The results that a process keeps, for those who ask again.

use super::*;

/// Makes the calls `c0`, `c1`, .., with output, and a result of 4 MiB each.
async fn large_calls(gateway: &DeviceGateway, connection: &mut DeviceConnection, calls: usize) {
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let large = json!("x".repeat(4 << 20));
    for number in 0..calls {
        let id = format!("c{number}");
        let log = gateway.0.call(&connected, call(&id, "run"));
        called(connection).await;
        log.add(Reply::OutputDelta(ToolOutputDeltaMessage::new(&*id, "stdout", "50 %")));
        log.add(Reply::Result(Box::new(ToolResultMessage::new(&*id, large.clone()))));
    }
    gateway.0.tidy();
}

#[tokio::test]
async fn the_oldest_results_beyond_what_is_kept_end_as_unknown() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let gateway = DeviceGateway::new(channels.clone());
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let log = gateway.0.call(&connected, call("c0", "run")).id.clone();
    large_calls(&gateway, &mut connection, 17).await;
    let again = |id: &str| CallRequest { again: true, ..call(id, "run") };
    assert_eq!(code_of(&reply(&gateway.0.call(&connected, again("c0")), 0).await), Some("outcome_unknown"));
    assert_eq!(code_of(&reply(&gateway.0.call(&connected, again("c16")), 1).await), None);
    // The caller has the output of the call, and waits for what comes after it.
    let mut replies = channels.subscribe("replies").await?;
    let (connection, reply_to) = (connected.id.clone(), "replies".to_owned());
    let request = CallRequest { connection, reply_to, log, after: 1, ..again("c0") };
    let request = DeviceRequest::Call(Box::new(request));
    channels.publish(&gateway.0.requests(&laptop().key()), serde_json::to_vec(&request)?).await?;
    for at in [0, 1] {
        let reply = timeout(PATIENCE, replies.next()).await?.expect("it goes on");
        assert_eq!(serde_json::from_slice::<NumberedReply>(&reply)?.at, at);
    }
    Ok(())
}

#[tokio::test]
async fn an_idempotent_call_whose_connection_was_lost_is_made_again_after_large_results() -> Result<(), BoxError> {
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let mut first = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let idempotent = |id: &str| CallRequest { once: false, ..call(id, "read") };
    let logs = ["r1", "r2"].map(|id| gateway.0.call(&connected, idempotent(id)));
    for _ in &logs {
        called(&mut first).await;
    }
    logs[0].add(Reply::OutputDelta(ToolOutputDeltaMessage::new("r1", "stdout", "50 %")));
    drop(first);
    for log in &logs {
        timeout(PATIENCE, log.end()).await?;
    }
    let mut second = gateway.connect(laptop()).await?;
    large_calls(&gateway, &mut second, 17).await;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    for id in ["r1", "r2"] {
        gateway.0.call(&connected, CallRequest { again: true, ..idempotent(id) });
        assert_eq!(called(&mut second).await.0, id);
    }
    Ok(())
}
