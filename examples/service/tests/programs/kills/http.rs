//! A request to the API of `serve`.

use std::{
    io::{Error, Result},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// The longest time that a request takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends a request; returns the status and the JSON of the body.
pub(super) async fn request(port: u16, method: &str, path: &str, body: &Value) -> Result<(u16, Value)> {
    let asking = async {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut connection = TcpStream::connect(("127.0.0.1", port)).await?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        connection.read_to_string(&mut response).await?;
        let status = response.get(9..12).and_then(|status| status.parse().ok());
        let body = response.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        let status = status.ok_or_else(|| Error::other("no status"))?;
        Ok((status, serde_json::from_str(body).unwrap_or_default()))
    };
    timeout(PATIENCE, asking).await.map_err(Error::other)?
}
