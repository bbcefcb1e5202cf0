//! A client of the Temporal server that the environment names.

use std::error::Error;

use temporal_agents_core::wire::error_debug;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions,
    envconfig::{ConfigError, LoadClientConfigProfileOptions},
};
use temporalio_common::envconfig::load_client_config_profile;

/// The address of a dev server.
const DEFAULT_ADDRESS: &str = "localhost:7233";
const DEFAULT_NAMESPACE: &str = "default";

/// The error of a connection to a Temporal server.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The environment variables or Temporal's configuration file cannot be used.
    #[error("invalid settings in the environment or in Temporal's configuration file: {reason}")]
    Settings {
        /// The reason.
        reason: String,
    },
    /// The connection could not be established: no server answers, or it rejects TLS or the API key.
    #[error(
        "cannot connect to the Temporal server at {address}; start one with `temporal server start-dev`, or check \
         TEMPORAL_ADDRESS, TEMPORAL_API_KEY and the settings of TLS: {source}"
    )]
    Connection {
        /// Address of the server.
        address: String,
        /// Error of the client.
        source: Box<dyn Error + Send + Sync>,
    },
}

error_debug!(enum ConnectError {
    Settings { reason },
    Connection { address, source },
});

/// Connects to the Temporal server of the environment.
///
/// Reads what all programs of Temporal read: `TEMPORAL_ADDRESS` (default `localhost:7233`),
/// `TEMPORAL_NAMESPACE` (default `default`), `TEMPORAL_API_KEY`, the variables of TLS, and the profile of
/// Temporal's configuration file.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = temporal_agents::client::connect_from_env().await?;
/// # let _ = client;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ConnectError::Settings`] if the environment or the configuration file is invalid, and
/// [`ConnectError::Connection`], with the address, if the connection fails.
pub async fn connect_from_env() -> Result<Client, ConnectError> {
    let profile = load_client_config_profile(LoadClientConfigProfileOptions::default(), None);
    let mut profile = profile.map_err(|error| settings_error(&error))?;
    let address = profile.address.get_or_insert_with(|| DEFAULT_ADDRESS.to_owned()).clone();
    let namespace = profile.namespace.clone().unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned());
    let connection_error =
        |source: Box<dyn Error + Send + Sync>| ConnectError::Connection { address: address.clone(), source };
    let options = ConnectionOptions::try_from(profile).map_err(|error| settings_error(&error))?;
    let connection = Connection::connect(options).await.map_err(|error| connection_error(error.into()))?;
    Client::new(connection, ClientOptions::new(namespace).build()).map_err(|error| connection_error(error.into()))
}

/// Keeps the text of the error, which is not `Send`.
fn settings_error(error: &ConfigError) -> ConnectError {
    ConnectError::Settings { reason: error.to_string() }
}
