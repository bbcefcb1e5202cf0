//! Calls that wait for people, each in a workflow of its own, while the activity of their session lives.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    agentic_session::{AgenticSession, WorkflowApprover},
    http::AgentsService,
    inline::InlineRunner,
    tool,
    tool::ToolError,
    wire::{AgentDecision, DecisionAnswer, RunStatus},
    workflow::ApprovalWorkflow,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::{Client, UntypedSignal, UntypedWorkflow, WorkflowHandle, WorkflowSignalOptions};
use temporalio_common::data_converters::{PayloadConverter, RawValue};
use tokio::time::timeout;

use super::{
    asked::{approvals, asked, until_approvals},
    desk::{Desk, Office, Order},
    mishap::Mishap,
};
use crate::{
    PATIENCE,
    examples::{Cache, Played, histories_of},
    http_service::{get, post},
};

/// Merges a change.
///
/// # Arguments
/// * `change` - its number
#[tool]
async fn merge(change: u32) -> Result<String, ToolError> {
    Ok(format!("merged {change}"))
}

/// Lets the user pick a file; gives its path.
#[tool(client)]
fn pick_file(title: String) -> String;

fn reviewer() -> Agent {
    Agent::new("reviewer").model("gpt-5").tool(merge.needs_approval()).tool(pick_file)
}

/// A desk whose session waits for people that long. The first attempt may have a mishap.
fn desk(model: &FakeModel, patience: Duration, mishap: &Mishap) -> Desk {
    let (inline, mishap) = (InlineRunner::new(model.clone()), mishap.clone());
    Desk::new(move |ctx, _| {
        let (inline, mishap) = (inline.clone(), mishap.clone());
        async move {
            let options = AgenticSession::options().approver(WorkflowApprover::new().timeout(patience));
            let body = async |session: AgenticSession| {
                let runner = session.runner(&inline);
                Ok(mishap.or(runner.run(&reviewer(), "Review it.").into_future()).await?.final_output.into())
            };
            options.run(&ctx, body).await
        }
    })
}

/// What the model was given as the outputs of its calls, at last.
fn outputs(model: &FakeModel) -> Vec<Value> {
    let last = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item| item.get("output").cloned()).collect()
}

/// Checks that people were asked that often, and that each workflow that asked them replays.
async fn were_asked(env: &AgentEnvironment, times: usize) -> anyhow::Result<()> {
    let ids = approvals(env.client()).await?;
    assert_eq!(ids.len(), times, "{ids:?}");
    for id in ids {
        assert!(id.contains("Office-0-approval-"), "{id}");
        histories_of::<ApprovalWorkflow>(env.client(), &id).await?;
    }
    Ok(())
}

async fn signal(client: &Client, ruling: Value) -> anyhow::Result<()> {
    let id = until_approvals(client, 1).await?.swap_remove(0);
    let handle: WorkflowHandle<_, UntypedWorkflow> = client.get_workflow_handle(id);
    let ruling = RawValue::from_value(&ruling, &PayloadConverter::default());
    handle.signal(UntypedSignal::new("decide"), ruling, WorkflowSignalOptions::default()).await?;
    Ok(())
}

/// How a call is decided.
enum Decided {
    Approved,
    Rejected,
    ApprovedBySignal,
    RejectedBySignal,
    ByNobody,
}

/// Plays the approvals whose histories are golden: decided by an update, by a signal, and by nobody.
pub(crate) async fn recorded(_cache: Cache) -> anyhow::Result<Played<()>> {
    let mut histories = Vec::new();
    for decided in [Decided::Approved, Decided::ApprovedBySignal, Decided::ByNobody] {
        let model = FakeModel::script([tool_call("merge", json!({"change": 7})), text("done")]);
        let patience = Duration::from_secs(if matches!(decided, Decided::ByNobody) { 1 } else { 3600 });
        let env = desk(&model, patience, &Mishap::new()).environment()?.start().await?;
        let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
        match decided {
            Decided::Approved => {
                let (agent, call) = asked(env.client()).await?;
                agent.approve(&*call.id).await?;
            }
            Decided::ApprovedBySignal => signal(env.client(), json!({"approve": true})).await?,
            _ => {}
        }
        env.await_run(&started).await?.output()?;
        let id = until_approvals(env.client(), 1).await?.swap_remove(0);
        histories.extend(histories_of::<ApprovalWorkflow>(env.client(), &id).await?);
        env.finish().await?;
    }
    Ok(Played { output: (), histories, calls: Vec::new() })
}

