//! The service over HTTP in a process of its own, until SIGTERM.

use std::net::Ipv4Addr;

use temporal_agents::http::AgentsService;
use temporal_agents_testing::ServerAddress;
use temporal_agents_tests::bench::stream::narrator;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, GrpcCompression};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use crate::serve::READY;

/// Serves the API on a free port of the loopback address, and prints READY and its address.
pub(crate) async fn api(address: &ServerAddress, task_queue: &str) -> anyhow::Result<()> {
    let options = ConnectionOptions::new(address.url()).grpc_compression(GrpcCompression::None).build();
    let client = Client::new(Connection::connect(options).await?, ClientOptions::new("default").build())?;
    let router = AgentsService::new(&client, task_queue).agents((narrator,)).into_router();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    println!("{READY} {}", listener.local_addr()?);
    // Without a graceful shutdown, which would wait for the readers.
    tokio::select! {
        ended = axum::serve(listener, router) => Ok(ended?),
        _ = terminate.recv() => Ok(()),
    }
}
