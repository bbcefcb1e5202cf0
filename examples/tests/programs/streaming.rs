//! The narrator's worker as a process, and a client that uses only type names and JSON.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use temporal_agents_examples::streaming::{
    model::{WORDS, story},
    worker::READY,
};
use temporal_agents_testing::DevServer;
use temporalio_client::{
    Client, UntypedUpdate, WorkflowExecuteUpdateOptions, WorkflowGetResultOptions, WorkflowHandle, WorkflowStartOptions,
};
use temporalio_common::{
    UntypedWorkflow,
    data_converters::{PayloadConverter, RawValue},
};
use tokio::time::timeout;

const TASK_QUEUE: &str = "stories";
/// Deadline after which a worker without an answer counts as hanging.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program, which is killed if the test ends early.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // An error means that the process is dead already, which is the goal.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the program with these arguments, and waits for its line.
fn start(configure: impl FnOnce(&mut Command)) -> anyhow::Result<Program> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_streaming"));
    program.args(["worker", "--task-queue", TASK_QUEUE]).env_remove("TEMPORAL_ADDRESS").stdout(Stdio::piped());
    configure(&mut program);
    let mut child = Program(program.spawn()?);
    let stdout = child.0.stdout.take().expect("it is piped");
    let first = BufReader::new(stdout).lines().next().transpose()?;
    anyhow::ensure!(first.as_deref() == Some(READY), "the first line is {first:?}");
    Ok(child)
}

async fn begin(
    client: &Client,
    workflow_type: &str,
    id: &str,
    input: Value,
) -> anyhow::Result<WorkflowHandle<Client, UntypedWorkflow>> {
    let input = RawValue::from_value(&input, &PayloadConverter::default());
    let options = WorkflowStartOptions::new(TASK_QUEUE, id).build();
    Ok(client.start_workflow(UntypedWorkflow::new(workflow_type), input, options).await?)
}

fn words(answer: &Value) -> usize {
    answer.as_str().unwrap_or_default().split_whitespace().count()
}

/// Calls the agent once, and in a chat: 200 words each.
async fn ask(client: &Client, name: &str) -> anyhow::Result<()> {
    let converter = PayloadConverter::default();
    let input = json!({"agent": "narrator", "input": "Tell me a story."});
    let run = begin(client, "AgentWorkflow", &format!("run-{name}"), input).await?;
    let told = timeout(PATIENCE, run.get_result(WorkflowGetResultOptions::default())).await??;
    assert_eq!(words(&told.to_value(&converter)), WORDS);

    let chat = begin(client, "ChatWorkflow", &format!("chat-{name}"), json!({"agent": "narrator"})).await?;
    let message = RawValue::from_value(&json!({"text": "Tell me a story."}), &converter);
    let options = WorkflowExecuteUpdateOptions::default();
    let reply = timeout(PATIENCE, chat.execute_update(UntypedUpdate::new("chat_send"), message, options)).await??;
    let reply: Value = reply.to_value(&converter);
    assert_eq!(reply["outcome"]["kind"], "answered", "{reply}");
    assert_eq!(words(&reply["outcome"]["output"]), WORDS);
    Ok(())
}

