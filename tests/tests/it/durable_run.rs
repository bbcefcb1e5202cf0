//! Whole runs on a real dev server; each is replayed by the environment.

use rstest::rstest;
use serde_json::json;
use temporal_agents::wire::ItemView;
use temporal_agents_testing::{
    AgentEnvironment,
    environment::ActivityOutcome,
    fake_model::{FakeModel, handoff, structured, text, tool_call, tool_calls},
};

use crate::support::{Clerk, Report, Stock, Warehouse, clerk, triage};

fn warehouse_script() -> FakeModel {
    let report = Report { summary: "there are 7".to_owned(), pieces: 7 };
    FakeModel::script([
        handoff("clerk"),
        tool_calls([
            ("stock_of", json!({"product": "bolt"})),
            ("stock_of", json!({"product": "nut"})),
            ("add", json!({"a": 3, "b": 4})),
        ]),
        structured(&report),
    ])
}

#[rstest]
#[case::with_the_workflow_cache(true)]
#[case::without_the_workflow_cache(false)]
#[tokio::test]
async fn a_handoff_with_parallel_tools_ends_in_a_typed_answer(#[case] cached: bool) -> anyhow::Result<()> {
    let model = warehouse_script();
    let mut builder =
        AgentEnvironment::builder().workflow::<Warehouse>()?.model(&model).state(Stock(3)).agents((triage,));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let run = env.run(Warehouse::run, "How many?".to_owned()).await?;
    let activities: Vec<_> = run.activities().into_iter().map(|a| (a.activity_type, a.attempts, a.outcome)).collect();
    let done = |kind: &str| (kind.to_owned(), 1, ActivityOutcome::Completed);
    assert_eq!(
        activities,
        [
            done("agents.call_model"),
            done("agents.call_model"),
            done("agents.tool.stock_of"),
            done("agents.tool.stock_of"),
            done("agents.call_model"),
        ]
    );
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, Report { summary: "there are 7".to_owned(), pieces: 7 });

    let last = model.calls().pop().expect("three calls");
    let outputs: Vec<_> = last
        .input
        .iter()
        .filter_map(|item| match item.view() {
            ItemView::FunctionCallOutput { call_id, output } => Some((call_id.to_owned(), output.clone())),
            _ => None,
        })
        .collect();
    let output = |id: &str, text: &str| (id.to_owned(), json!(text));
    assert_eq!(
        outputs,
        [
            output("call_0_0", "{\"assistant\": \"clerk\"}"),
            output("call_1_0", "3"),
            output("call_1_1", "3"),
            output("call_1_2", "7"),
        ]
    );
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn what_a_tool_fails_with_goes_to_the_model_as_the_tool_says() -> anyhow::Result<()> {
    let failed = "An error occurred while running the tool. Please try again.";
    let refused =
        r#"Invalid JSON input for tool add: a: fails type, allowed: "integer"; b: missing, allowed: "integer""#;
    let model = FakeModel::script([
        tool_calls([
            ("stock_of", json!({"product": "nothing"})),
            ("stock_of", json!({"product": "broken"})),
            ("stock_of", json!({"product": "flaky"})),
            ("stock_of", json!({"product": "panic"})),
            ("stock_of", json!("{not json")),
            ("add", json!({"a": "one"})),
        ]),
        text("sorry"),
    ]);
    let env =
        AgentEnvironment::builder().workflow::<Clerk>()?.model(&model).state(Stock(3)).agents((clerk,)).start().await?;
    let run = env.run(Clerk::run, "How many?".to_owned()).await?;
    let activities: Vec<_> = run.activities().into_iter().map(|a| (a.attempts, a.outcome)).collect();
    let tool_error = || ActivityOutcome::Failed("ToolError".to_owned());
    assert_eq!(
        activities,
        [
            (1, ActivityOutcome::Completed),
            (1, tool_error()),
            (1, tool_error()),
            (3, tool_error()),
            (3, ActivityOutcome::Failed("ToolPanicked".to_owned())),
            (1, ActivityOutcome::Completed),
        ]
    );
    assert_eq!(run.output()?, "sorry");
    let last = model.calls().pop().expect("two calls");
    let outputs: Vec<_> = last.input.iter().filter_map(|item| item.get("output").cloned()).collect();
    assert_eq!(
        outputs,
        [json!("no such product"), json!(failed), json!(failed), json!(failed), json!(failed), json!(refused)]
    );
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_out_of_turns_fails_the_workflow_and_says_so() -> anyhow::Result<()> {
    let model = FakeModel::function(|_, _| tool_call("add", json!({"a": 1, "b": 2})));
    let env =
        AgentEnvironment::builder().workflow::<Clerk>()?.model(&model).state(Stock(3)).agents((clerk,)).start().await?;
    let run = env.run(Clerk::run, "How many?".to_owned()).await?;
    assert_eq!(
        run.failure_chain(),
        [(
            "AgentsWorkflowError".to_owned(),
            "Max turns (3) exceeded before the next turn of agent \"clerk\"; if the run needs more turns, raise the \
             limit with Runner::max_turns"
                .to_owned()
        )]
    );
    env.finish().await?;
    Ok(())
}
