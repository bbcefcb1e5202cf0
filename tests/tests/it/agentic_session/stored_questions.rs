//! Questions of sessions in a real database, which any process decides.

use std::time::{Duration, SystemTime};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    agentic_session::{AgenticSession, StoreApprover},
    inline::InlineRunner,
    store::{QuestionStore, SqlStore, StoredQuestion},
    tool::{BoxError, Tool, ToolError},
    wire::Decision,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use super::{
    desk::{Desk, Office, Order},
    mishap::Mishap,
};
use crate::databases::Kind;

/// Merges a change.
#[temporal_agents::tool]
async fn merge_now(change: u32) -> Result<String, ToolError> {
    Ok(format!("merged {change}"))
}

fn reviewer() -> Agent {
    Agent::new("reviewer").model("gpt-5").tool(merge_now.needs_approval())
}

fn model() -> FakeModel {
    FakeModel::script([tool_call("merge_now", json!({"change": 7})), text("done")])
}

fn desk(model: &FakeModel, approver: StoreApprover<SqlStore>, mishap: &Mishap) -> Desk {
    let (inline, mishap) = (InlineRunner::new(model.clone()), mishap.clone());
    Desk::new(move |ctx, _| {
        let (inline, mishap, approver) = (inline.clone(), mishap.clone(), approver.clone());
        async move {
            let body = async |session: AgenticSession| {
                let runner = session.runner(&inline);
                Ok(mishap.or(runner.run(&reviewer(), "Review it.").into_future()).await?.final_output.into())
            };
            AgenticSession::options().approver(approver).run(&ctx, body).await
        }
    })
}

fn done<T>(result: Result<T, BoxError>) -> anyhow::Result<T> {
    result.map_err(anyhow::Error::from_boxed)
}

/// Returns the one question that is open.
async fn question(store: &SqlStore) -> anyhow::Result<StoredQuestion> {
    loop {
        if let [question] = &*done(store.open_questions(10).await)? {
            return Ok(question.clone());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn outputs(model: &FakeModel) -> Vec<Value> {
    let last = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item| item.get("output").cloned()).collect()
}

#[rstest]
#[case::approves(Some(Decision::approve().by("ada")), "merged 7")]
#[case::rejects(Some(Decision::reject_with("The tests are missing.")), "The tests are missing.")]
#[case::is_late(None, "Nobody was there.")]
#[tokio::test]
async fn another_process(
    #[case] decision: Option<Decision>,
    #[case] output: &str,
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
    #[values(true, false)] fails_meanwhile: bool,
) -> anyhow::Result<()> {
    let database = kind.create().await?;
    let (model, mishap) = (model(), Mishap::new());
    let after = Duration::from_secs(if decision.is_some() { 3600 } else { 2 });
    let approver = StoreApprover::new(SqlStore::connect(&database.url).await?)
        .expires(after, Decision::reject_with("Nobody was there."))
        .poll_interval(Duration::from_millis(100));
    let env = desk(&model, approver, &mishap).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let elsewhere = SqlStore::connect(&database.url).await?;
    let asked = question(&elsewhere).await?;
    assert_eq!((&*asked.call.tool, &*asked.call.arguments), ("merge_now", "{\"change\":7}"));
    assert!(asked.id.starts_with(&asked.workflow_id));
    if fails_meanwhile {
        mishap.happen();
    }
    if let Some(decision) = decision {
        assert!(done(elsewhere.rule(&asked.id, &decision.into()).await)?);
        assert!(!done(elsewhere.rule(&asked.id, &Decision::reject().into()).await)?, "the first ruling counts");
    }
    let run = env.await_run(&started).await?;
    assert_eq!(run.activities()[0].attempts, if fails_meanwhile { 2 } else { 1 });
    assert_eq!(run.output()?, json!("done"));
    assert_eq!(outputs(&model), [json!(output)]);
    assert_eq!(done(elsewhere.open_questions(10).await)?, []);
    assert!(!done(elsewhere.rule("unknown", &Decision::approve().into()).await)?);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_question_of_that_id_about_another_call_decides_nothing() -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let store = SqlStore::connect(&database.url).await?;
    let (model, now) = (model(), SystemTime::now());
    let approver = StoreApprover::new(store.clone()).poll_interval(Duration::from_millis(100));
    let env = desk(&model, approver, &Mishap::new()).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let asked = question(&store).await?;
    let mut other = asked.call.clone();
    "{}".clone_into(&mut other.arguments);
    let forged = StoredQuestion::new(&*asked.id, &*asked.workflow_id, other, now, now);
    assert_eq!(done(store.ask(&forged).await)?, asked, "the store keeps the first");
    assert!(done(store.rule(&asked.id, &Decision::approve().into()).await)?);
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    env.finish().await?;
    Ok(())
}
