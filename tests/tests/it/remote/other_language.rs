//! A provider and a caller in Python, which have only a Redis connection.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};
use temporal_agents::{remote::transport::RedisTransport, tool::RemoteToolset, wire::RemoteTool};
use temporal_agents_testing::RedisServer;
use tokio::sync::oneshot;

use super::support::{Gates, caller, environment, model, provider, run, told};

/// A program that is killed with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn python(server: &RedisServer, arguments: &[&str]) -> anyhow::Result<Program> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/remote/other_language.py");
    let port = server.url().rsplit(':').next().unwrap_or_default().to_owned();
    let child = Command::new("python3").arg(script).arg(port).args(arguments).stdout(Stdio::piped()).spawn()?;
    Ok(Program(child))
}

#[tokio::test]
async fn a_rust_run_calls_a_provider_in_python() -> anyhow::Result<()> {
    let server = RedisServer::start().await?;
    let mut program = python(&server, &["serve", "3"])?;
    let mut lines = BufReader::new(program.0.stdout.take().expect("piped")).lines();
    assert_eq!(lines.next().transpose()?.as_deref(), Some("READY"));
    let number = json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]});
    let listed = [
        RemoteTool::new("python.double", "Doubles a number.", number.clone()),
        RemoteTool::new("page", "Returns a page.", json!({"type": "object"})).bounded(),
        RemoteTool::new("refuse", "Refuses.", number),
    ];
    let agent = caller(&RemoteToolset::named("python"), listed);
    let calls = [("double", json!({"number": 21})), ("page", json!({})), ("refuse", json!({"number": 1}))];
    let model = model(&calls);
    let env = environment(&agent, &model, RedisTransport::new(&server.url())?, false).await?;
    run(&env, async {}).await?;
    env.finish().await?;
    let issues = r#"[{"field":"number","constraint":"invalid_range","allowed":[]}]"#;
    assert_eq!(
        told(&model),
        [
            r#"{"double":42}"#.to_owned(),
            r#"{"result":["a"],"returned":1,"total":9,"truncated":true,"next_cursor":"c2"}"#.to_owned(),
            format!("too large (invalid_arguments). What does not fit: {issues}"),
        ]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_in_python_uses_a_rust_provider() -> anyhow::Result<()> {
    let server = RedisServer::start().await?;
    let provider = provider(&Gates::default(), RedisTransport::new(&server.url())?);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move { provider.serve(async { drop(stopped.await) }).await });
    let lines = |arguments: [&str; 3]| -> anyhow::Result<Vec<String>> {
        let mut program = python(&server, &arguments)?;
        Ok(BufReader::new(program.0.stdout.take().expect("piped")).lines().collect::<Result<_, _>>()?)
    };
    let echoed = tokio::task::block_in_place(|| lines(["call", "demo.echo", r#"{"text": "hello"}"#]));
    let read = |line: &str| -> anyhow::Result<(String, Value)> {
        let (event, message) = line.split_once(' ').expect("an event and a message");
        Ok((event.to_owned(), serde_json::from_str(message)?))
    };
    let echoed: Vec<_> = echoed?.iter().map(|line| read(line)).collect::<anyhow::Result<_>>()?;
    let delta = json!({"tool_use_id": "python-1", "stream": "stdout", "delta": "echo hello"});
    let result = json!({"tool_use_id": "python-1", "result_json": "hello"});
    assert_eq!(echoed, [("output_delta".to_owned(), delta), ("result".to_owned(), result)]);
    drop(stop);
    serving.await?;
    Ok(())
}
