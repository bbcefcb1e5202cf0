//! Activity tools of one response in one activity: the same run as with an activity for each, in fewer events.

mod crash;
mod limits;
mod live;
mod outcomes;
mod price;
mod together;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{Agent, Runner, State, Tool, ToolContext, ToolError, tool, tool::OnToolError};
use temporal_agents_testing::{
    FakeModel,
    environment::activities,
    fake_model::{text, tool_calls},
    history::History,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::{sync::Notify, time::sleep};

use crate::examples::Cache;

/// What ran, how often, and what holds calls back.
#[derive(Clone, Default)]
pub(crate) struct Log {
    began: Arc<Mutex<BTreeMap<String, Vec<String>>>>,
    news: Arc<Notify>,
}

impl Log {
    fn begins(&self, ctx: &ToolContext, what: &str) -> u32 {
        let key = ctx.info().idempotency_key().to_owned();
        self.began.lock().unwrap_or_else(PoisonError::into_inner).entry(what.to_owned()).or_default().push(key);
        self.news.notify_waiters();
        ctx.info().attempt
    }

    /// How often each began. No call has had two keys.
    fn counts(&self) -> BTreeMap<String, usize> {
        let began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, keys) in &*began {
            assert!(keys.windows(2).all(|keys| keys[0] == keys[1]), "{what}: {keys:?}");
        }
        began.iter().map(|(what, keys)| (what.clone(), keys.len())).collect()
    }

    /// Waits until so many calls have begun.
    async fn reaches(&self, calls: usize) {
        loop {
            let news = self.news.notified();
            if self.counts().values().sum::<usize>() >= calls {
                return;
            }
            tokio::select! { () = news => {}, () = sleep(Duration::from_millis(100)) => {} }
        }
    }
}

/// Does what it is asked to.
#[tool(start_to_close = "3s", heartbeat = "2s")]
async fn act(ctx: &mut ToolContext, State(log): State<Log>, way: String) -> Result<String, ToolError> {
    let attempt = log.begins(ctx, &way);
    match &*way {
        "told" => Err(ToolError::tell_model("no such thing")),
        "fails" => Err(ToolError::failed("a broken disk")),
        "flaky" if attempt < 3 => Err(ToolError::transient(format!("busy at attempt {attempt}"))),
        "always busy" => Err(ToolError::transient("busy")),
        "panics" => panic!("a bug"),
        "late" => {
            sleep(Duration::from_mins(5)).await;
            Ok(String::new())
        }
        "huge" => Ok("x".repeat(2_500_000)),
        "notes" => {
            ctx.run_mut().set("note", format!("written by {way}"))?;
            Ok("noted".to_owned())
        }
        "notes again" => {
            ctx.run_mut().set("note", format!("written by {way}"))?;
            Ok("noted again".to_owned())
        }
        "ends the run" => Err(ToolError::fail_run("nothing goes any more")),
        way => Ok(format!("{way} is done")),
    }
}

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5").tool(act.definition().with_context(["note"]))
}

/// Whether the run has batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Batches {
    On,
    Off,
}

#[workflow]
#[derive(Default)]
pub(crate) struct Desk;

#[workflow_methods]
impl Desk {
    #[run(name = "batching desk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, batches: Batches) -> WorkflowResult<Value> {
        let mut runner = Runner::new(ctx).context("note", "none").on_tool_error(OnToolError::Standard);
        if batches == Batches::On {
            runner = runner.batch_tools();
        }
        let ended = runner.run(&desk(), "Act.").await;
        Ok(match ended {
            Ok(result) => json!({"output": result.final_output, "context": result.context, "items": result.new_items}),
            Err(failure) => json!({"error": failure.to_string()}),
        })
    }
}

fn ways(ways: impl IntoIterator<Item = &'static str>) -> FakeModel {
    let calls: Vec<_> = ways.into_iter().map(|way| ("act", json!({"way": way}))).collect();
    FakeModel::script([tool_calls(calls), text("done")])
}

/// The types of the activities of a history, in order, without the model's.
fn tool_activities(history: &History) -> Vec<String> {
    let types = activities(history).into_iter().map(|activity| activity.activity_type);
    types.filter(|kind| kind != "agents.call_model").collect()
}

/// What a golden history holds: a response with four calls, one of which is retried.
pub(crate) async fn played(cache: Cache) -> anyhow::Result<Recorded> {
    let (model, log) = (ways(["one", "told", "flaky", "notes"]), Log::default());
    let env = cache.environment::<GoldenDesk>()?.model(&model).state(log).agents((desk,)).start().await?;
    let run = env.run(GoldenDesk::run, String::new()).await?;
    assert_eq!(tool_activities(&run.history), ["agents.call_tools"]);
    let histories = vec![run.history.clone()];
    run.output()?;
    env.finish().await?;
    Ok(Recorded { histories })
}

/// Histories of a release.
pub(crate) struct Recorded {
    pub(crate) histories: Vec<History>,
}

/// The workflow of the golden history.
#[workflow]
#[derive(Default)]
pub(crate) struct GoldenDesk;

#[workflow_methods]
impl GoldenDesk {
    #[run(name = "golden batching desk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, _nothing: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).context("note", "none").batch_tools().run(&desk(), "Act.").await?.final_output)
    }
}
