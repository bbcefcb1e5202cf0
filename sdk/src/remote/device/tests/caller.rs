//! The caller of a device, over channels that fail.

use serde_json::Map;
use temporal_agents_core::{
    tool::{CallInfo, OUTCOME_UNKNOWN, RunContext, ToolContext},
    wire::remote_call::RemoteTarget,
};

use super::*;
use crate::remote::transport::Subscription;

/// Channels that lose the answers to so many requests for a value.
struct Lossy {
    channels: MemoryTransport,
    losses: AtomicUsize,
}

impl Lossy {
    fn new(channels: &MemoryTransport, losses: usize) -> Self {
        Self { channels: channels.clone(), losses: AtomicUsize::new(losses) }
    }
}

impl Channels for Lossy {
    fn publish<'a>(&'a self, channel: &'a str, message: Vec<u8>) -> BoxFuture<'a, Result<usize, StreamError>> {
        self.channels.publish(channel, message)
    }

    fn subscribe<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Result<Subscription, StreamError>> {
        self.channels.subscribe(channel)
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, keep: Duration) -> BoxFuture<'a, Result<(), StreamError>> {
        self.channels.put(key, value, keep)
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StreamError>> {
        let is_lost =
            self.losses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        if is_lost {
            let lost = StreamError::Ambiguous { stream: key.to_owned(), reason: "no answer in time".to_owned() };
            return async move { Err(lost) }.boxed();
        }
        self.channels.get(key)
    }

    fn remove<'a>(&'a self, key: &'a str, value: Vec<u8>) -> BoxFuture<'a, Result<(), StreamError>> {
        self.channels.remove(key, value)
    }
}

/// Makes the call of a tool that must not run twice; returns the output or the message for the
/// model.
async fn outcome(channels: Lossy) -> String {
    let target = json!({"toolset": "laptop", "tool": "run", "timeout_seconds": 3, "once": true, "user": "ada"});
    let target: RemoteTarget = serde_json::from_value(target).expect("it is a target");
    let body = body(&DeviceGateway::new(channels), target);
    let mut ctx = ToolContext::new(CallInfo::new("run", "c1", "assistant", 1), RunContext::default());
    match body(&mut ctx, Map::new()).await {
        Ok(output) => json!(output).to_string(),
        Err(error) => error.into_parts().0.tell_model.expect("the model is told"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_about_the_device_says_nothing_about_the_call() -> Result<(), BoxError> {
    let channels = MemoryTransport::new();
    let gateway = DeviceGateway::new(channels.clone());
    let mut connection = gateway.connect(laptop()).await?;
    let never_sent = outcome(Lossy::new(&channels, usize::MAX)).await;
    assert!(never_sent.contains("was not called"), "{never_sent}");
    assert_ne!(never_sent, OUTCOME_UNKNOWN);
    let made = async {
        let (id, _) = called(&mut connection).await;
        answer(&connection, &id);
    };
    let (told, ()) = tokio::join!(outcome(Lossy::new(&channels, 1)), made);
    assert!(told.contains("done"), "{told}");
    Ok(())
}
