//! Tests with a real server. Those with clients are in `tests/tests/it/remote/`.

use std::net::TcpStream;

use super::RedisServer;

fn accepts_connections(server: &RedisServer) -> bool {
    TcpStream::connect(("127.0.0.1", server.port)).is_ok()
}

#[tokio::test]
async fn a_server_serves_until_it_is_killed_and_again_on_the_same_port() {
    let mut server = RedisServer::start().await.unwrap();
    let (url, first) = (server.url(), server.pid().unwrap());
    assert!(accepts_connections(&server));
    server.kill();
    assert!(!accepts_connections(&server) && server.pid().is_none());
    server.restart().await.unwrap();
    assert!(accepts_connections(&server));
    assert_ne!(server.pid().unwrap(), first);
    assert_eq!(server.url(), url);
}

#[tokio::test]
async fn a_dropped_server_has_ended_and_leaves_no_files() {
    let server = RedisServer::start().await.unwrap();
    let (port, log) = (server.port, server.log());
    assert!(log.is_file());
    drop(server);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    assert!(!log.parent().unwrap().exists());
}
