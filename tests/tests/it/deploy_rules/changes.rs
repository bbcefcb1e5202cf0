//! The changes of the page, each as a build.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, ModelActivityOptions, RunConfig, Tool,
    agent::{GuardrailOutput, ToolUseBehavior},
    guardrail,
    run::{Compaction, SessionRef},
    tool,
    tool::{HostedTool, McpServer, ToolGuardrailOutput, ToolInputGuardrail},
    wire::ModelSettings,
};

use super::shop::{Build, Sold, boss, clerk, desk, handoff_of, order, price, triage, triage_to};

/// Orders something, with a parameter more.
#[tool(name = "order")]
async fn order_in_detail(item: String, details: bool) -> String {
    format!("{item} {details}")
}

/// Orders something, with a note.
#[tool(name = "order")]
async fn order_with_note(item: String, note: Option<String>) -> String {
    format!("{item} {note:?}")
}

/// Orders the usual.
#[tool(name = "order")]
async fn order_the_usual() -> String {
    "ordered".to_owned()
}

/// Orders by number.
#[tool(name = "order")]
async fn order_by_number(item: u32) -> String {
    item.to_string()
}

#[tool(name = "order", description = "Orders whatever you want.")]
async fn order_described(item: String) -> String {
    item
}

/// Orders something.
#[tool(name = "order", start_to_close = "5s", attempts = 9)]
async fn order_in_time(item: String) -> String {
    item
}

/// Orders something.
#[tool(name = "order", task_queue = "elsewhere")]
async fn order_elsewhere(item: String) -> String {
    item
}

/// Orders something.
#[tool(name = "order", inline)]
fn order_inline(item: String) -> String {
    item
}

/// Orders something.
#[tool(name = "order", local)]
async fn order_local(item: String) -> String {
    item
}

/// Orders something.
#[tool(name = "order", client)]
fn order_by_client(item: String);

/// The price of something.
#[tool(name = "price")]
async fn price_looked_up(item: String) -> String {
    item
}

#[guardrail(input)]
fn lets_pass(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.is_empty())
}