#[rstest]
#[case::approved(Decided::Approved, "merged 7")]
#[case::rejected_with_a_reason(Decided::Rejected, "The tests are missing.")]
#[case::approved_by_a_signal(Decided::ApprovedBySignal, "merged 7")]
#[case::rejected_by_a_signal(Decided::RejectedBySignal, "Not today.")]
#[case::rejected_when_nobody_decides(Decided::ByNobody, "Nobody has decided on this call within 1 s.")]
#[tokio::test]
async fn a_person_decides_on_a_call_of_a_session(
    #[case] decided: Decided,
    #[case] output: &str,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("merge", json!({"change": 7})), text("done")]);
    let patience = Duration::from_secs(if matches!(decided, Decided::ByNobody) { 1 } else { 3600 });
    let mut builder = desk(&model, patience, &Mishap::new()).environment()?;
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let client = env.client();
    match decided {
        Decided::Approved => {
            let (agent, call) = asked(client).await?;
            assert_eq!((&*call.agent, &*call.tool, &*call.arguments), ("reviewer", "merge", "{\"change\":7}"));
            assert_eq!(agent.approve(&*call.id).await?, DecisionAnswer::Accepted);
            let state = agent.state().await?;
            assert_eq!((state.status, state.decided.len()), (RunStatus::Completed, 1));
        }
        Decided::Rejected => {
            let (agent, call) = asked(client).await?;
            let unknown = DecisionAnswer::Unknown { waits_for: vec![call.id.clone()] };
            assert_eq!(agent.approve("call_9").await?, unknown);
            assert_eq!(agent.reject(&*call.id, output).await?, DecisionAnswer::Accepted);
        }
        Decided::ApprovedBySignal => signal(client, json!({"approve": true})).await?,
        Decided::RejectedBySignal => signal(client, json!({"approve": false, "message": output})).await?,
        Decided::ByNobody => {}
    }
    let run = env.await_run(&started).await?;
    assert_eq!(run.output()?, json!("done"));
    assert_eq!(outputs(&model), [json!(output)]);
    were_asked(&env, 1).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_service_lists_and_decides_the_question_of_a_session() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("merge", json!({"change": 7})), text("done")]);
    let env = desk(&model, Duration::from_hours(1), &Mishap::new()).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let (_, call) = asked(env.client()).await?;
    let service = AgentsService::new(env.client(), env.task_queue()).into_router();
    let question = timeout(PATIENCE, async {
        loop {
            let (_, list) = get(&service, "/questions").await?;
            if let Some(question) = list["questions"].get(0) {
                return anyhow::Ok(question.clone());
            }
        }
    })
    .await??;
    assert_eq!((&question["question_id"], &question["tool"]), (&json!(call.id), &json!("merge")));
    let id = question["run_id"].as_str().expect("an id");
    let (_, run) = get(&service, &format!("/runs/{id}")).await?;
    assert_eq!((&run["status"], &run["title"]), (&json!("waiting"), &json!("reviewer wants to call merge")));
    let decision = json!({"question_id": call.id, "approved": true});
    assert_eq!(post(&service, &format!("/runs/{id}/decisions"), &decision).await?.0, 200);
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(outputs(&model), [json!("merged 7")]);
    were_asked(&env, 1).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_person_supplies_the_output_of_a_client_tool_of_a_session() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pick_file", json!({"title": "Minutes"})), text("done")]);
    let env = desk(&model, Duration::from_hours(1), &Mishap::new()).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let (agent, call) = asked(env.client()).await?;
    let refused = agent.approve(&*call.id).await?;
    assert!(matches!(refused, DecisionAnswer::Refused { .. }), "{refused:?}");
    assert_eq!(agent.supply_output(&*call.id, "minutes.md").await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(outputs(&model), [json!("minutes.md")]);
    were_asked(&env, 1).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_attempt_after_one_that_failed_while_it_waited_waits_for_the_same_decision() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("merge", json!({"change": 7})), text("done")]);
    let mishap = Mishap::new();
    let env = desk(&model, Duration::from_hours(1), &mishap).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let (agent, call) = asked(env.client()).await?;
    mishap.happen();
    assert_eq!(agent.approve(&*call.id).await?, DecisionAnswer::Accepted);
    let run = env.await_run(&started).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, json!("done"));
    assert_eq!((model.calls().len(), outputs(&model)), (2, vec![json!("merged 7")]));
    were_asked(&env, 1).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_decision_for_good_is_not_asked_for_again() -> anyhow::Result<()> {
    let calls = [7, 8].map(|change| tool_call("merge", json!({"change": change})));
    let model = FakeModel::script(calls.into_iter().chain([text("done")]));
    let env = desk(&model, Duration::from_hours(1), &Mishap::new()).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let (agent, call) = asked(env.client()).await?;
    assert_eq!(agent.decide(AgentDecision::approve(&*call.id).always()).await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(outputs(&model), [json!("merged 7"), json!("merged 8")]);
    were_asked(&env, 1).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_signal_that_cannot_be_read_decides_nothing() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("merge", json!({"change": 7})), text("done")]);
    let env = desk(&model, Duration::from_mins(5), &Mishap::new()).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    for ruling in [json!(true), json!({"aprove": true}), json!({"approve": true})] {
        signal(env.client(), ruling).await?;
    }
    let run = env.await_run(&started).await?;
    assert_eq!(run.output()?, json!("done"));
    assert_eq!(outputs(&model), [json!("merged 7")]);
    were_asked(&env, 1).await?;
    env.finish().await?;
    Ok(())
}
