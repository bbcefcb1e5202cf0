//! One call of a device's tool, from the worker's side.

use std::{future::Future, sync::Arc, time::Duration};

use futures::FutureExt;
use serde_json::{Map, Value};
use temporal_agents_core::{
    tool::{ActivityBody, ToolContext, ToolError},
    wire::{SideData, ToolOutput, remote_call::RemoteTarget},
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    DeviceGateway, Inner,
    connection::Connected,
    frame::Record,
    key::DeviceKey,
    request::{CallRequest, DeviceRequest, NumberedReply, Reply},
};
use crate::remote::{
    answer,
    message::{CallMessage, ToolResultMessage},
    one_call::{Lost, message_of, output_of, unless_cancelled},
    transport::{StreamError, Subscription},
};

/// Time of silence after which the caller asks again.
const SILENCE: Duration = Duration::from_secs(5);

/// Time for which nobody may hold the device of a call that was sent: after the loss of a broker,
/// the process that holds it connects again.
const ABSENT: Duration = Duration::from_secs(10);

/// Pause before a request to channels that were unavailable is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// Longest time to tell a device that nobody waits for its call any more.
const LAST_REQUEST: Duration = Duration::from_secs(2);

/// Returns the body of the activity of a call.
pub(crate) fn body(gateway: &DeviceGateway, target: RemoteTarget) -> ActivityBody {
    let gateway = Arc::clone(&gateway.0);
    Arc::new(move |ctx: &mut ToolContext, arguments| {
        let (gateway, target) = (Arc::clone(&gateway), target.clone());
        async move {
            let outcome = DeviceCall::new(gateway, target, ctx, arguments).outcome().await?;
            Ok(output_of(ctx, outcome))
        }
        .boxed()
    })
}

/// A call, at one attempt.
struct DeviceCall<'c> {
    gateway: Arc<Inner>,
    target: RemoteTarget,
    /// The device, which belongs to the user of the run.
    device: DeviceKey,
    ctx: &'c ToolContext,
    call: CallMessage,
    /// `true` if the device may have received the call.
    may_be_sent: bool,
    /// The log whose replies were taken; empty before the first.
    log: String,
    /// Number of replies that were taken.
    taken: u64,
    ends_at: Instant,
}

/// The end of a call.
enum Ended {
    Answered(Box<ToolResultMessage>),
    /// The connection of the device is lost.
    Gone,
}

impl Ended {
    fn result(self) -> Option<ToolResultMessage> {
        match self {
            Self::Answered(result) => Some(*result),
            Self::Gone => None,
        }
    }
}

impl<'c> DeviceCall<'c> {
    fn new(gateway: Arc<Inner>, target: RemoteTarget, ctx: &'c ToolContext, arguments: Map<String, Value>) -> Self {
        let (_, message) = message_of(ctx, &target, arguments);
        let call = CallMessage { tool: target.tool.clone(), ..message };
        let ends_at = Instant::now() + Duration::from_secs(target.timeout_seconds);
        let may_be_sent = ctx.info().attempt > 1;
        let device = DeviceKey::from_target(&target);
        Self { gateway, target, device, ctx, call, may_be_sent, log: String::new(), taken: 0, ends_at }
    }

    async fn outcome(mut self) -> Result<(ToolOutput, SideData), ToolError> {
        match self.result().await {
            Ok(result) => answer::of_result(&self.target, result),
            Err(lost) => {
                if !matches!(lost, Lost::Offline | Lost::NotPublished(_)) {
                    self.cancel().await;
                }
                Err(lost.failure(self.ctx, &self.target))
            }
        }
    }

    /// Returns the result: from a device that is connected to this process, or else from the
    /// process that holds it.
    async fn result(&mut self) -> Result<ToolResultMessage, Lost> {
        loop {
            let result = match self.gateway.here(&self.device) {
                Some(connected) => self.here(&connected).await?,
                None => self.elsewhere().await?,
            };
            match result {
                Some(result) => return Ok(result),
                // The connection was lost during the call.
                None if self.target.once => return Err(Lost::Unknown),
                None if self.is_over() => return Err(Lost::TimedOut),
                None => self.pause().await?,
            }
        }
    }

    /// Makes the call at a device that is connected to this process; `None` if its connection is
    /// lost.
    async fn here(&mut self, connected: &Arc<Connected>) -> Result<Option<ToolResultMessage>, Lost> {
        let request = self.request(connected.id.clone(), String::new());
        self.may_be_sent = true;
        self.taken = 0;
        let log = self.gateway.call(connected, request);
        loop {
            let left = self.ends_at.saturating_duration_since(Instant::now());
            let next = self.unless_cancelled(timeout(left, log.next(self.taken))).await?;
            match next {
                Ok(Some(reply)) => {
                    if let Some(ended) = self.take(reply) {
                        return Ok(ended.result());
                    }
                }
                Ok(None) => return Ok(None),
                Err(_) => return Err(Lost::not_in_time(&self.target)),
            }
        }
    }

