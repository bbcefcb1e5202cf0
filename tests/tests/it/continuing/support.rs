//! An agent that reads aloud for many turns, in a workflow that continues as new.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunResult, Runner, Tool,
    run::Compaction,
    tool,
    wire::{Carried, ModelCall},
    workflow::ContinueOptions,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::activities,
    fake_model::{Reply, item, text},
    history::{self, History},
};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::{Cache, histories};

/// A page of a book.
#[tool]
async fn page(number: u32, words: usize) -> String {
    format!("page {number} ").repeat(words)
}

/// A reader whose pages a person approves.
pub(crate) fn careful_reader() -> Agent {
    Agent::new("reader").model("gpt-5").instructions("You read aloud.").tool(page.needs_approval())
}

pub(crate) fn reader() -> Agent {
    Agent::new("reader").model("gpt-5").instructions("You read aloud.").tool(page)
}

/// A model that asks for a page at each turn, so many times.
pub(crate) fn pages(count: u32) -> FakeModel {
    FakeModel::function(move |call, _| -> Reply {
        if call.turn > count { text("The end.") } else { next_page(call.turn) }
    })
}

/// Asks for a page of so many words.
pub(crate) fn page_call(number: u32, words: usize) -> Value {
    let (id, arguments) = (format!("page_{number}"), json!({"number": number, "words": words}).to_string());
    json!({"type": "function_call", "id": id, "call_id": id, "name": "page", "arguments": arguments})
}

/// Not with the model's own ids: those count the items of the conversation, which gets shorter.
fn next_page(turn: u32) -> Reply {
    item(page_call(turn, 60))
}

/// The same, and it can summarize.
pub(crate) fn summarizing(count: u32) -> FakeModel {
    FakeModel::function(move |call, _| -> Reply {
        match call.turn {
            turn if call.definitions.tools.is_empty() => text(format!("up to turn {turn}")),
            turn if turn > count => text("The end."),
            turn => next_page(turn),
        }
    })
}

/// When the workflow continues as new.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Limits {
    pub(crate) new_events: u32,
    pub(crate) new_bytes: usize,
    pub(crate) inline_bytes: usize,
    pub(crate) chunk_bytes: usize,
    pub(crate) most_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let ContinueOptions { new_events, new_bytes, inline_bytes, chunk_bytes, most_bytes, .. } =
            ContinueOptions::default();
        Self { new_events, new_bytes, inline_bytes, chunk_bytes, most_bytes }
    }
}

impl From<Limits> for ContinueOptions {
    fn from(limits: Limits) -> Self {
        let Limits { new_events, new_bytes, inline_bytes, chunk_bytes, most_bytes } = limits;
        Self::builder()
            .new_events(new_events)
            .new_bytes(new_bytes)
            .inline_bytes(inline_bytes)
            .chunk_bytes(chunk_bytes)
            .most_bytes(most_bytes)
            .build()
    }
}

/// What is to be done, and what was done of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) limits: Limits,
    pub(crate) shortens: Option<Shortens>,
    /// Gives back no items: a result may have 2 MB.
    pub(crate) is_brief: bool,
    pub(crate) carried: Option<Carried>,
}

/// What shortens the conversation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Shortens {
    Newest(usize),
    Summary(usize),
    /// A function that keeps the latest call and its output.
    LastTurn,
    /// A function that keeps the latest output alone.
    Torn,
    /// A function that keeps more when it is asked for the first time: as if another release had taken the workflow over.
    LessTheNextTime,
    Fails,
    Panics,
}

/// How often [`Shortens::LessTheNextTime`] was asked; one test uses it.
pub(crate) static ASKED: AtomicUsize = AtomicUsize::new(0);

