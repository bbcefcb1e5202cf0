//! Sessions of runs that continue as new: they have everything once.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Runner,
    run::{MemorySession, SessionRef},
    store::Session,
    tool::BoxError,
    wire::{Carried, Item},
    workflow::ContinueOptions,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::support::{pages, reader};
use crate::examples::{Cache, histories};

/// A store of one session.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<Vec<Item>>>);

impl Session for Store {
    fn items<'a>(&'a self, _session_id: &'a str, _limit: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        let items = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(std::future::ready(Ok(items)))
    }

    fn add<'a>(&'a self, _session_id: &'a str, items: Vec<Item>, _key: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(items);
        Box::pin(std::future::ready(Ok(())))
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Bedtime {
    /// The session, where it lives in the workflow.
    memory: Option<MemorySession>,
    carried: Option<Carried>,
}

/// Reads with a session; gives what was said, and what the session in memory holds.
#[workflow]
#[derive(Default)]
pub(crate) struct Story;

#[workflow_methods]
impl Story {
    #[run(name = "story")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        Bedtime { memory, carried }: Bedtime,
    ) -> WorkflowResult<(Vec<Item>, Vec<Item>)> {
        let (session, next) = (memory.clone().unwrap_or_default(), memory.clone());
        let used = memory.map_or_else(|| SessionRef::stored("books", "evening"), SessionRef::from);
        let runner = Runner::new(ctx)
            .session(used)
            .continue_with(move |carried| Bedtime { memory: next.clone(), carried: Some(carried) })
            .continue_when(ContinueOptions::builder().new_events(0).build());
        let result = match carried {
            None => runner.run(&reader(), "Read it to me.").await?,
            Some(carried) => runner.run(&reader(), carried).await?,
        };
        Ok((result.to_input_list(), session.items()))
    }
}

#[tokio::test]
async fn a_session_in_memory_has_everything_once() -> anyhow::Result<()> {
    let model = pages(3);
    let env = Cache::Off.environment::<Story>()?.model(&model).agents((reader,)).start().await?;
    let memory = MemorySession::new(vec![Item::user("Good evening.")]);
    let run = env.run(Story::run, Bedtime { memory: Some(memory), carried: None }).await?;
    let histories = histories::<Story>(&env, &run.workflow_id).await?;
    assert_eq!(histories.len(), 4);
    let (said, session) = run.output()?;
    assert_eq!((said.len(), said[0].clone()), (2 + 3 * 2 + 1, Item::user("Good evening.")));
    assert_eq!(session, said);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_session_in_a_store_has_everything_once() -> anyhow::Result<()> {
    let (model, store) = (pages(3), Store::default());
    let env = Cache::On.environment::<Story>()?.model(&model).agents((reader,));
    let env = env.session_store("books", store.clone()).start().await?;
    let run = env.run(Story::run, Bedtime::default()).await?;
    let histories = histories::<Story>(&env, &run.workflow_id).await?;
    assert_eq!(histories.len(), 4);
    let (said, _) = run.output()?;
    assert_eq!((said.len(), json!(said[0])), (1 + 3 * 2 + 1, json!({"role": "user", "content": "Read it to me."})));
    assert_eq!(store.items("evening", None).await.map_err(|error| anyhow::anyhow!("{error}"))?, said);
    env.finish().await?;
    Ok(())
}
