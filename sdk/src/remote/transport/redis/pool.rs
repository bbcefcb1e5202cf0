//! Connections that no other request uses at the same time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ::redis::{AsyncConnectionConfig, Client, aio::MultiplexedConnection};

use super::{StreamError, reason_of, unavailable};

/// Longest time to connect.
const CONNECT: Duration = Duration::from_secs(5);

/// Most connections that are kept while no request uses them.
const MOST_IDLE: usize = 64;

/// The connections to one server.
#[derive(Clone)]
pub(super) struct Pool {
    client: Client,
    idle: Arc<Mutex<Vec<MultiplexedConnection>>>,
}

impl Pool {
    pub(super) fn new(client: Client) -> Self {
        Self { client, idle: Arc::default() }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a connection that no request uses; with `is_fresh` a new one.
    ///
    /// # Errors
    /// [`StreamError::Unavailable`] if the server cannot be reached.
    pub(super) async fn take(&self, stream: &str, is_fresh: bool) -> Result<MultiplexedConnection, StreamError> {
        if !is_fresh {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if let Some(connection) = idle {
                return Ok(connection);
            }
        }
        // The callers limit the time for an answer, which depends on the request.
        let config = AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT)).set_response_timeout(None);
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        connecting.await.map_err(|error| unavailable(stream, reason_of(&error)))
    }

    /// Keeps a connection whose request has ended without an error.
    pub(super) fn give_back(&self, connection: MultiplexedConnection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }
}