    /// Makes the call through the process that holds the device; `None` if the device's connection
    /// is lost.
    async fn elsewhere(&mut self) -> Result<Option<ToolResultMessage>, Lost> {
        let reply_to = self.gateway.replies();
        let mut replies = self.subscribed(&reply_to).await?;
        loop {
            self.send(&reply_to).await?;
            loop {
                let next = self.unless_cancelled(timeout(SILENCE, replies.next())).await?;
                match next {
                    Ok(Some(reply)) => {
                        let reply = serde_json::from_slice::<NumberedReply>(&reply).ok();
                        if let Some(ended) = reply.and_then(|reply| self.take(reply)) {
                            return Ok(ended.result());
                        }
                    }
                    Ok(None) => {
                        replies = self.subscribed(&reply_to).await?;
                        break;
                    }
                    Err(_) if self.is_over() => return Err(Lost::not_in_time(&self.target)),
                    Err(_) => break,
                }
                if self.is_over() {
                    return Err(Lost::not_in_time(&self.target));
                }
            }
        }
    }

    async fn subscribed(&self, channel: &str) -> Result<Subscription, Lost> {
        loop {
            match self.unless_cancelled(self.gateway.channels.subscribe(channel)).await? {
                Ok(subscription) => return Ok(subscription),
                Err(error) if self.is_over() => return Err(self.not_sent(&error)),
                Err(_) => self.pause().await?,
            }
        }
    }

    /// Sends the call, or asks again about it.
    async fn send(&mut self, reply_to: &str) -> Result<(), Lost> {
        let channel = self.gateway.requests(&self.device);
        let mut absent_since = None;
        loop {
            match self.unless_cancelled(self.publish(&channel, reply_to)).await? {
                Ok(0) if !self.may_be_sent => return Err(Lost::Offline),
                Ok(0) => {
                    let since = *absent_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= ABSENT || self.is_over() {
                        return Err(if self.target.once { Lost::Unknown } else { Lost::Offline });
                    }
                    self.pause().await?;
                }
                Ok(_) => {
                    self.may_be_sent = true;
                    return Ok(());
                }
                Err(error @ StreamError::Name { .. }) => return Err(Lost::NotPublished(error.to_string())),
                Err(error) => {
                    self.may_be_sent |= error.is_ambiguous();
                    if self.is_over() {
                        return Err(self.not_sent(&error));
                    }
                    self.pause().await?;
                }
            }
        }
    }

    /// Sends the call to the connection that the device has now; returns the number of processes
    /// that listen, none if the device is not connected.
    async fn publish(&self, channel: &str, reply_to: &str) -> Result<usize, StreamError> {
        let Some(record) = self.gateway.record(&self.device).await? else { return Ok(0) };
        let request = DeviceRequest::Call(Box::new(self.request(record.connection, reply_to.to_owned())));
        let request = serde_json::to_vec(&request).unwrap_or_default();
        self.gateway.channels.publish(channel, request).await
    }

    fn request(&self, connection: String, reply_to: String) -> CallRequest {
        let left = self.ends_at.saturating_duration_since(Instant::now());
        CallRequest {
            call: self.call.clone(),
            connection,
            reply_to,
            log: self.log.clone(),
            after: self.taken,
            again: self.may_be_sent,
            attempt: self.ctx.info().attempt,
            once: self.target.once,
            user: self.device.owner().to_owned(),
            timeout_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Takes a reply; returns the end of the call, if it is one.
    fn take(&mut self, NumberedReply { log, at, reply }: NumberedReply) -> Option<Ended> {
        if log != self.log {
            (self.log, self.taken) = (log, 0);
        }
        if at > 0 && at != self.taken + 1 {
            return None;
        }
        self.taken = self.taken.max(at);
        match reply {
            Reply::OutputDelta(delta) => {
                self.ctx.output_delta(&delta.stream, delta.delta);
                None
            }
            Reply::Result(result) if result.tool_use_id == self.call.tool_use_id => Some(Ended::Answered(result)),
            Reply::Gone => {
                self.taken = 0;
                Some(Ended::Gone)
            }
            Reply::Result(_) | Reply::Accepted | Reply::Other => None,
        }
    }

    /// Tells the device that nobody waits for the call any more, as far as it can be reached.
    async fn cancel(&self) {
        let id = &self.call.tool_use_id;
        let device = &self.device;
        let attempt = self.ctx.info().attempt;
        if let Some(connected) = self.gateway.here(device) {
            self.gateway.cancel(&connected, id, attempt);
            return;
        }
        let user = device.owner().to_owned();
        let telling = async {
            let Some(Record { connection, .. }) = self.gateway.record(device).await? else { return Ok(0) };
            let request = DeviceRequest::Cancel { connection, tool_use_id: id.clone(), user, attempt };
            let request = serde_json::to_vec(&request).unwrap_or_default();
            self.gateway.channels.publish(&self.gateway.requests(device), request).await
        };
        let _ = timeout(LAST_REQUEST, telling).await;
    }

    fn not_sent(&self, error: &StreamError) -> Lost {
        if self.may_be_sent { Lost::not_in_time(&self.target) } else { Lost::NotPublished(error.to_string()) }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.ends_at
    }

    async fn pause(&self) -> Result<(), Lost> {
        self.unless_cancelled(sleep(PAUSE)).await
    }

    async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Result<T, Lost> {
        unless_cancelled(self.ctx, future).await
    }
}
