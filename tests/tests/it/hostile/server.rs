//! Servers that do harm: plain sockets on threads that end with the test process.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

/// A request as far as these servers look at it.
pub(crate) struct Request {
    /// `POST`, `GET`, ..
    pub(crate) method: String,
    pub(crate) body: Vec<u8>,
}

/// A connection with a victim.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    /// The next request; none when the victim has closed the connection.
    pub(crate) fn request(&mut self) -> io::Result<Option<Request>> {
        let (mut line, mut length) = (String::new(), 0);
        if self.0.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let method = line.split(' ').next().unwrap_or_default().to_owned();
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let header = line.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(bytes) = header.strip_prefix("content-length:") {
                length = bytes.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok(Some(Request { method, body }))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes)
    }

    /// Sends status, headers and body.
    pub(crate) fn respond(&mut self, status: &str, body: &[u8]) -> io::Result<()> {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        self.send(head.as_bytes())?;
        self.send(body)
    }
}

/// Serves each connection on a thread of its own until the test process ends; the address as a URL.
pub(crate) fn start(
    serve: impl Fn(&mut Connection) -> io::Result<()> + Send + Sync + 'static,
) -> anyhow::Result<String> {
    let (listener, serve) = (TcpListener::bind("127.0.0.1:0")?, Arc::new(serve));
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            // A victim that hangs up in the middle has done right.
            thread::spawn(move || drop(serve(&mut Connection(BufReader::new(stream)))));
        }
    });
    Ok(url)
}