#[guardrail(input)]
fn trips(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(!input.is_empty())
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SoldFor {
    text: String,
    euros: u32,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SoldPerhapsFor {
    text: String,
    #[serde(default)]
    euros: u32,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Nothing {}

/// The desk with another tool in the place of its own.
fn desk_with(tool: impl Tool) -> Agent<Sold> {
    Agent::new("desk").model("gpt-5").tool(tool).output::<Sold>()
}

/// A history, and the build that it is replayed against.
pub(crate) fn of(change: &str) -> Option<(&'static str, Build)> {
    let sale = |build| Some(("sale", build));
    match change {
        "instructions of an agent" => {
            sale(Build::of(|| triage_to(desk().instructions("You sell more.")).instructions("You sort well.")))
        }
        "model of an agent, of the run" => {
            sale(Build::with(|| triage_to(desk().model("gpt-6")), |runner| runner.model("gpt-7")))
        }
        "model settings" => sale(Build::of(|| {
            let settings = ModelSettings { temperature: Some(0.5), ..ModelSettings::default() };
            triage_to(desk().settings(settings))
        })),
        "timeouts, retries, heartbeat or summary of model calls" => sale(Build::with(triage, |runner| {
            runner.model_activity(
                ModelActivityOptions::builder().start_to_close(std::time::Duration::from_secs(9)).build(),
            )
        })),
        "model calls become local activities" => sale(Build::with(triage, |runner| {
            runner.model_activity(ModelActivityOptions::builder().local(true).build())
        })),
        "tool added" => sale(Build::of(|| triage_to(desk().tool(price)).tool(price))),
        "hosted tool added" => sale(Build::of(|| triage_to(desk().hosted(HostedTool::web_search())))),
        "description of a tool" => sale(Build::of(|| triage_to(desk_with(order_described)))),
        "timeouts or attempts of a tool" => sale(Build::of(|| triage_to(desk_with(order_in_time)))),
        "task queue of a tool" => sale(Build::of(|| triage_to(desk_with(order_elsewhere)))),
        "`.serial()`, `.exclusive(..)`, `max_parallel`" => sale(Build::of(|| triage_to(desk_with(order.serial())))),
        "`Option` parameter added to a tool" => sale(Build::of(|| triage_to(desk_with(order_with_note)))),
        "required parameter added to a tool" => sale(Build::of(|| triage_to(desk_with(order_in_detail)))),
        "parameter removed from a tool" => sale(Build::of(|| triage_to(desk_with(order_the_usual)))),
        "type of a parameter made stricter" => sale(Build::of(|| triage_to(desk_with(order_by_number)))),
        "tool removed" => sale(Build::of(|| triage_to(Agent::new("desk").model("gpt-5").output::<Sold>()))),
        "tool renamed" => sale(Build::of(|| triage_to(desk_with(order.definition().named("place_order"))))),
        "tool made inline" => sale(Build::of(|| triage_to(desk_with(order_inline)))),
        "tool made a local activity" => sale(Build::of(|| triage_to(desk_with(order_local)))),
        "tool made a client tool" => sale(Build::of(|| triage_to(desk_with(order_by_client)))),
        "inline tool made an activity" => {
            Some(("inline", Build::of(|| Agent::new("clerk").model("gpt-5").tool(price_looked_up))))
        }
        "tool given `.needs_approval()`" => sale(Build::of(|| triage_to(desk_with(order.needs_approval())))),
        "`.needs_approval()` removed from a tool" => Some(("approval", Build::of(desk))),
        "pure tool guardrail added that lets the recorded calls pass" => sale(Build::of(|| {
            let passes = ToolInputGuardrail::new("passes", |_| ToolGuardrailOutput::allow());
            triage_to(desk_with(order.input_guardrail(passes)))
        })),
        "tool guardrail added that stops a recorded call" => sale(Build::of(|| {
            let stops = ToolInputGuardrail::new("stops", |_| ToolGuardrailOutput::reject_content("no"));
            triage_to(desk_with(order.input_guardrail(stops)))
        })),
        "agent as a tool removed" => Some(("agent_tool", Build::of(|| Agent::new("boss").model("gpt-5")))),
        "tools of an agent that is a tool" => Some((
            "agent_tool",
            Build::of(|| boss().tool(clerk().tool(order).as_tool().name("ask_again").description("Asks."))),
        )),
        "agent added, handoff added" => {
            sale(Build::of(|| triage().handoff(Agent::new("bin").model("gpt-5").output::<Sold>())))
        }
        "description of a handoff" => {
            sale(Build::of(|| handoff_of(desk(), |handoff| handoff.tool_description("Sells."))))
        }
        "input filter of a handoff" => sale(Build::of(|| handoff_of(desk(), |handoff| handoff.nest_history(true)))),
        "function name of a handoff" => sale(Build::of(|| handoff_of(desk(), |handoff| handoff.tool_name("sell")))),
        "start agent renamed" => {
            sale(Build::of(|| Agent::new("sorter").model("gpt-5").handoff(desk()).output::<Sold>()))
        }
        "agent of a handoff renamed" => {
            sale(Build::of(|| triage_to(Agent::new("seller").model("gpt-5").tool(order).output::<Sold>())))
        }
        "handoff removed" => sale(Build::of(|| Agent::new("triage").model("gpt-5").output::<Sold>())),
        "pure guardrail added that passes" => sale(Build::of(|| triage().input_guardrail(lets_pass))),
        "pure guardrail added that trips" => sale(Build::of(|| triage().input_guardrail(trips))),
        "guardrail in an activity added" => sale(Build::of(|| triage().input_guardrail(super::shop::no_abuse))),
        "guardrail in an activity removed" => Some(("guarded", Build::of(|| Agent::new("guarded").model("gpt-5")))),
        "field added to the output type" => {
            sale(Build::of(|| triage_to(Agent::new("desk").model("gpt-5").tool(order).output::<SoldFor>())))
        }
        "field with `#[serde(default)]` added to the output type" => {
            sale(Build::of(|| triage_to(Agent::new("desk").model("gpt-5").tool(order).output::<SoldPerhapsFor>())))
        }
        "field removed from the output type" => {
            sale(Build::of(|| triage_to(Agent::new("desk").model("gpt-5").tool(order).output::<Nothing>())))
        }
        "`max_turns` raised" => sale(Build::with(triage, |runner| runner.max_turns(90))),
        "`max_turns` below what a run has made" => sale(Build::with(triage, |runner| runner.max_turns(2))),
        "key of the run context added" => sale(Build::with(triage, |runner| runner.context("tenant", json!("acme")))),
        "`max_tool_concurrency`" => {
            sale(Build::of(triage).configured(RunConfig::builder().max_tool_concurrency(1).build()))
        }
        "compaction added" => sale(Build::with(triage, |runner| runner.compaction(Compaction::keep_newest(10_000)))),
        "session in a store added" => {
            sale(Build::with(triage, |runner| runner.session(SessionRef::stored("chats", "7"))))
        }
        "MCP server added to an agent" => sale(Build::of(|| triage_to(desk().mcp_server(McpServer::named("stock"))))),
        "`tool_use_behavior` that ends a run earlier" => {
            sale(Build::of(|| triage_to(desk().tool_use_behavior(ToolUseBehavior::StopOnFirstTool))))
        }
        _ => None,
    }
}
