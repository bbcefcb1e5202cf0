//! Data that tools return beside their output: no model receives it, and all hosts report it alike.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, Tool, ToolContext, ToolDef,
    client::RunEvents,
    inline::InlineRunner,
    tool,
    wire::{AgentRequest, Bounds, EventKind, Item, RunEvent, ServerData},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
};

/// Lists files; without a cursor, it breaks its own rule.
#[tool]
async fn list(ctx: &mut ToolContext, with_cursor: bool) -> Vec<String> {
    ctx.add_server_data(ServerData::timeline("card", json!({"title": "a.txt"})));
    ctx.add_server_data(ServerData::internal("query", json!("select 1")));
    let bounds = Bounds::part(1).of(9);
    ctx.set_bounds(if with_cursor { bounds.next_cursor("c2") } else { bounds });
    vec!["a.txt".to_owned()]
}

/// Counts; runs in the workflow.
#[tool(inline)]
fn count(ctx: &mut ToolContext, upto: u32) -> u32 {
    ctx.add_server_data(ServerData::evidence("counted", json!(upto)));
    upto
}

fn agent() -> Agent {
    let bounded: ToolDef = list.bounded();
    Agent::new("clerk").model("gpt-5").tool(bounded).tool(count)
}

fn model() -> FakeModel {
    let calls = [
        ("list", json!({"with_cursor": true})),
        ("count", json!({"upto": 3})),
        ("list", json!({"with_cursor": false})),
    ];
    FakeModel::script([tool_calls(calls), text("done")])
}

/// The outputs that the model received.
fn told(model: &FakeModel) -> Vec<String> {
    let last = model.calls().pop().expect("the model was called");
    let output = |item: &Item| Some(item.get("output")?.as_str()?.to_owned());
    assert!(!json!(last.input).to_string().contains("select 1"), "server data reached the model");
    last.input.iter().filter_map(output).collect()
}

/// Name and data of each output, in the order of the calls.
fn reported(events: &[RunEvent]) -> Vec<(String, Value)> {
    let mut reported: Vec<(String, Value)> = Vec::new();
    for event in events {
        if let EventKind::ToolOutput { side_data, .. } = &event.kind {
            let id = event.id.split_once('/').map_or("", |(_, local)| local);
            reported.push((id.to_owned(), json!(side_data)));
        }
    }
    // Activities end in any order.
    reported.sort_by(|one, other| one.0.cmp(&other.0));
    reported
}

#[rstest]
#[tokio::test]
async fn data_beside_an_output_reaches_every_reader_but_the_model(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let durable = model();
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent(),))))?
        .agents((agent(),))
        .model(&durable);
    let env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    let finished = env.run(AgentWorkflow::run, AgentRequest::new("clerk", "Work.")).await?;
    env.replay(&finished.history).await?;
    let events: Vec<RunEvent> = RunEvents::new(env.client())
        .watch(&finished.workflow_id)
        .map(|event| event.expect("facts are read"))
        .collect()
        .await;
    finished.output()?;
    env.finish().await?;

    let inline = model();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_runner = Arc::clone(&seen);
    let result = InlineRunner::new(Resources::new().model_provider(inline.clone()))
        .on_event(move |event: &RunEvent| of_runner.lock().expect("not poisoned").push(event.clone()))
        .run(&agent(), "Work.")
        .await?;

    let outputs = told(&durable);
    assert_eq!(outputs[0], r#"{"result":["a.txt"],"returned":1,"total":9,"truncated":true,"next_cursor":"c2"}"#);
    assert_eq!(
        outputs[1..],
        ["3".to_owned(), "Tool 'list' has run, but its result is truncated, without a cursor or a hint.".to_owned(),]
    );
    assert_eq!(outputs, told(&inline));
    let listed = json!({
        "server_data": [
            {"kind": "card", "audience": "timeline", "data": {"title": "a.txt"}},
            {"kind": "query", "audience": "internal", "data": "select 1"},
        ],
        "bounds": {"returned": 1, "total": 9, "truncated": true, "next_cursor": "c2"},
    });
    let counted = json!({"server_data": [{"kind": "counted", "audience": "evidence", "data": 3}]});
    let beside: Vec<Value> = result
        .new_items
        .iter()
        .filter(|item| item.raw.get("type") == Some(&json!("function_call_output")))
        .map(|item| json!(item.side_data))
        .collect();
    assert_eq!(beside, [listed.clone(), counted.clone(), Value::Null]);
    let expected = [
        ("1-tool-0/output".to_owned(), listed),
        ("1-tool-1/output".to_owned(), counted),
        ("1-tool-2/output".to_owned(), Value::Null),
    ];
    assert_eq!(reported(&events), expected);
    assert_eq!(reported(&seen.lock().expect("not poisoned")), expected);
    Ok(())
}
