//! What keeps a worker from starting, all of it at once.

use std::collections::BTreeMap;

use serde::Deserialize;
use temporal_agents::{Agent, AgentsPlugin, ToolDef, tool::ToolContext};
use temporalio_sdk::WorkerOptions;

use crate::support::clerk;

#[derive(Deserialize, schemars::JsonSchema)]
struct Votes {
    #[expect(dead_code, reason = "only its schema is looked at")]
    by_name: BTreeMap<String, u32>,
}

/// An activity, which a worker knows by its name alone.
fn weigh(description: &str) -> ToolDef {
    ToolDef::activity("weigh", description, |_, _: Votes| Box::pin(async { Ok("heavy".into()) })).lenient::<Votes>()
}

/// Hands off to the clerk, who has another `add`, which is fine, and to the smith, who has another `weigh`; has a tool whose
/// schema cannot be strict.
fn chair() -> Agent {
    let smith = Agent::new("smith").model("gpt-5").tool(weigh("Weighs iron."));
    let add = ToolDef::inline("add", "Adds votes.", |_: &mut ToolContext, _: Votes| Ok("added".into()));
    let count = ToolDef::inline("count", "Counts votes.", |_: &mut ToolContext, _: Votes| Ok("counted".into()));
    Agent::new("chair")
        .tool(add.lenient::<Votes>())
        .tool(count)
        .tool(weigh("Weighs votes."))
        .handoff(clerk())
        .handoff(smith)
}

#[test]
fn a_worker_that_cannot_run_its_agents_says_all_that_is_wrong() {
    let mut options = WorkerOptions::new("agents").build();
    let error = AgentsPlugin::default().agents((chair,)).install(&mut options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the worker cannot run its agents:\n\
         - there are agents but no model provider; add Resources::model_provider(..), or AgentsPlugin::without_models() \
         if another worker calls models\n\
         - tool \"count\" of agent \"chair\": the argument schema cannot be strict at \
         \"#/properties/by_name/additionalProperties\": a map has free keys; use a Vec of {key, value} structs or \
         mark the tool `#[tool(lenient)]`\n\
         - tool \"stock_of\" requires State<it::support::Stock>; add it with Resources::state(..)\n\
         - two different tools are named \"weigh\": their parameters are the same, and they differ in the \
         description; rename one with #[tool(name = ..)] or .named(..), or make them equal"
    );
}

#[test]
fn a_plugin_that_was_given_nothing_says_so() {
    let mut options = WorkerOptions::new("agents").build();
    let error = AgentsPlugin::default().install(&mut options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the worker cannot run its agents:\n- the plugin has neither a model provider nor agents nor tools"
    );
}
