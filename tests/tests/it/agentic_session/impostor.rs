//! Workflows of others under the id of a session's question: what they return is no decision.

use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    agentic_session::{AgenticSession, Approver, Asked, WorkflowApprover},
    inline::InlineRunner,
    tool,
    tool::BoxError,
    wire::ApprovalRuling,
};
use temporal_agents_testing::{FakeModel, fake_model::tool_call};
use temporalio_client::{UntypedWorkflow, WorkflowStartOptions};
use temporalio_common::data_converters::{PayloadConverter, RawValue};

use super::desk::{Desk, Office, Order};

/// Merges a change.
#[tool]
async fn merge(change: u32) -> String {
    format!("merged {change}")
}

fn reviewer() -> Agent {
    Agent::new("reviewer").model("gpt-5").tool(merge.needs_approval())
}

/// Asks by workflow, after somebody else has started one of this type, with this input, under the id of the question.
#[derive(Clone)]
struct Forestalled {
    workflow_type: &'static str,
    task_queue: Option<&'static str>,
    input: Value,
}

impl Approver for Forestalled {
    fn decide<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<ApprovalRuling, BoxError>> {
        async move {
            let activity = asked.activity.info();
            let of = activity.workflow_id.as_deref().unwrap_or_default();
            let id = format!("{of}-approval-merge-{}", asked.id);
            let queue = self.task_queue.unwrap_or(&activity.task_queue);
            let options = WorkflowStartOptions::new(queue, id).build();
            let input = RawValue::from_value(&self.input, &PayloadConverter::default());
            let other = UntypedWorkflow::new(self.workflow_type);
            asked.activity.client().start_workflow(other, input, options).await?;
            WorkflowApprover::new().timeout(Duration::from_mins(5)).decide(asked).await
        }
        .boxed()
    }
}

fn request(change: u32) -> Value {
    let arguments = json!({"change": change}).to_string();
    json!({
        "version": "1.1", "timeout_seconds": 300,
        "call": {"id": "call_0_0", "agent": "reviewer", "tool": "merge", "arguments": arguments}
    })
}

#[rstest]
#[case::of_another_type("Impostor", None, request(7), "it is of type \"Impostor\", not \"ApprovalWorkflow\"")]
#[case::about_another_call("ApprovalWorkflow", None, request(8), "it is about another call")]
#[case::elsewhere("ApprovalWorkflow", Some("mine"), request(7), "it is on task queue \"mine\", not ")]
#[tokio::test]
async fn a_workflow_that_asks_something_else_decides_nothing(
    #[case] workflow_type: &'static str,
    #[case] task_queue: Option<&'static str>,
    #[case] input: Value,
    #[case] why: &str,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("merge", json!({"change": 7}))]);
    let (inline, approver) = (InlineRunner::new(model.clone()), Forestalled { workflow_type, task_queue, input });
    let desk = Desk::new(move |ctx, _| {
        let (inline, approver) = (inline.clone(), approver.clone());
        async move {
            let body = async |session: AgenticSession| {
                Ok(session.runner(&inline).run(&reviewer(), "Review it.").await?.final_output.into())
            };
            AgenticSession::options().approver(approver).run(&ctx, body).await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order { attempts: 1, ..Order::new(Value::Null) }).await?;
    let chain = run.failure_chain();
    let told = chain.last().map(|(_, message)| message.as_str()).unwrap_or_default();
    assert!(chain.iter().any(|(_, message)| message.contains(why)), "{chain:?}");
    assert!(!told.contains("merged"), "{chain:?}");
    assert_eq!(model.calls().len(), 1, "the call was not made, and the model was told nothing of it");
    env.finish().await?;
    Ok(())
}
