//! A server that answers model calls as the test scripts it, byte by byte if need be.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use crate::hostile::server::{self, Connection};

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    head: String,
    /// The body, in the chunks of its transfer.
    chunks: Vec<Vec<u8>>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The end of the body.
    Proper,
    /// The connection is closed within the body.
    Broken,
    /// Nothing more, until the client closes the connection.
    Silence,
}

impl Answer {
    /// A stream in one piece.
    pub(crate) fn stream(body: impl AsRef<[u8]>) -> Self {
        Self::of("200 OK", "text/event-stream", body)
    }

    pub(crate) fn json(status: &str, body: &Value) -> Self {
        Self::of(status, "application/json", body.to_string())
    }

    pub(crate) fn of(status: &str, content_type: &str, body: impl AsRef<[u8]>) -> Self {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nx-request-id: req_1\r\n");
        Self { head, chunks: vec![body.as_ref().to_vec()], end: End::Proper }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.head.extend([name, ": ", value, "\r\n"]);
        self
    }

    /// Cuts the body at these places.
    pub(crate) fn cut(mut self, places: &[usize]) -> Self {
        let body = self.chunks.concat();
        let mut places: Vec<usize> = places.iter().map(|place| place % (body.len() + 1)).collect();
        places.extend([0, body.len()]);
        places.sort_unstable();
        self.chunks = places.windows(2).map(|pair| body[pair[0]..pair[1]].to_vec()).collect();
        self
    }

    /// Closes the connection in place of the end of the body.
    pub(crate) fn broken(mut self) -> Self {
        self.end = End::Broken;
        self
    }

    /// Sends nothing more after the chunks, and does not end the body.
    pub(crate) fn silent(mut self) -> Self {
        self.end = End::Silence;
        self
    }

    fn send(&self, connection: &mut Connection) -> io::Result<()> {
        let mut bytes = format!("{}transfer-encoding: chunked\r\n\r\n", self.head).into_bytes();
        for chunk in self.chunks.iter().filter(|chunk| !chunk.is_empty()) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        // In one write: the client sees the chunks of the transfer one by one anyway.
        connection.send(&bytes)?;
        match self.end {
            End::Proper => connection.send(b"0\r\n\r\n"),
            End::Broken => Err(io::ErrorKind::BrokenPipe.into()),
            // No other request follows: the read ends when the client closes the connection.
            End::Silence => connection.request().and(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

/// A server with a script.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    answers: VecDeque<Answer>,
    requests: Vec<Value>,
}

impl Server {
    /// Answers the requests in this order. The last answer is repeated.
    pub(crate) fn start(answers: impl IntoIterator<Item = Answer>) -> anyhow::Result<Self> {
        let state = Arc::new(Mutex::new(State { answers: answers.into_iter().collect(), requests: Vec::new() }));
        let script = Arc::clone(&state);
        let url = server::start(move |connection| {
            while let Some(request) = connection.request()? {
                let answer = {
                    let mut state = lock(&script);
                    state.requests.push(serde_json::from_slice(&request.body).map_err(io::Error::other)?);
                    if state.answers.len() > 1 { state.answers.pop_front() } else { state.answers.front().cloned() }
                };
                answer.ok_or(io::ErrorKind::NotFound)?.send(connection)?;
            }
            Ok(())
        })?;
        Ok(Self { url, state })
    }

    /// Replaces the answers that are left.
    pub(crate) fn answer(&self, answers: impl IntoIterator<Item = Answer>) {
        lock(&self.state).answers = answers.into_iter().collect();
    }

    /// The bodies of the requests since the last look.
    pub(crate) fn requests(&self) -> Vec<Value> {
        std::mem::take(&mut lock(&self.state).requests)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
