//! Calls of a provider that answers.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    AgentsPlugin, Resources,
    remote::{
        message::{ToolCallMessage, ToolResultMessage, result_stream, toolset_stream},
        transport::{Append, MemoryTransport, Streams},
    },
    tool::RemoteToolset,
    wire::{EventKind, RemoteTool},
    worker::InstallIssue,
};
use temporal_agents_testing::FakeModel;
use temporalio_sdk::WorkerOptions;
use tokio::sync::oneshot;

use super::support::{Gates, caller, described, environment, model, provider, run, run_inline, told};
use crate::PATIENCE;

#[rstest]
#[tokio::test]
async fn a_provider_answers_durable_and_inline_runs_alike(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let streams = MemoryTransport::new();
    let serving = tokio::spawn({
        let provider = provider(&Gates::default(), streams.clone());
        async move { provider.serve(std::future::pending()).await }
    });
    let agent = caller(&RemoteToolset::named("demo").prefix("far_"), described());
    let calls = [
        ("far_echo", json!({"text": "hello"})),
        ("far_add", json!({"a": 1, "b": 2})),
        ("far_fail", json!({"message": "no paper"})),
        ("far_add", json!({"a": "one"})),
    ];
    let durable = model(&calls);
    let env = environment(&agent, &durable, streams.clone(), cached).await?;
    run(&env, async {}).await?;
    env.finish().await?;
    let inline = model(&calls);
    let events = run_inline(&agent, &inline, streams).await?;
    let answers = told(&durable);
    assert_eq!(answers[..2], ["hello", r#"{"sum":3}"#]);
    assert_eq!(answers[2], "no paper (execution_failed)");
    assert_eq!(
        answers[3],
        r#"Invalid JSON input for tool far_add: a: fails type, allowed: "integer"; b: missing, allowed: "integer""#
    );
    assert_eq!(answers, told(&inline));
    let delta = |event: &temporal_agents::wire::RunEvent| match &event.kind {
        EventKind::ToolOutputDelta { stream, delta, .. } => Some((stream.clone(), delta.clone())),
        _ => None,
    };
    let deltas: Vec<_> = events.iter().filter_map(delta).collect();
    assert_eq!(deltas, [("stdout".to_owned(), "echo hello".to_owned())]);
    serving.abort();
    Ok(())
}

#[tokio::test]
async fn a_call_has_the_form_of_the_protocol_and_its_result_may_be_there_before_the_reader() -> anyhow::Result<()> {
    let streams = MemoryTransport::new();
    streams.create_group(&toolset_stream("demo"), "provider", Duration::ZERO).await?;
    let model = model(&[("echo", json!({"text": "hello"}))]);
    let agent = caller(&RemoteToolset::named("demo"), described());
    let env = environment(&agent, &model, streams.clone(), true).await?;
    let answer = async {
        let requests = streams.read(&toolset_stream("demo"), None, 1, PATIENCE).await.expect("readable");
        assert_eq!(requests[0].event, "call");
        let request: ToolCallMessage = serde_json::from_slice(&requests[0].payload).expect("a message");
        let ToolCallMessage::Call(call) = request else { panic!("{request:?}") };
        let meta = call.meta.clone().expect("it has one");
        assert_eq!((&*call.tool, &call.payload), ("demo.echo", &Some(json!({"text": "hello"}))));
        assert_eq!((&meta.tool_call_id, &*meta.turn_id), (&call.tool_use_id, "1"));
        assert!(!meta.run_id.is_empty());
        let now = streams.now().await.expect("it has a clock");
        let left = call.expires_at.expect("it has a deadline").saturating_sub(now);
        assert!((60_000..=600_000).contains(&left), "{left} ms");
        let results = result_stream(&call.tool_use_id);
        let first = streams.read(&results, None, 1, PATIENCE).await.expect("readable");
        assert_eq!((&*first[0].event, &*first[0].payload), ("init", b"{}".as_slice()));
        let result = |id: &str, text: &str| serde_json::to_vec(&ToolResultMessage::new(id, json!(text))).expect("JSON");
        // Neither another call's result, nor one that cannot be read, is that of this call.
        let append = Append::new()
            .entry(&*results, "result", result("other", "of another"))
            .entry(&*results, "result", "{")
            .entry(&*results, "news", "{}")
            .entry(&*results, "result", result(&call.tool_use_id, "hello back"));
        streams.append(append).await.expect("appended");
    };
    run(&env, answer).await?;
    assert_eq!(told(&model), ["hello back"]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_provider_skips_what_it_cannot_read_and_names_tools_that_it_does_not_have() -> anyhow::Result<()> {
    let streams = MemoryTransport::new();
    let requests = toolset_stream("demo");
    let append = Append::new()
        .entry(&*requests, "call", "{")
        .entry(&*requests, "call", r#"{"type": "dance"}"#)
        .entry(&*requests, "call", r#"{"type": "call", "tool_use_id": ""}"#)
        .entry(&*requests, "ping", r#"{"type": "ping", "ping_id": "p1"}"#)
        .entry(&*requests, "call", r#"{"type": "call", "tool_use_id": "c1", "tool": "demo.sing"}"#);
    streams.append(append).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let (ready, is_ready) = oneshot::channel();
    let provider = provider(&Gates::default(), streams.clone());
    let serving = tokio::spawn(async move {
        provider.serve_with(async { drop(stopped.await) }, || ready.send(()).expect("awaited")).await;
    });
    is_ready.await?;
    let results = streams.read(&result_stream("c1"), None, 1, PATIENCE).await?;
    let result: ToolResultMessage = serde_json::from_slice(&results[0].payload)?;
    let error = result.error.expect("it failed");
    assert_eq!(error.code, "unknown_tool");
    assert_eq!(error.message, r#"toolset "demo" has no tool "sing"; it has: echo, add, fail, held, repeatable"#);
    drop(stop);
    serving.await?;
    Ok(())
}

#[test]
fn a_worker_without_the_transport_does_not_start() {
    let agent = caller(&RemoteToolset::named("demo").transport("far"), [RemoteTool::new("echo", "", json!({}))]);
    let plugin = AgentsPlugin::new(Resources::new().model_provider(FakeModel::script([]))).agents((agent,));
    let error = plugin.install(&mut WorkerOptions::new("queue").build()).unwrap_err();
    let missing = InstallIssue::MissingTransport {
        agent: "caller".to_owned(),
        tool: "echo".to_owned(),
        transport: "far".to_owned(),
    };
    assert_eq!(error.issues, [missing]);
}
