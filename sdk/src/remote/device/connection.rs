//! A device that is connected to this process.

use std::{fmt, sync::Arc};

use tokio::sync::{RwLock, mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Inner,
    frame::{Device, FromDevice, Record, ToDevice},
    key::DeviceKey,
    request::Reply,
};
use crate::remote::transport::StreamError;

/// Most bytes of one text of a device.
const LONGEST_TEXT: usize = 4 << 20;

/// A connected device, for the tasks of the process that holds it.
pub(super) struct Connected {
    /// Id of the connection.
    pub(super) id: String,
    pub(super) device: Device,
    pub(super) key: DeviceKey,
    outgoing: mpsc::UnboundedSender<ToDevice>,
    /// Held by the call that the device makes; shared by those of tools that only read.
    pub(super) turn: Arc<RwLock<()>>,
    /// Cancelled once the connection has ended.
    pub(super) gone: CancellationToken,
}

impl Connected {
    pub(super) fn new(device: Device) -> (Self, mpsc::UnboundedReceiver<ToDevice>) {
        let (outgoing, receiver) = mpsc::unbounded_channel();
        let id = Uuid::new_v4().simple().to_string();
        let key = device.key();
        let connected = Self { id, device, key, outgoing, turn: Arc::default(), gone: CancellationToken::new() };
        (connected, receiver)
    }

    /// Sends a text to the device. A connection that has ended ends the call by itself.
    pub(super) fn send(&self, text: ToDevice) {
        let _ = self.outgoing.send(text);
    }

    pub(super) fn record(&self) -> Record {
        Record { connection: self.id.clone(), device: self.device.clone() }
    }
}

/// The connection of a device, for the code that has its socket:
///
/// ```no_run
/// # use temporal_agents::remote::device::{Device, DeviceGateway};
/// # trait Socket {
/// #     async fn read(&mut self) -> Option<String>;
/// #     async fn write(&mut self, text: String);
/// # }
/// async fn serve(
///     gateway: DeviceGateway,
///     mut socket: impl Socket,
///     user: &str,
/// ) -> Result<(), Box<dyn std::error::Error>> {
///     let hello = socket.read().await.ok_or("the device has said nothing")?;
///     let mut connection = gateway.connect(Device::announced(&hello, user)?).await?;
///     loop {
///         tokio::select! {
///             text = connection.next() => match text {
///                 Some(text) => socket.write(text).await,
///                 None => return Ok(()),
///             },
///             text = socket.read() => match text {
///                 Some(text) => connection.receive(&text)?,
///                 None => return Ok(()),
///             },
///         }
///     }
/// }
/// ```
///
/// Once it is dropped, the device is offline, and its open calls end.
pub struct DeviceConnection {
    gateway: Arc<Inner>,
    connected: Arc<Connected>,
    outgoing: mpsc::UnboundedReceiver<ToDevice>,
}

impl DeviceConnection {
    pub(super) fn new(
        gateway: Arc<Inner>,
        connected: Arc<Connected>,
        outgoing: mpsc::UnboundedReceiver<ToDevice>,
    ) -> Self {
        Self { gateway, connected, outgoing }
    }

    /// Returns the device, as it was announced.
    pub fn device(&self) -> &Device {
        &self.connected.device
    }

    /// Returns the next text for the device; `None` once the device is connected elsewhere.
    pub async fn next(&mut self) -> Option<String> {
        let text = tokio::select! {
            biased;
            () = self.connected.gone.cancelled() => return None,
            text = self.outgoing.recv() => text?,
        };
        serde_json::to_string(&text).ok()
    }

    /// Takes a text of the device. One that cannot be read is ignored, since a later release of the
    /// device may know more.
    ///
    /// # Errors
    /// The text is too long: end the connection.
    pub fn receive(&self, text: &str) -> Result<(), StreamError> {
        let key = &self.connected.key;
        if text.len() > LONGEST_TEXT {
            let reason = format!("a text of {} bytes, the limit is {LONGEST_TEXT}", text.len());
            return Err(StreamError::Unavailable { stream: key.name().to_owned(), reason });
        }
        match serde_json::from_str::<FromDevice>(text) {
            Ok(FromDevice::OutputDelta(delta)) => {
                let id = delta.tool_use_id.clone();
                self.gateway.add(key, &id, Reply::OutputDelta(delta));
            }
            Ok(FromDevice::Result(result)) => {
                let id = result.tool_use_id.clone();
                self.gateway.add(key, &id, Reply::Result(Box::new(result)));
            }
            Ok(FromDevice::Hello { .. } | FromDevice::Other) => {}
            Err(error) => tracing::warn!(device = key.name(), %error, "a text of a device cannot be read: skipped"),
        }
        Ok(())
    }
}

impl Drop for DeviceConnection {
    fn drop(&mut self) {
        self.connected.gone.cancel();
        let mut connected = self.gateway.connected();
        if connected.get(&self.connected.key).is_some_and(|other| Arc::ptr_eq(other, &self.connected)) {
            connected.remove(&self.connected.key);
        }
    }
}

impl fmt::Debug for DeviceConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceConnection").field("device", &self.connected.device.name).finish_non_exhaustive()
    }
}
