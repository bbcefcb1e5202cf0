//! A key of several lines, which an error quotes as its author's formatter writes it.

use std::time::Duration;

use prost::Message;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources,
    mcp::McpTransport,
    tool::{McpServer, ToolActivityOptions},
    worker_env,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{DevServer, FakeModel, environment::WorkerThread, history};
use temporalio_client::WorkflowGetResultOptions;
use temporalio_sdk::WorkerOptions;
use tokio::{runtime::Runtime, time::timeout};

use super::{
    forged::{TASK_QUEUE, client, start},
    victim::attack_with,
};

pub(super) const NAME: &str = "AGENTS_HOSTILE_KEY";
/// No real key, and shaped like one; one line has quotes, which formatters escape.
pub(super) const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    Comment: \"the key of the vault\", of 2026\n\
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n\
    MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n\
    +NSoAoGBAPnnp7Yx0wJ8uVQ5MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDu\n\
    -----END PRIVATE KEY-----\n";
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn a_key_that_an_error_quotes_in_any_form_is_in_no_history() -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let server = runtime.block_on(DevServer::start())?;
    attack_with("a quoted key", &server.target_url(), [(NAME, KEY)])?;
    runtime.block_on(server.shutdown());
    Ok(())
}

fn agent() -> Agent {
    let once = ToolActivityOptions::builder().attempts(1).build();
    let server = McpServer::named("vault").argument(worker_env!("AGENTS_HOSTILE_KEY")).list_options(once);
    Agent::new("clerk").model("gpt-5").mcp_server(server)
}

/// A text as it stands in a URL.
fn percent_encoded(text: &str) -> String {
    let each = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(each).collect()
}

/// A key as it is, as `Debug` and JSON write it, both twice, as a URL has it, and a line alone.
pub(super) fn in_all_forms(key: &str) -> String {
    let debug = format!("{key:?}");
    let json = json!({"key": key}).to_string();
    let line = key.lines().nth(2).unwrap_or_default();
    format!("{key}; {debug}; {debug:?}; {json}; {json:?}; {}; {line}", percent_encoded(key))
}

/// The lines that give the key away, as they are and as formatters write them.
pub(super) fn traces() -> Vec<String> {
    let lines = KEY.lines().filter(|line| !line.starts_with("-----"));
    lines
        .flat_map(|line| {
            let escaped = format!("{line:?}");
            let escaped_twice = format!("{escaped:?}");
            let inner = |text: &str, cut: usize| text[cut..text.len() - cut].to_owned();
            [line.to_owned(), inner(&escaped, 1), inner(&escaped_twice, 4), percent_encoded(line)]
        })
        .collect()
}

pub(super) fn quoted_key(target: &str) -> anyhow::Result<String> {
    Runtime::new()?.block_on(quote(target))
}

async fn quote(target: &str) -> anyhow::Result<String> {
    let transport = McpTransport::factory(|argument| async move {
        let key = argument.and_then(|argument| argument.as_str().map(str::to_owned)).ok_or("no key")?;
        Err(format!("cannot use {}", in_all_forms(&key)).into())
    });
    let mut options = WorkerOptions::new(TASK_QUEUE)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent,))))?
        .build();
    let resources =
        Resources::new().model_provider(FakeModel::script([])).mcp_server("vault", transport).allow_env([NAME]);
    AgentsPlugin::new(resources).agents((agent,)).install(&mut options)?;
    let worker = WorkerThread::start(target.to_owned(), "default", options)?;
    let client = client(target).await?;
    let handle = start(&client, "AgentWorkflow", "quoted", &json!("hi")).await?;
    let ended = timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await?;
    anyhow::ensure!(ended.is_err(), "the server cannot be reached");
    let history = history::fetch(&client, "quoted", None).await?;
    let (json, bytes) = (history::to_json(&history), history.encode_to_vec());
    anyhow::ensure!(json.contains("cannot use"), "the error is not recorded at all: {json}");
    let found: Vec<String> = traces()
        .into_iter()
        .filter(|trace| json.contains(&**trace) || bytes.windows(trace.len()).any(|window| window == trace.as_bytes()))
        .collect();
    anyhow::ensure!(found.is_empty(), "in history stands: {found:#?}");
    drop(worker);
    Ok("nothing of the key is in history".to_owned())
}
