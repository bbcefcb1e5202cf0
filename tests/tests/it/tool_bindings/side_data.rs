//! Data beside an output in the results of activities and workflows that do not know this library.

use futures::StreamExt;
use rstest::rstest;
use serde_json::{Map, Value, json};
use temporal_agents::{
    Agent, ToolDef,
    client::RunEvents,
    tool::{ChildWorkflow, RemoteActivity},
    wire::{EventKind, RunEvent},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::support::{outputs, workflow_of};
use crate::examples::{Cache, Played};

/// The result that a call asks for.
fn result(asked: &Map<String, Value>) -> Value {
    let card = json!({"kind": "card", "audience": "timeline", "data": {"title": "a.txt"}});
    let bounds = json!({"returned": 1, "total": 9, "truncated": true, "next_cursor": "c2"});
    let beside = json!({"server_data": [card], "bounds": bounds});
    match asked["as"].as_str() {
        Some("output") => json!({"output": ["a.txt"], "temporal-agents/side-data": beside}),
        Some("members") => json!({"name": "a.txt", "output": "shown", "temporal-agents/side-data": beside}),
        Some("odd") => json!({"name": "a.txt", "temporal-agents/side-data": "a card"}),
        _ => json!({"output": "a.txt"}),
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Listing;

#[workflow_methods]
impl Listing {
    #[run(name = "listing")]
    #[expect(clippy::unused_async, reason = "a workflow is async")]
    pub(crate) async fn run(_ctx: &mut WorkflowContext<Self>, asked: Map<String, Value>) -> WorkflowResult<Value> {
        Ok(result(&asked))
    }
}

#[allow(dead_code, reason = "the activity is called by its type")]
mod files {
    use serde_json::{Map, Value};
    use temporalio_macros::activities;
    use temporalio_sdk::activities::{ActivityContext, ActivityError};

    pub(super) struct Files;

    #[activities]
    impl Files {
        #[activity(name = "list_files")]
        #[expect(clippy::unused_async, reason = "an activity is async")]
        async fn list_files(_ctx: ActivityContext, asked: Map<String, Value>) -> Result<Value, ActivityError> {
            Ok(super::result(&asked))
        }
    }
}

fn lister() -> Agent {
    let parameters = json!({"type": "object", "properties": {"as": {"type": "string"}}, "required": ["as"]});
    let child = ToolDef::child_workflow("child", "Lists.", parameters.clone(), ChildWorkflow::named("listing"));
    let activity = RemoteActivity::named("list_files");
    let activity = ToolDef::remote_activity("activity", "Lists.", parameters.clone(), activity);
    let bounded = ToolDef::child_workflow("part", "Lists.", parameters, ChildWorkflow::named("listing")).bounded();
    Agent::new("lister").model("gpt-5").tool(child).tool(activity).tool(bounded)
}

workflow_of!(Lister, "lister", lister);

/// Plays the run whose history is golden.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<String>> {
    let calls = ["child", "activity", "part"].map(|tool| (tool, json!({"as": "output"})));
    let model = FakeModel::script([tool_calls(calls), text("done")]);
    let env = cache.environment::<Lister>()?.workflow::<Listing>()?.model(&model).agents((lister,));
    let env = env.worker_options(|options| _ = options.register_activities(files::Files)).start().await?;
    let run = env.run(Lister::run, "List.".to_owned()).await?;
    let histories = vec![run.history.clone()];
    env.finish().await?;
    Ok(Played { output: run.output()?, histories, calls: model.calls() })
}

#[rstest]
#[tokio::test]
async fn foreign_results_have_data_that_no_model_receives(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let calls = ["child", "activity"]
        .iter()
        .flat_map(|tool| ["output", "members", "odd", "plain"].iter().map(move |shape| (*tool, json!({"as": shape}))));
    let calls: Vec<_> = calls.chain([("part", json!({"as": "output"}))]).collect();
    let model = FakeModel::script([tool_calls(calls), text("done")]);
    let env = cache.environment::<Lister>()?.workflow::<Listing>()?.model(&model).agents((lister,));
    let env = env.worker_options(|options| _ = options.register_activities(files::Files)).start().await?;
    let run = env.run(Lister::run, "List.".to_owned()).await?;
    env.replay(&run.history).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);

    let told = [r#"["a.txt"]"#, r#"{"name":"a.txt","output":"shown"}"#, r#"{"name":"a.txt"}"#, r#"{"output":"a.txt"}"#];
    let part = r#"{"result":["a.txt"],"returned":1,"total":9,"truncated":true,"next_cursor":"c2"}"#;
    let expected: Vec<Value> = told.iter().chain(&told).chain([&part]).map(|text| json!(text)).collect();
    assert_eq!(outputs(&model), expected);
    let sent = json!(model.calls().last().expect("it was called").input).to_string();
    assert!(!sent.contains("side-data") && !sent.contains("card"), "{sent}");

    let events: Vec<RunEvent> = RunEvents::new(env.client())
        .watch(&run.workflow_id)
        .map(|event| event.expect("facts are read"))
        .collect()
        .await;
    let beside = |event: &RunEvent| match &event.kind {
        EventKind::ToolOutput { side_data, .. } => Some(json!(side_data)),
        _ => None,
    };
    let found: Vec<Value> = events.iter().filter_map(beside).collect();
    let data = json!({
        "server_data": [{"kind": "card", "audience": "timeline", "data": {"title": "a.txt"}}],
        "bounds": {"returned": 1, "total": 9, "truncated": true, "next_cursor": "c2"},
    });
    let of_four = [data.clone(), data.clone(), Value::Null, Value::Null];
    assert_eq!(found, [&of_four[..], &of_four, &[data]].concat());
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}