#[tokio::test]
async fn the_narrator_tells_200_words_to_a_client_that_knows_type_names_alone() -> anyhow::Result<()> {
    let server = DevServer::start().await?;
    let client = server.client().await?;
    let worker = start(|program| {
        program.args(["--address", server.address()]);
    })?;
    ask(&client, "by-address").await?;
    drop(worker);
    let worker = start(|program| {
        program.args(["--address", &server.target_url(), "--namespace", "default"]);
    })?;
    ask(&client, "by-url").await?;
    drop(worker);
    let worker = start(|program| {
        program.env("TEMPORAL_ADDRESS", server.address());
    })?;
    ask(&client, "by-environment").await?;
    drop(worker);
    drop(client);
    server.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn tokens_of_the_last_attempt_are_the_beginning_of_the_answer() -> anyhow::Result<()> {
    let server = DevServer::start().await?;
    let client = server.client().await?;
    let worker = start(|program| {
        program.args(["--address", server.address(), "--deltas", "heartbeat", "--break-after", "25"]);
    })?;
    let input = json!({"agent": "narrator", "input": "Tell me a story."});
    begin(&client, "AgentWorkflow", "told", input).await?;
    let events = timeout(PATIENCE, watched(&server, "told", None)).await??;
    let has = |event: &Value, member: &str| event.get(member).is_some_and(|value| value.as_str() != Some(""));
    assert!(events.iter().all(|event| has(event, "cursor") && has(event, "id") && has(event, "kind")), "{events:?}");
    let message = events.iter().find(|event| event["kind"] == "message").expect("the answer in one event");
    assert_eq!(words(&message["text"]), WORDS);
    for attempt in [1, 2] {
        let parts = events.iter().filter(|event| event["kind"] == "text_delta" && event["attempt"] == attempt);
        let told: String = parts.filter_map(|event| event["delta"].as_str()).collect();
        assert!(!told.is_empty() && message["text"].as_str().is_some_and(|text| text.starts_with(&told)), "{told}");
    }
    drop(worker);
    drop(client);
    server.shutdown().await;
    Ok(())
}

#[cfg(unix)]
#[tokio::test]
async fn the_worker_ends_well_on_sigterm() -> anyhow::Result<()> {
    let server = DevServer::start().await?;
    let mut worker = start(|program| {
        program.args(["--address", server.address()]);
    })?;
    let kill = Command::new("sh").args(["-c", &format!("kill -TERM {}", worker.0.id())]).status()?;
    assert!(kill.success());
    let ended = tokio::task::spawn_blocking(move || worker.0.wait());
    assert!(timeout(PATIENCE, ended).await???.success());
    server.shutdown().await;
    Ok(())
}

/// Runs `watch --json` to its end.
async fn watched(server: &DevServer, workflow_id: &str, from: Option<&str>) -> anyhow::Result<Vec<Value>> {
    let mut watch = tokio::process::Command::new(env!("CARGO_BIN_EXE_streaming"));
    watch.args(["watch", "--address", server.address(), "--workflow", workflow_id, "--json"]).kill_on_drop(true);
    watch.args(from.into_iter().flat_map(|cursor| ["--from", cursor]));
    let output = timeout(PATIENCE, watch.output()).await??;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

#[tokio::test]
async fn watch_prints_one_event_per_line_and_ends_with_the_run() -> anyhow::Result<()> {
    let server = DevServer::start().await?;
    let client = server.client().await?;
    let worker = start(|program| {
        program.args(["--address", server.address()]);
    })?;
    let input = json!({"agent": "narrator", "input": "Tell me a story."});
    begin(&client, "AgentWorkflow", "story", input).await?;
    let events = watched(&server, "story", None).await?;
    for event in &events {
        for member in ["cursor", "id", "kind"] {
            assert!(event[member].is_string(), "{member} of {event}");
        }
        assert!(event.get("type").is_none(), "{event}");
    }
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["kind"].as_str()).collect();
    let expected =
        ["run_started", "turn_started", "model_call_scheduled", "model_call_answered", "message", "run_finished"];
    assert_eq!(kinds, expected);
    assert_eq!([words(&events[4]["text"]), words(&events[5]["output"])], [WORDS; 2]);
    let rest = watched(&server, "story", events[2]["cursor"].as_str()).await?;
    assert_eq!(rest, events[3..]);
    let unknown = watched(&server, "nothing", None).await.expect_err("there is none").to_string();
    assert!(unknown.contains("there is no workflow \"nothing\""), "{unknown}");
    drop(worker);
    server.shutdown().await;
    Ok(())
}

#[test]
fn both_sides_run_in_one_program_and_the_story_is_printed_while_it_is_written() -> anyhow::Result<()> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_streaming"));
    let mut child = Program(program.env_remove("TEMPORAL_ADDRESS").stdout(Stdio::piped()).spawn()?);
    let mut stdout = child.0.stdout.take().expect("it is piped");
    // The output, and its length after each read.
    let (mut output, mut lengths, mut buffer) = (Vec::new(), Vec::new(), [0; 4096]);
    loop {
        let read = stdout.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        output.extend_from_slice(&buffer[..read]);
        lengths.push(output.len());
    }
    let text = String::from_utf8(output)?;
    assert!(child.0.wait()?.success(), "{text}");
    // A busy machine prints the beginning of the story before the call that it belongs to.
    let start = text.find("says: ").unwrap_or_else(|| panic!("the story is not told in:\n{text}")) + "says: ".len();
    let end = text.find("\n  100 tokens").unwrap_or_else(|| panic!("the story does not end in:\n{text}"));
    let told = match text[start..end].split_once(" …\n") {
        Some((beginning, rest)) => {
            let (_, rest) = rest.split_once("\n  … ").unwrap_or_else(|| panic!("no continuation in:\n{text}"));
            format!("{beginning}{rest}")
        }
        None => text[start..end].to_owned(),
    };
    assert_eq!(told, story(), "{text}");
    // Ten heartbeats a second for five seconds; a busy machine sends fewer.
    let parts = lengths.iter().filter(|length| (start..end).contains(length)).count();
    assert!(parts >= 5, "{parts} parts of the story, in:\n{text}");
    assert!(text.ends_with("narrator has finished\nUsed 1 model call, 100 tokens in, 20 out.\n"), "{text}");
    Ok(())
}
