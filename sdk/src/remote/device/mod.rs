//! Devices: machines of people that offer tools over a connection which one process holds.
//!
//! A device connects to a *gateway process*, for example over a WebSocket, and announces its tools.
//! That process holds a [`DeviceConnection`], and moves text between it and the socket. A worker
//! holds no connections: it has a [`DeviceGateway`] over the same [`Channels`], and its calls reach
//! the process that holds the device, which answers on a channel of the call.
//!
//! | file | what is in it |
//! |---|---|
//! | here | the gateway of a process: who is connected here, and who is anywhere |
//! | `frame.rs` | what a device and its gateway send each other |
//! | `connection.rs` | a device that is connected to this process |
//! | `holder.rs` | calls from other processes, for a device that is connected here |
//! | `call_log.rs` | what is known of a call, for those who ask again |
//! | `request.rs` | the messages between processes |
//! | `caller.rs` | one call, from the worker's side |
//!
//! # Design
//! **A device belongs to one user.** A run selects it by name, and finds it only if the run's user
//! owns it and it is connected then. The process that holds it checks the user again at each call.
//!
//! **A call has one id for ever**, its idempotency key. The process that holds the device keeps
//! what it knows of a call, so that an attempt that asks again joins the call, or gets its result.
//! If nobody knows the call, and its tool is not idempotent, it ends as *outcome unknown*.
//!
//! **A device makes one call at a time**, and those of tools that only read side by side.
//!
//! **Channels lose messages**, so silence is no answer: the caller asks again, with the number of
//! the last reply that it has.

mod call_log;
mod caller;
mod connection;
mod frame;
mod holder;
mod request;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use serde_json::json;
use uuid::Uuid;

pub(crate) use self::caller::body;
use self::{call_log::CallLog, connection::Connected, frame::Record};
pub use self::{
    connection::DeviceConnection,
    frame::{Device, DeviceRefused, FromDevice, ToDevice},
};
use super::{
    message::CallMessage,
    source::{ToolsetQuery, ToolsetSource},
    transport::{Channels, StreamError},
};
use crate::{tool::BoxError, wire::SelectedToolset};

/// Name of the transport of devices.
pub(crate) const DEVICES: &str = "devices";

/// Time after which a device whose gateway process is gone counts as offline.
const KEPT: Duration = Duration::from_secs(40);

/// Time between two renewals of that.
const RENEWED: Duration = Duration::from_secs(10);

type Admits = Arc<dyn Fn(&str, &CallMessage) -> bool + Send + Sync>;

/// The devices of a system, as one process sees them. Clones share their connections.
///
/// ```
/// use temporal_agents::{
///     Resources,
///     remote::{device::DeviceGateway, transport::MemoryTransport},
/// };
///
/// // Across processes: `RedisTransport` (feature `redis`).
/// let gateway = DeviceGateway::new(MemoryTransport::new());
/// let resources = Resources::new().devices(gateway);
/// # let _ = resources;
/// ```
#[derive(Clone)]
pub struct DeviceGateway(Arc<Inner>);

struct Inner {
    channels: Arc<dyn Channels>,
    prefix: String,
    admits: Option<Admits>,
    /// The devices that are connected to this process, by name.
    connected: Mutex<BTreeMap<String, Arc<Connected>>>,
    /// The calls of those devices, by device and id; a while longer than they take.
    logs: Mutex<BTreeMap<(String, String), Arc<CallLog>>>,
}

impl DeviceGateway {
    /// Creates the gateway of a process, which reaches others over these channels.
    pub fn new(channels: impl Channels) -> Self {
        Self(Arc::new(Inner {
            channels: Arc::new(channels),
            prefix: "agents".to_owned(),
            admits: None,
            connected: Mutex::default(),
            logs: Mutex::default(),
        }))
    }

