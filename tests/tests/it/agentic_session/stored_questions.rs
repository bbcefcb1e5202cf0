//! Questions of sessions in a real database, which any process decides.

use std::time::{Duration, SystemTime};

use futures::{FutureExt, future::BoxFuture};
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    agentic_session::{AgenticSession, StoreApprover},
    inline::InlineRunner,
    store::{QuestionStore, SqlStore, StoredQuestion},
    tool::{BoxError, Tool, ToolError},
    wire::{ApprovalRuling, Decision},
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

fn desk<S>(model: &FakeModel, approver: StoreApprover<S>, mishap: &Mishap) -> Desk
where
    S: QuestionStore + Clone + 'static,
{
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
        if let [question] = &*done(store.open_questions(None, 10).await)? {
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
    assert_eq!(done(elsewhere.open_questions(None, 10).await)?, []);
    assert!(!done(elsewhere.rule("unknown", &Decision::approve().into()).await)?);
    env.finish().await?;
    Ok(())
}

/// A store in which somebody was faster: it has an approved question about another call by the time
/// the session asks its own.
#[derive(Clone)]
struct Forged {
    store: SqlStore,
    /// Agent, tool and arguments of the other call.
    forged: [&'static str; 3],
}

impl QuestionStore for Forged {
    fn ask<'a>(&'a self, question: &'a StoredQuestion) -> BoxFuture<'a, Result<StoredQuestion, BoxError>> {
        async move {
            let mut forged = question.clone();
            let [agent, tool, arguments] = self.forged.map(str::to_owned);
            forged.call.agent = agent;
            forged.call.tool = tool;
            forged.call.arguments = arguments;
            self.store.ask(&forged).await?;
            self.store.rule(&question.id, &Decision::approve().by("mallory").into()).await?;
            self.store.ask(question).await
        }
        .boxed()
    }

    fn ruling<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ApprovalRuling>, BoxError>> {
        self.store.ruling(id)
    }

    fn rule<'a>(&'a self, id: &'a str, ruling: &'a ApprovalRuling) -> BoxFuture<'a, Result<bool, BoxError>> {
        self.store.rule(id, ruling)
    }

    fn question<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredQuestion>, BoxError>> {
        self.store.question(id)
    }

    fn open_questions<'a>(
        &'a self,
        after: Option<(SystemTime, &'a str)>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<StoredQuestion>, BoxError>> {
        self.store.open_questions(after, limit)
    }
}

#[rstest]
#[case::other_arguments(["reviewer", "merge_now", "{}"])]
#[case::another_tool(["reviewer", "look", r#"{"change":7}"#])]
#[case::another_agent(["clerk", "merge_now", r#"{"change":7}"#])]
#[tokio::test]
async fn an_earlier_question_about_another_call_decides_nothing(
    #[case] forged: [&'static str; 3],
) -> anyhow::Result<()> {
    let database = Kind::Sqlite.create().await?;
    let store = Forged { store: SqlStore::connect(&database.url).await?, forged };
    let model = model();
    let approver = StoreApprover::new(store).poll_interval(Duration::from_millis(100));
    let env = desk(&model, approver, &Mishap::new()).environment()?.start().await?;
    let run = env.run(Office::run, Order { attempts: 1, ..Order::new(Value::Null) }).await?;
    let failures = run.failure_chain();
    let [agent, tool, _] = forged;
    let said = format!("is about another call ({tool:?} of {agent:?}); its ruling is not used as a decision");
    assert!(failures.iter().any(|(_, message)| message.contains(&said)), "{failures:#?}");
    assert_eq!(model.calls().len(), 1, "the call was not made");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_store_keeps_the_first_question_of_an_id() -> anyhow::Result<()> {
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
