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
//! | `key.rs` | the key of a device: its owner and its name |
//! | `frame.rs` | what a device and its gateway send each other |
//! | `connection.rs` | a device that is connected to this process |
//! | `holder.rs` | calls from other processes, for a device that is connected here |
//! | `call_log.rs` | what is known of a call, for those who ask again |
//! | `request.rs` | the messages between processes |
//! | `caller.rs` | one call, from the worker's side |
//!
//! # Design
//! **A device belongs to one user.** A run selects it by name, among the devices of the run's user
//! that are connected then. Devices of other users are not looked at: two users may each have a
//! `laptop`, and neither learns of the other's. The process that holds a device checks the user
//! again at each call.
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
mod key;
mod request;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use serde_json::json;
use temporal_agents_core::{tool::BoxError, wire::SelectedToolset};
use uuid::Uuid;

pub(crate) use self::caller::body;
use self::{call_log::CallLog, connection::Connected, frame::Record, key::DeviceKey};
pub use self::{
    connection::DeviceConnection,
    frame::{Device, DeviceRefused, FromDevice, ToDevice},
};
use super::{
    message::CallMessage,
    source::{ToolsetQuery, ToolsetSource},
    transport::{Channels, StreamError},
};

/// Name of the transport of devices.
pub(crate) const DEVICES: &str = "devices";

/// Time after which a device whose gateway process is gone counts as offline.
const KEPT: Duration = Duration::from_secs(40);

/// Time between two renewals of that.
const RENEWED: Duration = Duration::from_secs(10);

type Admits = Arc<dyn Fn(&Device, &CallMessage) -> bool + Send + Sync>;

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
    /// The devices that are connected to this process.
    connected: Mutex<BTreeMap<DeviceKey, Arc<Connected>>>,
    /// The calls of those devices, by device and id; a while longer than they take.
    logs: Mutex<BTreeMap<(DeviceKey, String), Arc<CallLog>>>,
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

    /// Sets the prefix of keys and channels, `<prefix>:device:<digest of the owner>:<name>`. Default:
    /// `agents`. All processes of a system have the same. Has no effect once the gateway is shared.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.prefix = prefix.into();
        }
        self
    }

    /// Sets who decides, in the process that holds a device, whether a call may be made: a function
    /// of the device and the call, whose `meta` names the run. Default: any call of the device's
    /// owner. Has no effect once the gateway is shared.
    #[must_use]
    pub fn admit(mut self, admits: impl Fn(&Device, &CallMessage) -> bool + Send + Sync + 'static) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.admits = Some(Arc::new(admits));
        }
        self
    }

    /// Connects a device to this process. Ends an earlier connection of the owner's device of this
    /// name, here or in another process.
    ///
    /// # Errors
    /// The device is not valid (see [`Device::announced`]), or the channels are unavailable.
    pub async fn connect(&self, device: Device) -> Result<DeviceConnection, DeviceRefused> {
        // It may have been read from elsewhere.
        device.check().map_err(|reason| DeviceRefused { reason })?;
        let unavailable = |error: StreamError| DeviceRefused { reason: error.to_string() };
        let (connected, outgoing) = Connected::new(device);
        let connected = Arc::new(connected);
        holder::begin(&self.0, &connected).await.map_err(unavailable)?;
        let before = self.0.connected().insert(connected.key.clone(), Arc::clone(&connected));
        if let Some(before) = before {
            before.gone.cancel();
        }
        Ok(DeviceConnection::new(Arc::clone(&self.0), connected, outgoing))
    }

    /// Returns this owner's device of this name, if it is connected anywhere.
    ///
    /// # Errors
    /// The channels are unavailable.
    pub async fn find_device(&self, owner: &str, name: &str) -> Result<Option<Device>, StreamError> {
        Ok(self.0.record(&DeviceKey::new(owner, name)).await?.map(|record| record.device))
    }
}

impl Inner {
    fn connected(&self) -> std::sync::MutexGuard<'_, BTreeMap<DeviceKey, Arc<Connected>>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn logs(&self) -> std::sync::MutexGuard<'_, BTreeMap<(DeviceKey, String), Arc<CallLog>>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the device, if it is connected to this process.
    fn here(&self, key: &DeviceKey) -> Option<Arc<Connected>> {
        self.connected().get(key).filter(|connected| !connected.gone.is_cancelled()).cloned()
    }

    /// Returns the key of the record of a device.
    fn record_key(&self, key: &DeviceKey) -> String {
        format!("{}:device:{}", self.prefix, key.channel_part())
    }

    /// Channel of the requests to the process that holds a device.
    fn requests(&self, key: &DeviceKey) -> String {
        format!("{}:device:{}:rpc", self.prefix, key.channel_part())
    }

    /// Channel of the replies to one caller.
    fn replies(&self) -> String {
        format!("{}:device:rpc-reply:{}", self.prefix, Uuid::new_v4().simple())
    }

    async fn record(&self, key: &DeviceKey) -> Result<Option<Record>, StreamError> {
        if !key.is_valid() {
            return Ok(None);
        }
        // A lost answer here must not look like a call that may have been sent.
        let kept = self.channels.get(&self.record_key(key)).await.map_err(StreamError::without_effect)?;
        let Some(json) = kept else { return Ok(None) };
        match serde_json::from_slice::<Record>(&json) {
            Ok(record) if record.device.key() == *key => Ok(Some(record)),
            Ok(_) => Ok(None),
            Err(error) => {
                tracing::warn!(device = key.name(), %error, "the record of a device cannot be read: it counts as offline");
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
                found.extend(self.find_device(user, name).await?.map(Device::selected));
            }
            Ok(found)
        }
        .boxed()
    }
}

impl fmt::Debug for DeviceGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.connected().keys().map(|key| key.name().to_owned()).collect();
        f.debug_struct("DeviceGateway").field("connected", &json!(names)).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
