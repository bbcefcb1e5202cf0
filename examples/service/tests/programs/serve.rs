//! The program `serve`, as its users run it.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use temporal_agents_testing::RedisServer;

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

/// The program, without settings from the environment of the tests.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serve"));
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        // Those that remain say where the dev server's program is.
        if name.starts_with("TEMPORAL_") && !name.starts_with("TEMPORAL_AGENTS_") && name != "TEMPORAL_CLI" {
            command.env_remove(&variable);
        }
    }
    // A file that is empty: not the one of the user who runs the tests.
    for name in ["AGENTS_TOKEN", "AGENT_RUNNER_MODE", "DATABASE_URL", "REDIS_URL"] {
        command.env_remove(name);
    }
    command.env("TEMPORAL_CONFIG_FILE", "/dev/null").stdout(Stdio::piped());
    command
}

/// Starts the program in the mode "inprocess"; returns it with its address.
fn start_in_process(database: &str) -> (Serve, String) {
    let mut command = command();
    command.args(["--mode", "inprocess", "--database", database]);
    let mut serve = Serve(command.spawn().expect("serve starts"));
    let lines = BufReader::new(serve.0.stdout.take().expect("an output")).lines();
    let first = lines.map_while(Result::ok).next().expect("serve has ended before it was ready");
    // It has connected to no server of Temporal.
    let address = first.strip_prefix("READY http://").expect("the first line is the address");
    (serve, address.to_owned())
}

/// Starts the program; returns it with Temporal's address and namespace, and its own address.
fn start(command: &mut Command) -> (Serve, String, String) {
    let mut serve = Serve(command.spawn().expect("serve starts"));
    let lines = BufReader::new(serve.0.stdout.take().expect("an output")).lines();
    let mut lines = lines.map_while(Result::ok);
    let mut line = |prefix: &str| lines.find_map(|line| line.strip_prefix(prefix).map(str::to_owned));
    let temporal = line("TEMPORAL ").expect("serve has ended before it was connected");
    let address = line("READY http://").expect("serve has ended before it was ready");
    (serve, temporal, address)
}

#[test]
fn an_address_without_a_server_and_an_unknown_profile_are_named() {
    for (variable, value, named) in [
        ("TEMPORAL_ADDRESS", "127.0.0.1:1", "no Temporal server at 127.0.0.1:1"),
        ("TEMPORAL_PROFILE", "nowhere", "nowhere"),
    ] {
        let ended = command().env(variable, value).stderr(Stdio::piped()).output().expect("serve starts");
        assert!(!ended.status.success());
        let error = String::from_utf8_lossy(&ended.stderr);
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn serve_answers_streams_and_stops_what_it_has_started() {
    let (mut serve, temporal, address) = start(&mut command());

    assert!(request(&address, "GET", "/", "").contains("<!doctype html>"));
    let message = r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Good morning!"}]}"#;
    let answer = request(&address, "POST", "/agui/desk", message);
    let deltas = answer.matches("TEXT_MESSAGE_CONTENT").count();
    assert!(deltas >= 10 && answer.contains("RUN_FINISHED"), "{deltas} deltas: {answer}");
    let refund = message.replace("Good morning!", "I want a refund.");
    let asked = request(&address, "POST", "/agui/clerk", &refund);
    assert_eq!(asked.matches("\"reason\":\"tool_call\"").count(), 1, "{asked}");

    // Another replica finds the server by Temporal's configuration file, and knows the same runs.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("temporal.toml");
    let (server, namespace) = temporal.split_once(' ').expect("an address and a namespace");
    let profile = format!("[profile.default]\naddress = \"{server}\"\nnamespace = \"{namespace}\"\n");
    std::fs::write(&file, profile).expect("the file is written");
    let (replica, of_replica, other) = start(command().arg("--api-only").env("TEMPORAL_CONFIG_FILE", &file));
    assert_eq!(of_replica, temporal);
    let run = request(&other, "GET", "/runs/desk:t", "");
    assert!(run.contains("\"agent\":\"desk\""), "{run}");
    drop(replica);
    // One of another queue, which finds it by the variables, serves other runs.
    let variables = [("TEMPORAL_ADDRESS", server), ("TEMPORAL_NAMESPACE", namespace), ("TEMPORAL_TASK_QUEUE", "other")];
    let (replica, of_replica, other) = start(command().arg("--api-only").envs(variables));
    assert_eq!(of_replica, temporal);
    let run = request(&other, "GET", "/runs/desk:t", "");
    assert!(run.starts_with("HTTP/1.1 404"), "{run}");
    drop(replica);

    let stopped = Command::new("kill").arg(serve.0.id().to_string()).status().expect("kill runs");
    assert!(stopped.success());
    let ended = serve.0.wait().expect("serve ends");
    assert!(ended.success(), "{ended}");
}

/// Tells the program to use a server of Temporal that runs.
fn at<'c>(command: &'c mut Command, temporal: &str) -> &'c mut Command {
    let (server, namespace) = temporal.split_once(' ').expect("an address and a namespace");
    command.args(["--address", server, "--namespace", namespace])
}

