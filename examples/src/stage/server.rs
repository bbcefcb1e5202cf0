//! A client of a server that another process has started.

use anyhow::Context;
use temporal_agents_testing::ServerAddress;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};

/// Connects a client to the server at this address. `identity` names the program in the server's
/// records.
///
/// # Errors
/// The server cannot be reached.
pub async fn connect(address: &ServerAddress, namespace: &str, identity: &str) -> anyhow::Result<Client> {
    let connection = Connection::connect(ConnectionOptions::new(address.url()).identity(identity).build()).await;
    let connection = connection.with_context(|| format!("no Temporal server at {address}"))?;
    Ok(Client::new(connection, ClientOptions::new(namespace).build())?)
}
