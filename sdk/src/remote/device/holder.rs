//! The process that holds a device: it tells others that the device is connected, and takes their
//! calls.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard},
    time::{interval, sleep, timeout},
};

use super::{
    Inner, KEPT, RENEWED,
    call_log::CallLog,
    connection::Connected,
    frame::{Record, ToDevice},
    request::{CallRequest, DeviceRequest, NumberedReply, Reply},
};
use crate::remote::{
    answer::OUTCOME_UNKNOWN_CODE,
    message::ToolResultMessage,
    transport::{StreamError, Subscription},
};

/// Pause before a request to channels that were unavailable is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// Longest time for the last request about a device whose connection has ended.
const LAST_REQUEST: Duration = Duration::from_secs(5);

/// Takes calls for a device from now on, until its connection ends.
///
/// # Errors
/// The channels are unavailable.
pub(super) async fn begin(gateway: &Arc<Inner>, connected: &Arc<Connected>) -> Result<(), StreamError> {
    let requests = gateway.channels.subscribe(&gateway.requests(&connected.device.name)).await?;
    gateway.announce(connected).await?;
    tokio::spawn(serve(Arc::clone(gateway), Arc::clone(connected), requests));
    Ok(())
}

async fn serve(gateway: Arc<Inner>, connected: Arc<Connected>, mut requests: Subscription) {
    let mut renewal = interval(RENEWED);
    renewal.tick().await;
    loop {
        tokio::select! {
            biased;
            () = connected.gone.cancelled() => break,
            request = requests.next() => match request {
                Some(request) => gateway.receive(&connected, &request),
                // The broker is lost, and perhaps what it knows of the device.
                None => match again(&gateway, &connected).await {
                    Some(subscribed) => requests = subscribed,
                    None => break,
                },
            },
            _ = renewal.tick() => gateway.renew(&connected).await,
        }
    }
    gateway.withdraw(&connected).await;
}

/// Subscribes again, and tells again that the device is connected; `None` once its connection has
/// ended.
async fn again(gateway: &Inner, connected: &Connected) -> Option<Subscription> {
    loop {
        let trying = async {
            let requests = gateway.channels.subscribe(&gateway.requests(&connected.device.name)).await?;
            gateway.announce(connected).await?;
            Ok::<_, StreamError>(requests)
        };
        let tried = connected.gone.run_until_cancelled(trying).await?;
        match tried {
            Ok(requests) => return Some(requests),
            Err(error) => tracing::warn!(device = connected.device.name, %error, "a device cannot be announced"),
        }
        connected.gone.run_until_cancelled(sleep(PAUSE)).await?;
    }
}

impl Inner {
    async fn announce(&self, connected: &Connected) -> Result<(), StreamError> {
        self.channels.put(&self.key(&connected.device.name), json_of(&connected.record()), KEPT).await
    }

    /// Tells again that the device is connected, unless it is connected elsewhere since.
    async fn renew(&self, connected: &Connected) {
        let name = &connected.device.name;
        let renewed = match self.record(name).await {
            Ok(Some(Record { connection, .. })) if connection != connected.id => {
                tracing::info!(device = name, "the device is connected elsewhere");
                connected.gone.cancel();
                return;
            }
            Ok(_) => self.announce(connected).await,
            Err(error) => Err(error),
        };
        if let Err(error) = renewed {
            tracing::warn!(device = name, %error, "a device cannot be announced");
        }
    }

    async fn withdraw(&self, connected: &Connected) {
        let key = self.key(&connected.device.name);
        let removing = self.channels.remove(&key, json_of(&connected.record()));
        if !matches!(timeout(LAST_REQUEST, removing).await, Ok(Ok(()))) {
            tracing::debug!(device = connected.device.name, "a device could not be withdrawn: its record expires");
        }
    }

    /// Takes a request of another process.
    fn receive(self: &Arc<Self>, connected: &Arc<Connected>, request: &[u8]) {
        match serde_json::from_slice::<DeviceRequest>(request) {
            Ok(DeviceRequest::Call(request)) => {
                let (reply_to, after) = (request.reply_to.clone(), request.after);
                let log = self.call(connected, *request);
                let sending = tokio::spawn(send_replies(Arc::clone(self), Arc::clone(&log), reply_to, after));
                log.sends_by(sending.abort_handle());
            }
            Ok(DeviceRequest::Cancel { tool_use_id, user }) if user == connected.device.owner => {
                self.cancel(connected, &tool_use_id);
            }
            Ok(DeviceRequest::Cancel { .. } | DeviceRequest::Other) => {}
            Err(error) => {
                tracing::warn!(device = connected.device.name, %error, "a request cannot be read: skipped");
            }
        }
    }

