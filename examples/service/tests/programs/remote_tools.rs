//! `remote_tools serve` and `remote_tools run`, as two processes with a Redis server between them.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Output, Stdio},
};

use temporal_agents_testing::RedisServer;

const TOOLS: &str = r#"[
    {"name": "echo", "description": "Returns its text.", "payload_schema": {"type": "object"}},
    {"name": "demo.slow", "description": "Works.", "payload_schema": {"type": "object"}},
    {"name": "fail", "payload_schema": {"type": "object"}}
]"#;

struct Provider(Child);

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_remote_tools"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_calls_the_tools_that_another_process_serves() -> anyhow::Result<()> {
    let server = RedisServer::start().await?;
    let url = server.url();
    let mut provider = Provider(program().args(["serve", "--redis", &url]).stdout(Stdio::piped()).spawn()?);
    let mut lines = BufReader::new(provider.0.stdout.take().expect("piped")).lines();
    assert_eq!(lines.next().transpose()?.as_deref(), Some("READY"));
    let directory = tempfile::tempdir()?;
    let tools = directory.path().join("tools.json");
    fs::write(&tools, TOOLS)?;
    let run = |tool: &str, arguments: &str| -> std::io::Result<Output> {
        program()
            .args(["run", "--redis", &url, "--toolset", "demo", "--schema"])
            .arg(&tools)
            .args(["--call", tool, "--args", arguments])
            .output()
    };
    let told = |output: Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        let line = text.lines().find(|line| line.starts_with("model: ")).map(str::to_owned);
        (line.unwrap_or_else(|| panic!("nothing was told: {text}")), text)
    };
    let (line, text) = told(run("slow", r#"{"seconds": 2}"#)?);
    assert_eq!(line, "model: 2 seconds have passed");
    let (delta, model) = (text.find(".. slow progress: 1 of 2 seconds"), text.find("model: "));
    assert!(delta.is_some() && delta < model, "{text}");
    assert!(text.find("# AgentWorkflow") > model, "the transcript is last: {text}");
    assert_eq!(told(run("fail", r#"{"message": "no paper"}"#)?).0, "model: no paper (execution_failed)");
    let (line, _) = told(run("echo", r#"{"text": 5}"#)?);
    assert!(line.contains("(invalid_arguments)") && line.contains(r#""field":"text""#), "{line}");
    let unknown = run("sing", "{}")?;
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("--call sing: the list of tools has echo, slow, fail"));
    Ok(())
}
