//! The program `serve`, as its users run it.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// The longest time that a request takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A program that ends with the test.
struct Serve(Child);

impl Drop for Serve {
    fn drop(&mut self) {
        // It has ended already, unless the test has failed.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Sends a request; returns the whole response.
fn request(address: &str, method: &str, path: &str, body: &str) -> String {
    let mut connection = TcpStream::connect(address).expect("the service listens");
    connection.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(request.as_bytes()).expect("the request is sent");
    let mut response = String::new();
    connection.read_to_string(&mut response).expect("a response");
    response
}

#[test]
fn serve_answers_streams_and_stops_what_it_has_started() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serve"));
    command.env_remove("TEMPORAL_ADDRESS").env_remove("AGENTS_TOKEN").stdout(Stdio::piped());
    let mut serve = Serve(command.spawn().expect("serve starts"));
    let lines = BufReader::new(serve.0.stdout.take().expect("an output")).lines();
    let ready = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("READY http://").map(str::to_owned));
    let address = ready.expect("serve has ended before it was ready");

    assert!(request(&address, "GET", "/", "").contains("<!doctype html>"));
    let message = r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Good morning!"}]}"#;
    let answer = request(&address, "POST", "/agui/desk", message);
    let deltas = answer.matches("TEXT_MESSAGE_CONTENT").count();
    assert!(deltas >= 10 && answer.contains("RUN_FINISHED"), "{deltas} deltas: {answer}");
    let refund = message.replace("Good morning!", "I want a refund.");
    let asked = request(&address, "POST", "/agui/clerk", &refund);
    assert_eq!(asked.matches("\"reason\":\"tool_call\"").count(), 1, "{asked}");

    let stopped = Command::new("kill").arg(serve.0.id().to_string()).status().expect("kill runs");
    assert!(stopped.success());
    let ended = serve.0.wait().expect("serve ends");
    assert!(ended.success(), "{ended}");
}
