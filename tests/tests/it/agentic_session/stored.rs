//! Stores that fail, and conversations in stores, while attempts of a session are cut off.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use futures::future::BoxFuture;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, Tool,
    agentic_session::{AgenticSession, Approver, Asked, CheckpointStore},
    inline::InlineRunner,
    run::SessionRef,
    store::Session,
    tool,
    tool::{BoxError, State},
    wire::{ApprovalRuling, Decision, Item},
};
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call};

use super::{
    desk::{Desk, Office, Order},
    mishap::Mishap,
};

/// How often money was paid.
#[derive(Clone, Default)]
struct Payments(Arc<AtomicU32>);

/// Pays.
#[tool]
async fn pay(State(payments): State<Payments>) -> String {
    payments.0.fetch_add(1, Ordering::SeqCst);
    "paid".to_owned()
}

/// A store in memory whose n-th write fails.
#[derive(Clone, Default)]
pub(super) struct Shelf {
    checkpoints: Arc<Mutex<BTreeMap<String, String>>>,
    writes: Arc<AtomicU32>,
    fails_at: u32,
}

impl Shelf {
    /// Number of writes.
    pub(super) fn writes(&self) -> u32 {
        self.writes.load(Ordering::SeqCst)
    }
}

impl CheckpointStore for Shelf {
    fn put<'a>(&'a self, key: &'a str, checkpoint: String) -> BoxFuture<'a, Result<(), BoxError>> {
        let fails = self.writes.fetch_add(1, Ordering::SeqCst) + 1 == self.fails_at;
        if !fails {
            self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), checkpoint);
        }
        Box::pin(async move { if fails { Err("503: not now".into()) } else { Ok(()) } })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, BoxError>> {
        let found = self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        Box::pin(async move { Ok(found) })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, ()> {
        self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        Box::pin(async {})
    }
}

/// One who pays, and one who lets her pay.
fn payers() -> (Agent, Agent) {
    let payer = Agent::new("payer").model("gpt-5").tool(pay);
    let boss = Agent::new("boss").model("gpt-5").tool(payer.as_tool().name("let_pay").description("Pays."));
    (payer, boss)
}

#[rstest]
#[case::before_the_first_call(1)]
#[case::before_the_tool(2)]
#[case::after_the_tool(3)]
#[tokio::test]
async fn a_checkpoint_that_cannot_be_kept_costs_an_attempt_and_nothing_is_done_twice(
    #[case] fails_at: u32,
    #[values(false, true)] is_nested: bool,
) -> anyhow::Result<()> {
    // The n-th reply belongs to the n-th call that is answered; a repeated attempt makes no call again that was.
    let script = if is_nested {
        vec![tool_call("let_pay", json!({"input": "Go."})), tool_call("pay", json!({})), text("I have."), text("done")]
    } else {
        vec![tool_call("pay", json!({})), text("done")]
    };
    let (model, payments) = (FakeModel::script(script), Payments::default());
    let inline = InlineRunner::new(Resources::new().model_provider(model.clone()).state(payments.clone()));
    let shelf = Shelf { fails_at, ..Shelf::default() };
    let desk = Desk::new(move |ctx, _| {
        let (inline, shelf) = (inline.clone(), shelf.clone());
        async move {
            let options = AgenticSession::options().checkpoint_store(shelf).spill_over(0);
            options
                .run(&ctx, async |session: AgenticSession| {
                    let (payer, boss) = payers();
                    let agent = if is_nested { boss } else { payer };
                    Ok(session.runner(&inline).run(&agent, "Pay.").await?.final_output.into())
                })
                .await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, json!("done"));
    assert_eq!(payments.0.load(Ordering::SeqCst), 1, "paid once");
    model.verify();
    env.finish().await?;
    Ok(())
}

/// A store of conversations that keeps the contract: a write with a known key is left out.
#[derive(Clone, Default)]
struct Conversations(Arc<Mutex<(Vec<Item>, BTreeSet<String>)>>);

impl Session for Conversations {
    fn items<'a>(&'a self, _id: &'a str, _limit: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        let items = self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone();
        Box::pin(async move { Ok(items) })
    }

    fn add<'a>(&'a self, _id: &'a str, items: Vec<Item>, key: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.1.insert(key.to_owned()) {
            kept.0.extend(items);
        }
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_conversation_in_a_store_has_each_turn_once_after_a_failed_attempt() -> anyhow::Result<()> {
    let script = vec![tool_call("pay", json!({})), text("paid"), text("twice? no")];
    let (model, store) = (FakeModel::script(script), Conversations::default());
    let resources =
        Resources::new().model_provider(model.clone()).state(Payments::default()).session_store("notes", store.clone());
    let inline = InlineRunner::new(resources).session(SessionRef::stored("notes", "1"));
    let mishap = Mishap::new();
    let desk = Desk::new(move |ctx, _| {
        let (inline, mishap) = (inline.clone(), mishap.clone());
        async move {
            AgenticSession::run(&ctx, async |session| {
                let runner = session.runner(&inline);
                runner.run(&payers().0, "Pay.").await?;
                if !session.is_resumed() {
                    mishap.happen();
                }
                Ok(mishap.or(runner.run(&payers().0, "And now?").into_future()).await?.final_output.into())
            })
            .await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.output()?, json!("twice? no"));
    let kinds: Vec<String> = {
        let kept = store.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.0.iter().map(|item| item.kind().to_owned()).collect()
    };
    assert_eq!(
        kinds,
        ["message", "function_call", "function_call_output", "message", "message", "message"],
        "question, call, output, answer, and the second exchange"
    );
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_approver_that_fails_is_asked_again_by_another_attempt() -> anyhow::Result<()> {
    /// Who cannot be reached the first time.
    #[derive(Clone, Default)]
    struct Away(Arc<Mutex<Vec<String>>>);

    impl Approver for Away {
        fn decide<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<ApprovalRuling, BoxError>> {
            let mut ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            ids.push(asked.id.to_owned());
            let is_first = ids.len() == 1;
            Box::pin(
                async move { if is_first { Err("nobody is there".into()) } else { Ok(Decision::approve().into()) } },
            )
        }
    }

    let model = FakeModel::script([tool_call("pay", json!({})), text("done")]);
    let (payments, away) = (Payments::default(), Away::default());
    let inline = InlineRunner::new(Resources::new().model_provider(model.clone()).state(payments.clone()));
    let approver = away.clone();
    let desk = Desk::new(move |ctx, _| {
        let (inline, approver) = (inline.clone(), approver.clone());
        async move {
            AgenticSession::options()
                .approver(approver)
                .run(&ctx, async |session: AgenticSession| {
                    let payer = Agent::new("payer").model("gpt-5").tool(pay.needs_approval());
                    Ok(session.runner(&inline).run(&payer, "Pay.").await?.final_output.into())
                })
                .await
        }
    });
    let env = desk.environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, json!("done"));
    let asked = away.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(asked.len() == 2 && asked[0] == asked[1], "the same question: {asked:?}");
    assert_eq!(payments.0.load(Ordering::SeqCst), 1);
    model.verify();
    env.finish().await?;
    Ok(())
}
