//! Calls of registered tools.

use std::time::Duration;

use serde_json::json;
use temporal_agents::{
    Agent, Resources, RunContext, State, Tool, ToolContext, ToolDef, ToolError, WorkflowToolContext, tool,
    tool::{CallInfo, ChildWorkflow, RemoteActivity},
    worker::{DispatchError, ToolRegistry},
};
use tokio::time::timeout;

use crate::PATIENCE;

#[derive(Clone)]
struct Stock(u32);

/// Pieces in stock.
#[tool]
async fn stock_of(State(stock): State<Stock>, product: String) -> String {
    format!("{} {product}", stock.0)
}

/// Counts the calls of a run.
#[tool(inline)]
fn count(ctx: &mut ToolContext) -> Result<u32, ToolError> {
    let calls = ctx.run().get::<u32>("calls")?.unwrap_or_default() + 1;
    ctx.run_mut().set("calls", calls)?;
    Ok(calls)
}

/// Counts the calls of a run, elsewhere.
#[tool(context("calls"))]
async fn count_far(ctx: &mut ToolContext) -> Result<u32, ToolError> {
    let calls = ctx.run().get::<u32>("calls")?.unwrap_or_default() + 1;
    ctx.run_mut().set("calls", calls)?;
    Ok(calls)
}

/// Waits a moment.
#[tool(workflow)]
async fn nap(ctx: &mut WorkflowToolContext) -> Result<String, ToolError> {
    ctx.sleep(Duration::from_millis(1)).await?;
    Ok("slept".to_owned())
}

/// Says what it knows of its call.
#[tool]
async fn who(ctx: &ToolContext) -> String {
    let CallInfo { tool, call_id, agent, turn, attempt, .. } = ctx.info();
    format!("{tool} {call_id} {agent} {turn} {attempt} {}", ctx.info().idempotency_key())
}

