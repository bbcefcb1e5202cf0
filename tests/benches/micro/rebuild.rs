//! A conversation of 1,000 items, with which a worker has to go on: from its memory, and from history.
//!
//! Both are whole runs of two model calls and a tool, so the difference is what reading the conversation back costs.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use divan::Bencher;
use temporal_agents::{Runner, wire::Item, worker::ConversationCache};
use temporal_agents_testing::AgentEnvironment;
use temporal_agents_tests::bench::{Spec, agents, model::ScriptedModel, script::filler};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::runtime::Runtime;

const ITEMS: usize = 1000;
const BYTES: usize = 500;

/// A run that begins with a long conversation.
#[workflow]
#[derive(Debug, Default)]
pub(crate) struct LongTalk;

#[workflow_methods]
impl LongTalk {
    #[run(name = "long_talk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, spec: Spec) -> WorkflowResult<String> {
        let said = (1..ITEMS).map(|place| Item::user(filler(&format!("item-{place}"), BYTES)));
        let input: Vec<Item> = std::iter::once(Item::user(spec.message())).chain(said).collect();
        Ok(Runner::new(ctx).run(&agents::assistant(), input).await?.final_output)
    }
}

/// The second model call's conversation is in the worker's memory.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn remembered(bencher: Bencher<'_, '_>) {
    second_call(bencher, ConversationCache::default());
}

/// It is read back from history.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn read_back(bencher: Bencher<'_, '_>) {
    second_call(bencher, ConversationCache::with_bytes(0));
}

fn second_call(bencher: Bencher<'_, '_>, cache: ConversationCache) {
    let runtime = Runtime::new().expect("a runtime starts");
    let env = runtime.block_on(started(cache)).expect("the environment starts");
    let mut runs = 0;
    bencher.bench_local(|| {
        runs += 1;
        runtime.block_on(run(&env, runs)).expect("the run succeeds");
    });
    runtime.block_on(env.finish()).expect("the environment ends");
}

async fn started(cache: ConversationCache) -> anyhow::Result<AgentEnvironment> {
    let env = AgentEnvironment::builder().workflow::<LongTalk>()?.model_provider(ScriptedModel);
    Ok(env.agent(agents::assistant).conversation_cache(cache).start().await?)
}

/// Not the environment's own `run`, which replays the run afterwards.
async fn run(env: &AgentEnvironment, number: u32) -> anyhow::Result<()> {
    let options = WorkflowStartOptions::new(env.task_queue(), format!("long-{number}")).build();
    let handle = env.client().start_workflow(LongTalk::run, Spec::tools(1), options).await?;
    handle.get_result(WorkflowGetResultOptions::default()).await?;
    Ok(())
}