    /// Sets the prefix of keys and channels, `<prefix>:device:<name>`. Default: `agents`. All
    /// processes of a system have the same. Has no effect once the gateway is shared.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.prefix = prefix.into();
        }
        self
    }

    /// Sets who decides, in the process that holds a device, whether a call may be made: a function
    /// of the device's name and the call, whose `meta` names the run. Default: any call of the
    /// device's owner. Has no effect once the gateway is shared.
    #[must_use]
    pub fn admit(mut self, admits: impl Fn(&str, &CallMessage) -> bool + Send + Sync + 'static) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.admits = Some(Arc::new(admits));
        }
        self
    }

    /// Connects a device to this process. A connection that it has already, here or in another
    /// process, ends.
    ///
    /// # Errors
    /// The device is none that [`Device::announced`] returns, a device of another user is connected
    /// by this name, or the channels are unavailable.
    pub async fn connect(&self, device: Device) -> Result<DeviceConnection, DeviceRefused> {
        // It may have been read from elsewhere.
        device.check().map_err(|reason| DeviceRefused { reason })?;
        let unavailable = |error: StreamError| DeviceRefused { reason: error.to_string() };
        let known = self.find_device(&device.name).await.map_err(unavailable)?;
        if known.is_some_and(|known| known.owner != device.owner) {
            let reason = format!("{:?} is the name of another user's device; choose another one", device.name);
            return Err(DeviceRefused { reason });
        }
        let (connected, outgoing) = Connected::new(device);
        let connected = Arc::new(connected);
        holder::begin(&self.0, &connected).await.map_err(unavailable)?;
        let before = self.0.connected().insert(connected.device.name.clone(), Arc::clone(&connected));
        if let Some(before) = before {
            before.gone.cancel();
        }
        Ok(DeviceConnection::new(Arc::clone(&self.0), connected, outgoing))
    }

    /// Returns the device of this name, if it is connected anywhere.
    ///
    /// # Errors
    /// The channels are unavailable.
    pub async fn find_device(&self, name: &str) -> Result<Option<Device>, StreamError> {
        Ok(self.0.record(name).await?.map(|record| record.device))
    }
}

impl Inner {
    fn connected(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Connected>>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn logs(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), Arc<CallLog>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the device, if it is connected to this process.
    fn here(&self, name: &str) -> Option<Arc<Connected>> {
        self.connected().get(name).filter(|connected| !connected.gone.is_cancelled()).cloned()
    }

    /// Key of what is known of a device.
    fn key(&self, name: &str) -> String {
        format!("{}:device:{name}", self.prefix)
    }

    /// Channel of the requests to the process that holds a device.
    fn requests(&self, name: &str) -> String {
        format!("{}:device:{name}:rpc", self.prefix)
    }

    /// Channel of the replies to one caller.
    fn replies(&self) -> String {
        format!("{}:device:rpc-reply:{}", self.prefix, Uuid::new_v4().simple())
    }

    async fn record(&self, name: &str) -> Result<Option<Record>, StreamError> {
        if !frame::is_name(name) {
            return Ok(None);
        }
        // A lost answer here must not look like a call that may have been sent.
        let kept = self.channels.get(&self.key(name)).await.map_err(StreamError::without_effect)?;
        let Some(json) = kept else { return Ok(None) };
        match serde_json::from_slice::<Record>(&json) {
            Ok(record) if record.device.name == name => Ok(Some(record)),
            Ok(_) => Ok(None),
            Err(error) => {
                tracing::warn!(device = name, %error, "what is known of a device cannot be read: it counts as offline");
                Ok(None)
            }
        }
    }
}

impl ToolsetSource for DeviceGateway {
    fn find<'a>(&'a self, query: &'a ToolsetQuery) -> BoxFuture<'a, Result<Vec<SelectedToolset>, BoxError>> {
        async move {
            let mut found = Vec::new();
            let Some(user) = &query.user else { return Ok(found) };
            for name in &query.names {
                let device = self.find_device(name).await?;
                found.extend(device.filter(|device| device.owner == *user).map(Device::selected));
            }
            Ok(found)
        }
        .boxed()
    }
}

impl fmt::Debug for DeviceGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.connected().keys().cloned().collect();
        f.debug_struct("DeviceGateway").field("connected", &json!(names)).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
