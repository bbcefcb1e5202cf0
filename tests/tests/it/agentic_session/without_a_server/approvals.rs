//! Who decides, without a server: an approver of the test's own.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    agentic_session::{AgenticSession, Approver, Asked, WorkflowApprover},
    inline::InlineRunner,
    tool,
    tool::BoxError,
    wire::{ApprovalRuling, Decision},
};
use temporal_agents_testing::{
    FakeModel, SessionEnvironment,
    fake_model::{text, tool_call},
    session_environment::AttemptError,
};

use super::Desk;

/// Merges a change.
///
/// # Arguments
/// * `change` - its number
#[tool]
async fn merge(change: u32) -> String {
    format!("merged {change}")
}

/// Somebody who is not in when asked for the first time, and notes each question. Clones are the same person.
#[derive(Clone, Default)]
struct Boss(Arc<Mutex<Vec<String>>>);

impl Approver for Boss {
    fn decide<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<ApprovalRuling, BoxError>> {
        let mut questions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        questions.push(format!("{} {}", asked.interruption.tool, asked.id));
        let is_in = questions.len() > 1;
        Box::pin(async move { if is_in { Ok(Decision::approve().into()) } else { Err("nobody is in".into()) } })
    }
}

fn environment(model: &FakeModel, approver: impl Approver + Clone + 'static) -> SessionEnvironment {
    let inline = InlineRunner::new(model.clone());
    let desk = Desk::new(move |ctx, _| {
        let (inline, approver) = (inline.clone(), approver.clone());
        async move {
            let body = async |session: AgenticSession| {
                let reviewer = Agent::new("reviewer").model("gpt-5").tool(merge.needs_approval());
                Ok(session.runner(&inline).run(&reviewer, "Review it.").await?.final_output.into())
            };
            AgenticSession::options().approver(approver).run(&ctx, body).await
        }
    });
    SessionEnvironment::new().register_activities(move || desk.clone())
}

fn model() -> FakeModel {
    FakeModel::script([tool_call("merge", json!({"change": 7})), text("done")])
}

#[tokio::test]
async fn an_approver_that_gave_no_decision_is_asked_the_same_by_the_next_attempt() -> anyhow::Result<()> {
    let (model, boss) = (model(), Boss::default());
    let env = environment(&model, boss.clone());
    let first = env.attempt().run(Desk::work, Value::Null).await;
    let error = first.result.expect_err("nobody is in");
    let why = "the approver of the session returned no decision on a call of \"merge\": nobody is in";
    assert_eq!(error.to_string(), format!("the attempt failed: {why}"));
    let AttemptError::Failed(failure) = error else { panic!("{error}") };
    assert_eq!((failure.type_name(), failure.is_non_retryable()), (Some("AgenticSessionError"), false));

    let last = first.checkpoints.last().expect("it has written one");
    let next = env.attempt_from(last)?.run(Desk::work, Value::Null).await;
    assert_eq!(next.result?, json!("done"));
    model.verify();
    let questions = boss.0.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(questions.len(), 2);
    assert_eq!(questions[0], questions[1]);
    assert!(questions[0].starts_with("merge "), "{questions:?}");
    Ok(())
}

#[tokio::test]
async fn workflow_approver_says_that_there_is_no_client() {
    let env = environment(&model(), WorkflowApprover::new());
    let error = env.attempt().run(Desk::work, Value::Null).await.result.expect_err("there is no client");
    let error = error.to_string();
    let (begin, end) = (
        "the attempt failed: the approver of the session returned no decision on a call of \"merge\": \
         WorkflowApprover needs a client to start a workflow, and the activity has none (",
        "); in a test without a server, use an approver of the test",
    );
    assert!(error.starts_with(begin) && error.ends_with(end), "{error}");
}
