//! The process that holds a device: it tells others that the device is connected, and takes their
//! calls.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard},
    time::{interval, sleep, timeout},
};

use super::{
    Inner, KEPT, RENEWED,
    call_log::CallLog,
    connection::Connected,
    frame::{Record, ToDevice},
    key::DeviceKey,
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

/// Time within which another attempt asks about a call whose worker has stopped.
const NEXT_ATTEMPT: Duration = Duration::from_secs(15);

/// Most bytes of the results of ended calls that a process keeps.
const MOST_KEPT: usize = 64 << 20;

/// Takes calls for a device from now on, until its connection ends.
///
/// # Errors
/// The channels are unavailable.
pub(super) async fn begin(gateway: &Arc<Inner>, connected: &Arc<Connected>) -> Result<(), StreamError> {
    let requests = gateway.channels.subscribe(&gateway.requests(&connected.key)).await?;
    gateway.announce(connected).await?;
    gateway.take_over(connected).await?;
    tokio::spawn(serve(Arc::clone(gateway), Arc::clone(connected), requests));
    Ok(())
}

async fn serve(gateway: Arc<Inner>, connected: Arc<Connected>, mut requests: Subscription) {
    let mut renewal = interval(RENEWED);
    renewal.tick().await;
    // A subscription can die without a word: the holder sends itself a ping at each renewal.
    let mut hears = true;
    loop {
        tokio::select! {
            biased;
            () = connected.gone.cancelled() => break,
            request = requests.next() => match request {
                Some(request) => {
                    hears = true;
                    gateway.receive(&connected, &request);
                }
                // The broker is lost, and perhaps what it knows of the device.
                None => match again(&gateway, &connected).await {
                    Some(subscribed) => requests = subscribed,
                    None => break,
                },
            },
            _ = renewal.tick() => {
                if !std::mem::take(&mut hears) {
                    match again(&gateway, &connected).await {
                        Some(subscribed) => requests = subscribed,
                        None => break,
                    }
                }
                gateway.renew(&connected).await;
                gateway.tidy();
            }
        }
    }
    gateway.withdraw(&connected).await;
}

/// Subscribes again, and tells again that the device is connected; `None` once its connection has
/// ended.
async fn again(gateway: &Inner, connected: &Connected) -> Option<Subscription> {
    loop {
        let trying = async {
            let requests = gateway.channels.subscribe(&gateway.requests(&connected.key)).await?;
            if !gateway.renewed(connected).await? {
                connected.gone.cancel();
            }
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
        self.channels.put(&self.record_key(&connected.key), json_of(&connected.record()), KEPT).await
    }

    /// Tells the process that has held the device until now that it does not any more.
    async fn take_over(&self, connected: &Connected) -> Result<(), StreamError> {
        let takeover = DeviceRequest::Takeover { connection: connected.id.clone() };
        self.channels.publish(&self.requests(&connected.key), json_of(&takeover)).await.map(drop)
    }

    /// Tells again that the device is connected; `false` if it is connected elsewhere since.
    async fn renewed(&self, connected: &Connected) -> Result<bool, StreamError> {
        match self.record(&connected.key).await? {
            Some(Record { connection, .. }) if connection != connected.id => Ok(false),
            _ => self.announce(connected).await.map(|()| true),
        }
    }

    /// Tells again that the device is connected, and asks for a ping of its own. A device that is
    /// connected elsewhere since is gone.
    async fn renew(&self, connected: &Connected) {
        let name = &connected.device.name;
        let renewing = async {
            if !self.renewed(connected).await? {
                tracing::info!(device = name, "the device is connected elsewhere");
                connected.gone.cancel();
                return Ok(());
            }
            self.channels.publish(&self.requests(&connected.key), json_of(&DeviceRequest::Ping)).await.map(drop)
        };
        if let Err(error) = renewing.await {
            let error: StreamError = error;
            tracing::warn!(device = name, %error, "a device cannot be announced");
        }
    }

    /// Forgets calls that nobody asks about any more, and the results of the oldest ones beyond
    /// what is kept.
    pub(super) fn tidy(&self) {
        let mut logs = self.logs();
        logs.retain(|_, log| !log.is_forgotten());
        let mut ended: Vec<_> = logs.iter_mut().filter_map(|(key, log)| Some((log.kept()?, &key.1, log))).collect();
        ended.sort_by_key(|((at, _), ..)| std::cmp::Reverse(*at));
        let mut kept = 0;
        for ((_, bytes), id, log) in ended {
            kept += bytes;
            if kept > MOST_KEPT
                && let Some(shrunk) = log.shrunk(unknown_outcome(id))
            {
                *log = Arc::new(shrunk);
            }
        }
    }

    async fn withdraw(&self, connected: &Connected) {
        let place = self.record_key(&connected.key);
        let removing = self.channels.remove(&place, json_of(&connected.record()));
        if !matches!(timeout(LAST_REQUEST, removing).await, Ok(Ok(()))) {
            tracing::debug!(device = connected.device.name, "a device could not be withdrawn: its record expires");
        }
    }

    /// Takes a request of another process.
    fn receive(self: &Arc<Self>, connected: &Arc<Connected>, request: &[u8]) {
        match serde_json::from_slice::<DeviceRequest>(request) {
            Ok(DeviceRequest::Call(request)) if request.connection == connected.id => {
                let (reply_to, known, after) = (request.reply_to.clone(), request.log.clone(), request.after);
                let log = self.call(connected, *request);
                let after = if known == log.id { after } else { 0 };
                let sending = tokio::spawn(send_replies(Arc::clone(self), Arc::clone(&log), reply_to, after));
                log.sends_by(sending.abort_handle());
            }
            Ok(DeviceRequest::Cancel { connection, tool_use_id, user, attempt })
                if connection == connected.id && user == connected.device.owner =>
            {
                self.cancel(connected, &tool_use_id, attempt);
            }
            Ok(DeviceRequest::Takeover { connection }) if connection != connected.id => connected.gone.cancel(),
            // For another connection of the device, or for nobody.
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(device = connected.device.name, %error, "a request cannot be read: skipped");
            }
        }
    }

    /// Makes a call, or joins it. A call that is known is answered by what is known of it, whatever
    /// the device offers since.
    pub(super) fn call(self: &Arc<Self>, connected: &Arc<Connected>, request: CallRequest) -> Arc<CallLog> {
        let key = (connected.key.clone(), request.call.tool_use_id.clone());
        if request.user != connected.device.owner {
            let result = ToolResultMessage::error(&*key.1, "not_permitted", not_permitted(connected));
            return Arc::new(CallLog::ended_with(Reply::Result(Box::new(result))));
        }
        self.tidy();
        if let Some(known) = joined(&self.logs(), &key, &request) {
            return known;
        }
        // The application decides without the lock.
        let refusal = self.refusal(connected, &request);
        let mut logs = self.logs();
        if let Some(known) = joined(&logs, &key, &request) {
            return known;
        }
        let was_given_up = logs.get(&key).is_some_and(|known| known.is_given_up());
        let log = if request.again && request.once && !was_given_up {
            Arc::new(CallLog::ended_with(unknown_outcome(&key.1)))
        } else {
            let log = Arc::new(CallLog::new());
            log.ask(request.attempt);
            match refusal {
                Some((code, message)) => {
                    let result = ToolResultMessage::error(&*key.1, code, message);
                    log.give_up(Reply::Result(Box::new(result)));
                }
                None => drop(tokio::spawn(perform(Arc::clone(connected), Arc::clone(&log), request))),
            }
            log
        };
        logs.insert(key, Arc::clone(&log));
        log
    }

    /// Returns code and message of a call that is not made.
    fn refusal(&self, connected: &Connected, request: &CallRequest) -> Option<(&'static str, String)> {
        let (device, call) = (&connected.device, &request.call);
        if !self.admits.as_ref().is_none_or(|admits| admits(device, call)) {
            return Some(("not_permitted", not_permitted(connected)));
        }
        let is_unknown = device.tool(&call.tool).is_none();
        is_unknown.then(|| ("unknown_tool", format!("device '{}' has no tool '{}' now", device.name, call.tool)))
    }

    /// Adds a reply of the device to its call.
    pub(super) fn add(&self, device: &DeviceKey, id: &str, reply: Reply) {
        let logs = self.logs();
        if let Some(log) = logs.get(&(device.clone(), id.to_owned())) {
            log.add(reply);
        } else {
            tracing::debug!(device = device.name(), id, "a device answers a call that nobody made");
        }
    }

    /// Gives a call up that this attempt does not wait for any more, unless a later attempt does.
    /// If the device has it, it is told after a while, unless somebody asks about the call until
    /// then: a worker that stops does not know whether another attempt follows.
    pub(super) fn cancel(&self, connected: &Arc<Connected>, id: &str, attempt: u32) {
        let logs = self.logs();
        let Some(log) = logs.get(&(connected.key.clone(), id.to_owned())).cloned() else { return };
        let given_up = ToolResultMessage::error(id, "cancelled", "the call was cancelled before the device had it");
        if log.has_ended() || log.attempt() > attempt || log.give_up(Reply::Result(Box::new(given_up))) {
            return;
        }
        let (connected, id, asked) = (Arc::clone(connected), id.to_owned(), log.asked());
        tokio::spawn(async move {
            sleep(NEXT_ATTEMPT).await;
            if !log.has_ended() && log.asked() == asked {
                connected.send(ToDevice::Cancel { tool_use_id: id });
            }
        });
    }
}

/// Returns the log of a call that is not made now; none if it is. A call that the device never had
/// is made, and so is an idempotent one whose connection was lost.
fn joined(
    logs: &BTreeMap<(DeviceKey, String), Arc<CallLog>>,
    key: &(DeviceKey, String),
    request: &CallRequest,
) -> Option<Arc<CallLog>> {
    let known = logs.get(key)?;
    let is_made_again = known.is_given_up() || !request.once && known.is_gone();
    (!is_made_again).then(|| {
        known.ask(request.attempt);
        Arc::clone(known)
    })
}

fn not_permitted(connected: &Connected) -> String {
    format!("this run may not call device '{}'", connected.device.name)
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
        if log.begin() {
            connected.send(ToDevice::Call(Box::new(request.call)));
            log.end().await;
        }
    };
    let longest = Duration::from_millis(request.timeout_ms);
    match timeout(longest, connected.gone.run_until_cancelled(made)).await {
        Ok(Some(())) => {}
        Ok(None) => log.add(Reply::Gone),
        Err(_) => {
            let busy = ToolResultMessage::error(&*id, "timed_out", "the device was busy, and has not got the call");
            if !log.give_up(Reply::Result(Box::new(busy))) {
                connected.send(ToDevice::Cancel { tool_use_id: id.clone() });
                log.add(unknown_outcome(&id));
            }
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
    let mut next = Some(NumberedReply { log: log.id.clone(), at: 0, reply: Reply::Accepted });
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