/// Never ends.
#[tool]
async fn for_ever(State(dropped): State<tokio::sync::mpsc::UnboundedSender<&'static str>>) -> String {
    struct Says(tokio::sync::mpsc::UnboundedSender<&'static str>);
    impl Drop for Says {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let _ = dropped.send("begun");
    let _says = Says(dropped);
    std::future::pending().await
}

fn registry(resources: Resources) -> ToolRegistry {
    let tools = [stock_of.definition(), count.definition(), count_far.definition(), nap.definition(), who.definition()];
    ToolRegistry::new(resources).register_all(tools).expect("five tools of five names")
}

#[tokio::test]
async fn a_body_runs_here_wherever_it_would_run_in_a_run() -> anyhow::Result<()> {
    let registry = registry(Resources::new().state(Stock(3)));
    let bolts = registry.dispatch("stock_of", json!({"product": "bolts"}).to_string()).await?;
    assert_eq!((bolts.text().as_str(), bolts.is_error()), ("3 bolts", false));
    assert_eq!(registry.dispatch("nap", "").await?.text(), "slept");
    let first = registry.dispatch("count", "{}").await?;
    let second = registry.dispatch("count_far", "{}").context(first.context).await?;
    assert_eq!(second.text(), "2");
    assert_eq!(second.context.get::<u32>("calls")?, Some(2));
    Ok(())
}

#[tokio::test]
async fn a_call_is_told_what_is_said_of_it_and_has_a_key_of_its_own() -> anyhow::Result<()> {
    let registry = registry(Resources::new());
    let named =
        registry.dispatch("who", "{}").call_id("call_7").agent("clerk").turn(3).idempotency_key("fixed").await?;
    assert_eq!(named.text(), "who call_7 clerk 3 1 fixed");
    let of = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let one = of(registry.dispatch("who", "{}").await?.text());
    let other = of(registry.dispatch("who", "{}").await?.text());
    assert_eq!([&one[2], &one[3], &one[4]], ["registry", "1", "1"]);
    assert_eq!((one[1].len(), one[5].len()), ("call_".len() + 32, 16), "{one:?}");
    assert!(one[1] != other[1] && one[5] != other[5], "{one:?} {other:?}");
    Ok(())
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_named_with_those_that_are() {
    let error = registry(Resources::new()).dispatch("stok_of", "{}").await.unwrap_err();
    let words =
        "there is no tool \"stok_of\"; the registry has \"stock_of\", \"count\", \"count_far\", \"nap\", \"who\"";
    assert_eq!(error.to_string(), words);
    assert_eq!(error.tell_model().as_deref(), Some("Tool 'stok_of' not found."), "what a run tells the model");
    let error = ToolRegistry::default().dispatch("add", "{}").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no tool \"add\"; the registry has none");
}

#[tokio::test]
async fn a_state_that_is_missing_is_named_before_anything_runs() {
    let error = registry(Resources::new()).dispatch("stock_of", r#"{"product": "bolts"}"#).await.unwrap_err();
    assert!(
        matches!(&error, DispatchError::MissingState { tool, state } if tool == "stock_of" && state.ends_with("Stock"))
    );
    assert!(error.to_string().ends_with("add it with Resources::state(..)"), "{error}");
}

#[tokio::test]
async fn a_tool_without_a_body_here_is_refused_by_its_kind() -> anyhow::Result<()> {
    let schema = || json!({"type": "object", "properties": {}});
    let poet = Agent::new("poet").model("gpt-5");
    let registry = ToolRegistry::default().register_all([
        ToolDef::remote_activity("remote", "", schema(), RemoteActivity::named("remote")),
        ToolDef::child_workflow("child", "", schema(), ChildWorkflow::named("child")),
        ToolDef::client("pick", "", schema()),
        poet.as_tool().definition(),
    ])?;
    let told = async |name| registry.dispatch(name, "{}").await.unwrap_err().to_string();
    assert_eq!(
        [told("remote").await, told("child").await, told("pick").await, told("poet").await],
        [
            "tool \"remote\" is an activity of another worker, which a registry cannot dispatch; add it to an agent \
             that a workflow runs",
            "tool \"child\" is a child workflow, which a registry cannot dispatch; add it to an agent that a workflow \
             runs",
            "tool \"pick\" is made by a client, which a registry cannot dispatch; make the call in the client, and \
             send its output to the model",
            "tool \"poet\" is an agent, which a registry cannot dispatch; run it with InlineRunner, or add it to \
             another agent",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn a_call_that_needs_approval_is_made_once_somebody_has_decided() -> anyhow::Result<()> {
    let registry = ToolRegistry::default().register(count.needs_approval())?;
    let error = registry.dispatch("count", "{}").call_id("call_1").await.unwrap_err();
    let words = "call \"call_1\" of tool \"count\" needs approval; dispatch it with .approved() after it was approved";
    assert_eq!(error.to_string(), words);
    assert_eq!(registry.dispatch("count", "{}").approved().await?.text(), "1");
    Ok(())
}

#[tokio::test]
async fn an_approval_rule_is_asked_with_context_and_arguments() -> anyhow::Result<()> {
    let large = count.needs_approval_when(|run, _, _| run.get::<u32>("calls").is_ok_and(|calls| calls > Some(1)));
    let registry = ToolRegistry::default().register(large)?;
    let mut context = RunContext::default();
    for calls in 1..=2 {
        context = registry.dispatch("count", "{}").context(context).await?.context;
        assert_eq!(context.get::<u32>("calls")?, Some(calls));
    }
    let error = registry.dispatch("count", "{}").context(context).await.unwrap_err();
    assert!(matches!(error, DispatchError::NeedsApproval { .. }), "{error}");
    Ok(())
}

#[tokio::test]
async fn dropping_a_call_cancels_it() -> anyhow::Result<()> {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let registry = ToolRegistry::new(Resources::new().state(tell)).register(for_ever)?;
    let call = tokio::spawn(async move { registry.dispatch("for_ever", "{}").await });
    let mut next = async || timeout(PATIENCE, told.recv()).await;
    anyhow::ensure!(next().await? == Some("begun"), "the body has not begun");
    call.abort();
    anyhow::ensure!(next().await? == Some("dropped"), "the body runs on after its call was dropped");
    Ok(())
}