#[tokio::test]
async fn a_worker_sends_tokens_over_redis_to_an_api_in_another_process() {
    let redis = RedisServer::start().await.expect("a Redis server");
    let url = redis.url();
    let over_redis = ["--redis", &*url];
    let (_server, temporal, _) = start(command().args(["--task-queue", "unused"]));
    let mut worker =
        Serve(at(command().arg("--worker-only").args(over_redis), &temporal).spawn().expect("serve starts"));
    let mut lines = BufReader::new(worker.0.stdout.take().expect("an output")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "READY"), "the worker has ended before it was ready");
    let (_api, _, address) = start(at(command().arg("--api-only").args(over_redis), &temporal));
    let message = r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Good morning!"}]}"#;
    let answer = request(&address, "POST", "/agui/desk", message);
    let deltas = answer.matches("TEXT_MESSAGE_CONTENT").count();
    assert!(deltas >= 10 && answer.contains("RUN_FINISHED"), "{deltas} deltas: {answer}");

    // Another API without Redis has the facts alone.
    let (_api, _, other) = start(at(command().arg("--api-only"), &temporal));
    let answer = request(&other, "POST", "/agui/desk", &message.replace("\"t\"", "\"u\""));
    let deltas = answer.matches("TEXT_MESSAGE_CONTENT").count();
    assert!(deltas < 10 && answer.contains("RUN_FINISHED"), "{deltas} deltas: {answer}");
}

#[test]
fn an_unknown_mode_is_named() {
    let ended = command().env("AGENT_RUNNER_MODE", "both").stderr(Stdio::piped()).output().expect("serve starts");
    assert!(!ended.status.success());
    let error = String::from_utf8_lossy(&ended.stderr);
    assert!(error.contains("\"both\"") && error.contains("inprocess"), "{error}");
}

#[test]
fn runs_in_a_process_need_no_temporal_and_only_those_that_wait_survive_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = format!("sqlite:{}", folder.path().join("agents.db").display());
    let (mut one, first) = start_in_process(&database);
    let (mut other, second) = start_in_process(&database);

    let message = r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Good morning!"}]}"#;
    let answer = request(&first, "POST", "/agui/desk", message);
    let deltas = answer.matches("TEXT_MESSAGE_CONTENT").count();
    assert!(deltas >= 10 && answer.contains("RUN_FINISHED"), "{deltas} deltas: {answer}");
    let refund = message.replace("Good morning!", "I want a refund.");
    let asked = request(&first, "POST", "/agui/clerk", &refund);
    assert_eq!(asked.matches("\"reason\":\"tool_call\"").count(), 1, "{asked}");
    let begun = request(&first, "POST", "/runs", r#"{"agent":"desk","input":"Good morning!","id":"lost"}"#);
    assert!(begun.contains("201 Created"), "{begun}");
    // A run that has not begun would begin in the other process.
    while !request(&first, "GET", "/runs/lost", "").contains("\"status\":\"running\"") {}

    one.0.kill().expect("the process ends");
    one.0.wait().expect("the process ends");
    let facts = request(&second, "GET", "/runs/lost/events", "");
    assert!(facts.contains("\"kind\":\"run_failed\"") && facts.contains("ProcessLost"), "{facts}");
    let run = request(&second, "GET", "/runs/lost", "");
    assert!(run.contains("\"status\":\"failed\""), "{run}");
    let id = asked.split("\"interrupts\":[{\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let id = id.expect("the id of the call");
    let resume = format!(
        r#"{{"threadId":"t","runId":"r2","messages":[],"resume":[{{"interruptId":"{id}","status":"resolved","payload":{{"approved":true}}}}]}}"#
    );
    let paid = request(&second, "POST", "/agui/clerk", &resume);
    assert!(paid.contains("refunded 40 euros") && paid.contains("RUN_FINISHED"), "{paid}");

    let stopped = Command::new("kill").arg(other.0.id().to_string()).status().expect("kill runs");
    assert!(stopped.success());
    assert!(other.0.wait().expect("serve ends").success());
}
