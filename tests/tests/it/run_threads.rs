//! Runs that wait hold no thread: neither of tokio's blocking pool, which DNS and files need, nor one each.

mod waiting;

use std::{
    process::{Command, Stdio},
    sync::Arc,
};

use futures::future::BoxFuture;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Model, ModelProvider, Resources, ToolError,
    inline::InlineRunner,
    provider::ModelError,
    tool,
    wire::{ModelCall, ModelResponse},
    worker::ToolRegistry,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};
use tokio::{
    runtime::{Builder, Runtime},
    task::spawn_blocking,
    time::timeout,
};

use crate::PATIENCE;

/// A model that needs the blocking pool for each answer, as one does that resolves a name.
#[derive(Clone)]
struct Resolving(FakeModel);

impl Model for Resolving {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            spawn_blocking(|| ()).await.expect("it does not panic");
            self.0.call(call).await
        })
    }
}

impl ModelProvider for Resolving {
    fn model<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model: Arc<dyn Model> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(Some(model))))
    }
}

/// Reads a file.
#[tool]
async fn read() -> Result<String, ToolError> {
    spawn_blocking(|| "a line".to_owned()).await.map_err(|error| ToolError::failed(error.to_string()))
}

/// Calls a tool of a registry.
#[tool]
async fn delegate() -> Result<String, ToolError> {
    let registry = ToolRegistry::default().register(read)?;
    Ok(registry.dispatch("read", "{}").await?.text())
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).max_blocking_threads(1).enable_all().build().expect("a runtime")
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().max_blocking_threads(1).enable_all().build().expect("a runtime")
}

/// What comes of it with one thread in the blocking pool.
fn with_one_thread<T>(runtime: Runtime, running: impl Future<Output = T>) -> Option<T> {
    let ended = runtime.block_on(async { timeout(PATIENCE, running).await });
    // It would wait for what hangs.
    runtime.shutdown_background();
    ended.ok()
}

#[rstest]
#[case::multi_thread(multi_thread())]
#[case::current_thread(current_thread())]
fn a_run_leaves_the_blocking_pool_to_others(#[case] runtime: Runtime) {
    let model = Resolving(FakeModel::script([tool_call("delegate", json!({})), text("read")]));
    let reader = Agent::new("reader").model("gpt-5").tool(delegate);
    let runner = InlineRunner::new(model.clone());
    let ended = with_one_thread(runtime, async { runner.run(&reader, "Read.").await });
    let ended = ended.expect("the run does not hang").expect("the run succeeds");
    assert_eq!(ended.final_output, "read");
    let calls = model.0.calls();
    assert_eq!(calls[1].input.last().and_then(|item| item.get("output")), Some(&json!("a line")));
}

/// Panics.
#[tool(inline)]
fn trip() -> String {
    panic!("it tripped")
}

#[tokio::test]
async fn a_panic_of_one_run_leaves_the_others() -> anyhow::Result<()> {
    let checkpoint = |runner: InlineRunner| runner.on_checkpoint(|_| panic!("the checkpoint panics"));
    let model = || FakeModel::script([text("fine")]);
    let agent = Agent::new("clerk").model("gpt-5").tool(trip);
    for _ in 0..40 {
        let broken = checkpoint(InlineRunner::new(model()));
        let agent = agent.clone();
        let panicked = tokio::spawn(async move { broken.run(&agent, "hello").await.map(|_| ()) }).await;
        assert!(panicked.is_err_and(|error| error.is_panic()));
    }
    let fine = InlineRunner::new(model()).run(&agent, "hello").await?;
    assert_eq!(fine.final_output, "fine");
    Ok(())
}

/// Blocks its thread until it is told to go on.
#[tool]
async fn block(temporal_agents::State(go_on): temporal_agents::State<Arc<std::sync::Barrier>>) -> String {
    go_on.wait();
    "awake".to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tool_that_blocks_its_thread_does_not_stop_other_runs() -> anyhow::Result<()> {
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let model = FakeModel::script([tool_call("block", json!({})), text("done")]);
    let blocked = InlineRunner::new(Resources::new().model_provider(model).state(Arc::clone(&barrier)));
    let sleeper = Agent::new("sleeper").model("gpt-5").tool(block);
    let running = tokio::spawn(async move { blocked.run(&sleeper, "Sleep.").await.map(|ended| ended.final_output) });
    // More than there are threads for runs.
    for _ in 0..40 {
        let model = FakeModel::script([tool_call("read", json!({})), text("fine")]);
        let clerk = Agent::new("clerk").model("gpt-5").tool(read);
        let fine = timeout(PATIENCE, InlineRunner::new(model).run(&clerk, "hello")).await;
        assert_eq!(fine??.final_output, "fine");
    }
    spawn_blocking(move || barrier.wait()).await?;
    assert_eq!(running.await??, "done");
    Ok(())
}

#[test]
#[cfg(target_os = "linux")]
fn two_thousand_waiting_runs_and_sessions_share_a_few_threads() -> anyhow::Result<()> {
    let mut program = Command::new(std::env::current_exe()?);
    let test = "run_threads::waiting::runs_wait_only_where_a_test_has_started_them";
    let child = program.args([test, "--exact", "--nocapture"]).env(waiting::TASK, "yes");
    let output = child.stdin(Stdio::null()).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("threads while 2000 inline runs and 2000 sessions wait"), "{printed}");
    Ok(())
}
