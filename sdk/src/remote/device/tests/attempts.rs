//! Several attempts at one call.

use super::*;

fn attempt(number: u32, id: &str) -> CallRequest {
    CallRequest { again: number > 1, attempt: number, ..call(id, "run") }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_cancels_no_call_that_a_later_one_waits_for() -> Result<(), BoxError> {
    let gateway = DeviceGateway::new(MemoryTransport::new());
    let mut connection = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let _begun = gateway.0.call(&connected, attempt(1, "w1"));
    assert_eq!(called(&mut connection).await.0, "w1");
    let queued = gateway.0.call(&connected, attempt(1, "w2"));
    for id in ["w1", "w2"] {
        gateway.0.call(&connected, attempt(2, id));
        // The worker of the first attempt is only now told that nobody waits for it.
        gateway.0.cancel(&connected, id, 1);
    }
    assert!(timeout(Duration::from_secs(20), connection.next()).await.is_err(), "the device is not told to stop");
    assert!(!queued.has_ended(), "the call still waits for its turn");
    gateway.0.cancel(&connected, "w2", 2);
    assert_eq!(code_of(&reply(&queued, 0).await), Some("cancelled"));
    gateway.0.cancel(&connected, "w1", 2);
    let text = timeout(Duration::from_secs(20), connection.next()).await?.expect("it is connected");
    assert_eq!(serde_json::from_str::<ToDevice>(&text)?, ToDevice::Cancel { tool_use_id: "w1".to_owned() });
    Ok(())
}

#[test]
fn a_request_of_an_earlier_release_has_no_attempt() -> Result<(), BoxError> {
    let cancel = r#"{"type": "cancel", "connection": "c", "tool_use_id": "c1", "user": "ada"}"#;
    assert!(matches!(serde_json::from_str(cancel)?, DeviceRequest::Cancel { attempt: 0, .. }));
    let call = json!({"type": "call", "call": {"tool_use_id": "c1"}, "timeout_ms": 1});
    let DeviceRequest::Call(call) = serde_json::from_value(call)? else { panic!("it is a call") };
    assert_eq!(call.attempt, 0);
    Ok(())
}

#[tokio::test]
async fn a_call_that_was_made_is_answered_whatever_the_device_offers_since() -> Result<(), BoxError> {
    let admits = Arc::new(AtomicUsize::new(1));
    let admitted = Arc::clone(&admits);
    let gateway = DeviceGateway::new(MemoryTransport::new()).admit(move |_, _| admitted.load(Ordering::Relaxed) > 0);
    let mut first = gateway.connect(laptop()).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    let made = gateway.0.call(&connected, attempt(1, "c1"));
    called(&mut first).await;
    answer(&first, "c1");
    assert!(matches!(reply(&made, 0).await, Reply::Result(_)));
    drop(first);
    let _second = gateway.connect(Device::announced(&hello("laptop", &tools()[1..]), "ada")?).await?;
    let connected = gateway.0.here(&laptop().key()).expect("it is here");
    for is_admitted in [1, 0] {
        admits.store(is_admitted, Ordering::Relaxed);
        let joined = gateway.0.call(&connected, attempt(2, "c1"));
        assert_eq!(code_of(&reply(&joined, 0).await), None);
        // Nobody knows this one, so it may have been made where it was known.
        let unknown = gateway.0.call(&connected, attempt(2, "c2"));
        assert_eq!(code_of(&reply(&unknown, 0).await), Some("outcome_unknown"));
        // Each reply about this one may be lost, and it was never made.
        let code = if is_admitted > 0 { "unknown_tool" } else { "not_permitted" };
        for number in [1, 2] {
            let refused = gateway.0.call(&connected, attempt(number, "c3"));
            assert_eq!(code_of(&reply(&refused, 0).await), Some(code));
        }
    }
    Ok(())
}
