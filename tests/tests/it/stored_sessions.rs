//! Sessions in a store outside of the workflow: read and written by activities, each write once whatever happens.

mod cancelled;
mod large;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use futures::future::BoxFuture;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{Runner, run::SessionRef, store::Session, tool::BoxError, wire::Item};
use temporal_agents_testing::{
    FakeModel, FinishedRun,
    fake_model::{text, tool_call},
};
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::{
    examples::{Cache, histories},
    rolling_deploys::release::waiting,
    support::{Stock, clerk},
};

/// A store that loses the answer to its second write after it has written, and cannot be read at first.
#[derive(Clone, Default)]
pub(crate) struct Flaky(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    items: BTreeMap<String, Vec<Item>>,
    keys: BTreeSet<String>,
    /// Every attempt: what was asked, and how many items came with it.
    asked: Vec<String>,
}

impl Flaky {
    /// Every attempt so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.keep(|kept| kept.asked.clone())
    }

    fn keep<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Session for Flaky {
    fn items<'a>(&'a self, session_id: &'a str, limit: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        let items = self.keep(|kept| {
            kept.asked.push(format!("read {session_id} {limit:?}"));
            if kept.asked.len() == 1 {
                return Err(BoxError::from("the store is starting"));
            }
            let items = kept.items.get(session_id).cloned().unwrap_or_default();
            let latest = limit.map_or(0, |limit| items.len().saturating_sub(limit as usize));
            Ok(items[latest..].to_vec())
        });
        Box::pin(std::future::ready(items))
    }

    fn add<'a>(&'a self, session_id: &'a str, items: Vec<Item>, key: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        let added = self.keep(|kept| {
            kept.asked.push(format!("add {} to {session_id}", items.len()));
            let is_new = kept.keys.insert(key.to_owned());
            if is_new {
                kept.items.entry(session_id.to_owned()).or_default().extend(items);
            }
            if is_new && kept.keys.len() == 2 { Err(BoxError::from("the connection is lost")) } else { Ok(()) }
        });
        Box::pin(std::future::ready(added))
    }
}

/// A question in a session of the store, of which so many items are read.
#[workflow]
#[derive(Default)]
pub(crate) struct Shop;

#[workflow_methods]
impl Shop {
    #[run(name = "shop")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        (store, question, limit): (String, String, Option<u32>),
    ) -> WorkflowResult<String> {
        let session = SessionRef::Stored { store, session_id: "customer 7".to_owned(), limit };
        Ok(Runner::new(ctx).session(session).run(&clerk(), question).await?.final_output)
    }
}

fn asks(question: &str, limit: Option<u32>) -> (String, String, Option<u32>) {
    ("shop".to_owned(), question.to_owned(), limit)
}

/// Type and attempts of each activity.
fn attempts(run: &FinishedRun<String>) -> Vec<(String, i32)> {
    run.activities().into_iter().map(|activity| (activity.activity_type, activity.attempts)).collect()
}

fn run_id(run: &FinishedRun<String>) -> String {
    match run.history.events.first().and_then(|event| event.attributes.as_ref()) {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => started.first_execution_run_id.clone(),
        other => panic!("a history begins with its start, not with {other:?}"),
    }
}

fn attempt(kind: &str, attempts: i32) -> (String, i32) {
    (kind.to_owned(), attempts)
}

fn contents(items: &[Item]) -> Vec<String> {
    let content = |item: &Item| match (item.text(), item.get("output")) {
        (Some(text), _) => text,
        (None, Some(output)) => output.as_str().unwrap_or_default().to_owned(),
        (None, None) => item.kind().to_owned(),
    };
    items.iter().map(content).collect()
}

#[rstest]
#[tokio::test]
async fn a_write_whose_answer_is_lost_is_made_once_and_the_next_run_reads_it(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let store = Flaky::default();
    let model =
        FakeModel::script([tool_call("stock_of", json!({"product": "bolt"})), text("There are 3."), text("I said 3.")]);
    let builder = cache.environment::<Shop>()?.model(&model).state(Stock(3)).agents((clerk,));
    let env = builder.session_store("shop", store.clone()).start().await?;

    let first = env.run(Shop::run, asks("How many bolts?", None)).await?;
    histories::<Shop>(&env, &first.workflow_id).await?;
    let (session, model_call) = ("agents.session.shop", "agents.call_model");
    assert_eq!(
        attempts(&first),
        [
            attempt(session, 2),
            attempt(session, 1),
            attempt(model_call, 1),
            attempt("agents.tool.stock_of", 1),
            attempt(session, 2),
            attempt(model_call, 1),
            attempt(session, 1),
        ]
    );
    let first_run = run_id(&first);
    assert_eq!(first.output()?, "There are 3.");
    let said = ["How many bolts?", "function_call", "3", "There are 3."];
    assert_eq!(contents(&store.keep(|kept| kept.items["customer 7"].clone())), said);

    let second = env.run(Shop::run, asks("How many?", Some(2))).await?;
    histories::<Shop>(&env, &second.workflow_id).await?;
    let second_run = run_id(&second);
    assert_eq!(second.output()?, "I said 3.");
    let heard = model.calls().pop().expect("it was asked").input;
    assert_eq!(contents(&heard), ["There are 3.", "How many?"], "an output without its call is not sent");
    assert_eq!(
        store.asked(),
        [
            "read customer 7 None",
            "read customer 7 None",
            "add 1 to customer 7",
            "add 2 to customer 7",
            "add 2 to customer 7",
            "add 1 to customer 7",
            "read customer 7 Some(2)",
            "add 1 to customer 7",
            "add 1 to customer 7",
        ]
    );
    let mut runs = [first_run, second_run].map(|run| (run, 0));
    for key in store.keep(|kept| kept.keys.clone()) {
        let of_run = runs.iter_mut().find(|(run, _)| key.starts_with(&format!("{run}/")));
        of_run.ok_or_else(|| anyhow::anyhow!("{key} is of no run"))?.1 += 1;
    }
    assert_eq!(runs.map(|(_, keys)| keys), [3, 2], "each write has a key of its own, which names the run");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_waits_for_a_store_that_no_worker_has_until_it_is_cancelled(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let builder = cache.environment::<Shop>()?.without_models().state(Stock(3)).agents((clerk,));
    let env = builder.session_store("shop", Flaky::default()).start().await?;
    let handle = env.start_workflow(Shop::run, ("cellar".to_owned(), "How many?".to_owned(), None)).await?;
    let summary = waiting(&env, &handle.info().workflow_id).await?;
    assert_eq!(summary, "waiting for a worker that has activity `agents.session.cellar`");
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    histories::<Shop>(&env, &run.workflow_id).await?;
    assert!(matches!(run.output(), Err(WorkflowGetResultError::Cancelled { .. })));
    env.finish().await?;
    Ok(())
}
