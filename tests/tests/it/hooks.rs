//! What hooks hear of tools: enough to tell two calls of one tool apart.

use std::{
    mem::take,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::json;
use temporal_agents::{
    Agent,
    agent::{HookContext, HookResult, HookedCall, RunHooks},
    inline::InlineRunner,
    tool,
    wire::ToolOutput,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};

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