    /// Makes a call, or joins it.
    pub(super) fn call(self: &Arc<Self>, connected: &Arc<Connected>, request: CallRequest) -> Arc<CallLog> {
        let id = request.call.tool_use_id.clone();
        if let Some((code, message)) = self.refusal(connected, &request) {
            let result = ToolResultMessage::error(id, code, message);
            return Arc::new(CallLog::ended_with(Reply::Result(Box::new(result))));
        }
        let mut logs = self.logs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        logs.retain(|_, log| !log.is_forgotten());
        let key = (connected.device.name.clone(), id);
        if let Some(known) = logs.get(&key) {
            // An idempotent call whose connection was lost is made again.
            if request.once || !known.is_gone() {
                return Arc::clone(known);
            }
        }
        let log = if request.again && request.once {
            Arc::new(CallLog::ended_with(unknown_outcome(&key.1)))
        } else {
            let log = Arc::new(CallLog::new());
            tokio::spawn(perform(Arc::clone(connected), Arc::clone(&log), request));
            log
        };
        logs.insert(key, Arc::clone(&log));
        log
    }

    /// Returns code and message of a call that is not made.
    fn refusal(&self, connected: &Connected, request: &CallRequest) -> Option<(&'static str, String)> {
        let (device, call) = (&connected.device, &request.call);
        let is_admitted = || self.admits.as_ref().is_none_or(|admits| admits(&device.name, call));
        if request.user != device.owner || !is_admitted() {
            return Some(("not_permitted", format!("this run may not call device '{}'", device.name)));
        }
        let is_unknown = device.tool(&call.tool).is_none();
        is_unknown.then(|| ("unknown_tool", format!("device '{}' has no tool '{}' now", device.name, call.tool)))
    }

    /// Adds a reply of the device to its call.
    pub(super) fn add(&self, device: &str, id: &str, reply: Reply) {
        let logs = self.logs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(log) = logs.get(&(device.to_owned(), id.to_owned())) {
            log.add(reply);
        } else {
            tracing::debug!(device, id, "a device answers a call that nobody made");
        }
    }

    /// Tells the device that nobody waits for a call any more.
    pub(super) fn cancel(&self, connected: &Connected, id: &str) {
        let logs = self.logs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if logs.get(&(connected.device.name.clone(), id.to_owned())).is_some_and(|log| !log.has_ended()) {
            connected.send(ToDevice::Cancel { tool_use_id: id.to_owned() });
        }
    }
}

/// The right of a call to be made by the device now.
enum Turn {
    Reads { _turn: OwnedRwLockReadGuard<()> },
    Alone { _turn: OwnedRwLockWriteGuard<()> },
}

/// Lets the device make a call, and waits for its end.
async fn perform(connected: Arc<Connected>, log: Arc<CallLog>, request: CallRequest) {
    let id = request.call.tool_use_id.clone();
    let only_reads = connected.device.tool(&request.call.tool).is_some_and(|tool| tool.read_only);
    let turn = Arc::clone(&connected.turn);
    let made = async {
        let _turn = if only_reads {
            Turn::Reads { _turn: turn.read_owned().await }
        } else {
            Turn::Alone { _turn: turn.write_owned().await }
        };
        connected.send(ToDevice::Call(Box::new(request.call)));
        log.end().await;
    };
    let longest = Duration::from_millis(request.timeout_ms);
    match timeout(longest, connected.gone.run_until_cancelled(made)).await {
        Ok(Some(())) => {}
        Ok(None) => log.add(Reply::Gone),
        Err(_) => {
            connected.send(ToDevice::Cancel { tool_use_id: id.clone() });
            log.add(unknown_outcome(&id));
        }
    }
}

fn unknown_outcome(id: &str) -> Reply {
    let result = ToolResultMessage::error(id, OUTCOME_UNKNOWN_CODE, "it is not known whether the call took effect");
    Reply::Result(Box::new(result))
}

/// Sends the replies about a call to a caller in another process. If one cannot be sent, the caller
/// asks again.
async fn send_replies(gateway: Arc<Inner>, log: Arc<CallLog>, reply_to: String, mut after: u64) {
    let mut next = Some(NumberedReply { at: 0, reply: Reply::Accepted });
    while let Some(reply) = next {
        if let Err(error) = gateway.channels.publish(&reply_to, json_of(&reply)).await {
            tracing::debug!(channel = reply_to, %error, "a reply could not be sent");
            return;
        }
        if reply.reply.is_last() {
            return;
        }
        after = after.max(reply.at);
        next = log.next(after).await;
    }
}

fn json_of(message: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}
