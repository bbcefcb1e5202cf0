//! What hooks hear of tools: enough to tell two calls of one tool apart.

use std::{
    mem::take,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::json;
use temporal_agents::{
    Agent, Runner,
    agent::{HookContext, HookResult, HookedCall, RunHooks},
    inline::InlineRunner,
    tool,
    wire::{ModelResponse, ToolOutput},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::Cache;

/// Adds two numbers.
#[tool(inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Writes down what it hears.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Ear {
    fn hears(&self, what: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }
}

impl RunHooks for Ear {
    fn on_tool_start(&self, _: &HookContext<'_>, agent: &str, call: &HookedCall<'_>) -> HookResult {
        self.hears(format!("{agent} begins {} {} {}", call.info.tool, call.info.call_id, call.arguments));
        Ok(())
    }

    fn on_tool_end(&self, _: &HookContext<'_>, agent: &str, call: &HookedCall<'_>, output: &ToolOutput) -> HookResult {
        let (call, output) = (call.info, output.to_text());
        self.hears(format!("{agent} has {} {} = {output}", call.tool, call.call_id));
        Ok(())
    }
}

#[tokio::test]
async fn hooks_hear_id_and_arguments_of_each_call() -> anyhow::Result<()> {
    let ear = Ear::default();
    let calls = [("add", json!({"a": 1, "b": 2})), ("add", json!({"a": 3, "b": 4}))];
    let model = FakeModel::script([tool_calls(calls), text("3 and 7")]);
    let agent = Agent::new("clerk").model("gpt-5").tool(add).hooks(ear.clone());
    InlineRunner::new(model.clone()).run(&agent, "Add.").await?;
    let asked = model.calls().pop().expect("it was asked").input;
    let ids: Vec<_> =
        asked.iter().filter(|item| item.kind() == "function_call").filter_map(|item| item.call_id()).collect();
    let [first, second] = ids[..] else { panic!("two calls: {ids:?}") };
    assert_ne!(first, second);
    let heard = take(&mut *ear.0.lock().unwrap_or_else(PoisonError::into_inner));
    assert_eq!(
        heard,
        [
            format!(r#"clerk begins add {first} {{"a":1,"b":2}}"#),
            format!(r#"clerk begins add {second} {{"a":3,"b":4}}"#),
            format!("clerk has add {first} = 3"),
            format!("clerk has add {second} = 7"),
        ]
    );
    Ok(())
}

static ALL: AtomicU32 = AtomicU32::new(0);
static LIVE: AtomicU32 = AtomicU32::new(0);

/// Counts turns, and those that happen for the first time.
struct Turns;

impl RunHooks for Turns {
    fn on_llm_end(&self, ctx: &HookContext<'_>, _: &str, _: &ModelResponse) -> HookResult {
        ALL.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_add(u32::from(!ctx.is_replaying), Ordering::Relaxed);
        Ok(())
    }
}

/// Looks something up.
#[tool]
async fn look_up() -> String {
    "found".to_owned()
}

fn counted() -> Agent {
    Agent::new("counted").model("gpt-5").tool(look_up).hooks(Turns)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Counted;

#[workflow_methods]
impl Counted {
    #[run(name = "counted_hooks")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&counted(), question).await?.final_output)
    }
}

#[tokio::test]
async fn a_hook_knows_whether_the_workflow_replays() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_calls([("look_up", json!({}))]), text("done")]);
    let env = Cache::Off.environment::<Counted>()?.model(&model).agents((counted,)).start().await?;
    env.run(Counted::run, "Go.".to_owned()).await?;
    let (all, live) = (ALL.load(Ordering::Relaxed), LIVE.load(Ordering::Relaxed));
    assert_eq!(live, 2);
    assert!(all > live, "without a cache each workflow task begins with a replay: {all}");
    env.finish().await?;
    Ok(())
}
