//! The quickstart with a key, against servers that do not stream.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

/// The answer of a server to a request that is to be streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unstreamed {
    /// One JSON body, as without the parameter.
    Ignored,
    /// Status 400.
    Refused,
}

/// Starts a server of the Responses API on a free port of the loopback interface. Returns its URL,
/// and the member `stream` of each request.
fn serve(unstreamed: Unstreamed) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/v1", listener.local_addr().expect("it is bound"));
    let streams: Arc<Mutex<Vec<Value>>> = Arc::default();
    let record = Arc::clone(&streams);
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            // A connection that the client opens ahead has no request.
            let Some(request) = read(&connection) else { continue };
            let stream = request["stream"].clone();
            let (status, body) = if unstreamed == Unstreamed::Refused && stream == true {
                let message = "Unrecognized request argument supplied: stream";
                ("400 Bad Request", json!({"error": {"message": message, "param": "stream"}}))
            } else {
                ("200 OK", answer(&request))
            };
            record.lock().expect("not poisoned").push(stream);
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
                body.len()
            );
            // A client that is gone needs no answer.
            let _ = connection.write_all(format!("{head}\r\n{body}").as_bytes());
        }
    });
    (url, streams)
}

/// Reads the JSON body of a request; `None` if the connection has none.
fn read(connection: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// Answers as a model that follows the instructions of the travel desk.
fn answer(request: &Value) -> Value {
    let has = |list: &str, member: &str, value: &str| {
        request[list].as_array().is_some_and(|list| list.iter().any(|entry| entry[member] == value))
    };
    let call = |name: &str, arguments: Value| {
        json!({
            "type": "function_call", "id": format!("fc_{name}"), "call_id": format!("call_{name}"), "name": name,
            "arguments": arguments.to_string(), "status": "completed",
        })
    };
    let output = if has("tools", "name", "transfer_to_planner") {
        json!([call("transfer_to_planner", json!({}))])
    } else if has("input", "call_id", "call_get_weather") {
        let plan = json!({"city": "Oslo", "reason": "it is sunny", "euros": 210}).to_string();
        let content = json!([{"type": "output_text", "text": plan, "annotations": []}]);
        json!([{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}])
    } else {
        json!([call("get_weather", json!({"city": "Oslo"}))])
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    json!({"id": "resp_1", "status": "completed", "output": output, "usage": usage})
}

/// Runs the quickstart to its end; returns the member `stream` of each request.
fn quickstart(unstreamed: Unstreamed) -> Vec<Value> {
    let (url, streams) = serve(unstreamed);
    let mut program = Command::new(env!("CARGO_BIN_EXE_quickstart"));
    program.env("OPENAI_API_KEY", "a-key").env("OPENAI_BASE_URL", url);
    let output = program.output().expect("the program can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "OPENAI_API_KEY is set: the provider's model plays.",
        "  => triage hands off to planner",
        "  <- get_weather = {\"city\":\"Oslo\",\"celsius\":12,\"sky\":\"clear\"}",
        "  says: {\"city\":\"Oslo\",\"reason\":\"it is sunny\",\"euros\":210}",
        "Answer: go to Oslo for 210 euros, because it is sunny",
        "Used 3 model calls, 30 tokens in, 15 out.",
    ] {
        assert!(text.contains(line), "{line:?} is missing in:\n{text}");
    }
    let streams = streams.lock().expect("not poisoned");
    streams.clone()
}

#[test]
fn the_quickstart_reads_the_whole_answers_of_a_server_that_ignores_the_stream() {
    assert_eq!(quickstart(Unstreamed::Ignored), [json!(true), json!(true), json!(true)]);
}

#[test]
fn the_quickstart_requests_whole_answers_of_a_server_that_refuses_the_stream() {
    assert_eq!(quickstart(Unstreamed::Refused), [json!(true), Value::Null, Value::Null, Value::Null]);
}
