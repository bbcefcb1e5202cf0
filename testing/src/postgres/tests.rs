//! Tests with a real server, and with its own files as witnesses. Those with clients are in
//! `tests/tests/it/sql_store/`.

use std::net::TcpStream;

use super::PostgresServer;

fn accepts_connections(server: &PostgresServer) -> bool {
    TcpStream::connect(("127.0.0.1", server.port)).is_ok()
}

#[tokio::test]
async fn a_server_serves_until_it_is_killed_and_again_on_the_same_port() {
    let mut server = PostgresServer::start().await.unwrap();
    let (url, first) = (server.url("postgres"), server.pid().unwrap());
    assert!(accepts_connections(&server));
    server.kill();
    assert!(!accepts_connections(&server) && server.pid().is_none());
    server.restart().await.unwrap();
    assert!(accepts_connections(&server));
    assert_ne!(server.pid().unwrap(), first);
    assert_eq!(server.url("postgres"), url);
}

#[tokio::test]
async fn a_dropped_server_has_ended_and_leaves_no_files() {
    let server = PostgresServer::start().await.unwrap();
    let (port, cluster) = (server.port, server.data.cluster());
    assert!(cluster.is_dir());
    drop(server);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    assert!(!cluster.exists() && !cluster.parent().unwrap().exists());
}

#[tokio::test]
async fn debug_output_has_no_password() {
    let server = PostgresServer::start().await.unwrap();
    assert!(server.url("postgres").contains(server.data.password()));
    assert!(!format!("{server:?}").contains(server.data.password()));
}