impl From<Shortens> for Compaction {
    fn from(shortens: Shortens) -> Self {
        let keeps =
            |count: usize| Self::with(move |mut items, _run| Ok(items.split_off(items.len().saturating_sub(count))));
        match shortens {
            Shortens::Newest(bytes) => Self::keep_newest(bytes),
            Shortens::Summary(bytes) => Self::summarize(bytes),
            Shortens::LastTurn => keeps(2),
            Shortens::Torn => keeps(1),
            Shortens::LessTheNextTime => Self::with(|mut items, _run| {
                let kept = if ASKED.fetch_add(1, Ordering::SeqCst) == 0 { 4 } else { 2 };
                Ok(items.split_off(items.len().saturating_sub(kept)))
            }),
            Shortens::Fails => Self::with(|_items, _run| Err("no idea".into())),
            Shortens::Panics => Self::with(|_items, _run| panic!("at a loss")),
        }
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Reading;

#[workflow_methods]
impl Reading {
    #[run(name = "reading")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, job: Job) -> WorkflowResult<Value> {
        let Job { limits, shortens, is_brief, carried } = job;
        let next = limits.clone();
        let mut runner = Runner::new(ctx)
            .unlimited_turns()
            .continue_with(move |carried| Job { limits: next.clone(), shortens, is_brief, carried: Some(carried) })
            .continue_when(limits.into());
        if let Some(shortens) = shortens {
            runner = runner.compaction(shortens.into());
        }
        let result = match carried {
            None => runner.run(&reader(), "Read it to me.").await?,
            Some(carried) => runner.run(&reader(), carried).await?,
        };
        if is_brief {
            return Ok(json!({"final_output": result.final_output, "turns": result.turns, "usage": result.usage}));
        }
        Ok(report(&result))
    }
}

/// Everything a run gives back.
pub(crate) fn report(result: &RunResult<String>) -> Value {
    json!({
        "final_output": result.final_output,
        "last_agent": result.last_agent,
        "turns": result.turns,
        "usage": result.usage,
        "context": result.context,
        "new_items": result.new_items,
        "input": result.to_input_list(),
    })
}

/// A chain of executions that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The result, or the failure from the outside in: type and message of each link.
    pub(crate) result: Result<Value, Vec<(String, String)>>,
    /// Each was replayed.
    pub(crate) histories: Vec<History>,
    pub(crate) calls: Vec<ModelCall>,
}

impl Finished {
    /// How many model calls each execution has made.
    pub(crate) fn model_calls(&self) -> Vec<usize> {
        self.count("agents.call_model")
    }

    /// How many activities of this type each execution has.
    pub(crate) fn count(&self, kind: &str) -> Vec<usize> {
        let count = |history| activities(history).iter().filter(|activity| activity.activity_type == kind).count();
        self.histories.iter().map(count).collect()
    }

    /// The ids of the activities of this type.
    pub(crate) fn ids(&self, kind: &str) -> Vec<String> {
        let all = self.histories.iter().flat_map(activities);
        all.filter(|activity| activity.activity_type == kind).map(|activity| activity.activity_id).collect()
    }
}

/// The histories of all executions of a workflow, the first one first.
pub(crate) async fn chain(env: &AgentEnvironment, workflow_id: &str) -> anyhow::Result<Vec<History>> {
    let mut histories = vec![history::fetch(env.client(), workflow_id, None).await?];
    while let Some(before) = run_before(&histories[0]) {
        histories.insert(0, history::fetch(env.client(), workflow_id, Some(&*before)).await?);
    }
    Ok(histories)
}

fn run_before(history: &History) -> Option<String> {
    match history.events.first().and_then(|event| event.attributes.as_ref()) {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
            Some(started.continued_execution_run_id.clone()).filter(|run| !run.is_empty())
        }
        _ => None,
    }
}

/// Reads so many pages.
pub(crate) async fn read(turns: u32, limits: Limits, cache: Cache) -> anyhow::Result<Finished> {
    read_with(pages(turns), limits, None, cache).await
}

/// Reads with this model.
pub(crate) async fn read_with(
    model: FakeModel,
    limits: Limits,
    shortens: Option<Shortens>,
    cache: Cache,
) -> anyhow::Result<Finished> {
    let env = cache.environment::<Reading>()?.model(&model).agents((reader,)).start().await?;
    let run = env.run(Reading::run, Job { limits, shortens, ..Job::default() }).await?;
    let histories = histories::<Reading>(&env, &run.workflow_id).await?;
    let failure = run.failure_chain();
    env.finish().await?;
    Ok(Finished { result: run.output().map_err(|_| failure), histories, calls: model.calls() })
}
