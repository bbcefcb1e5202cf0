//! The agents most tests run: a triage agent that hands off to a specialist with tools.

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use temporal_agents::{Agent, Runner, State, ToolError, store::Session, tool, tool::BoxError, wire::Item};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Stock by product.
#[derive(Clone)]
pub(crate) struct Stock(pub(crate) u32);

/// Pieces of a product in stock.
///
/// # Arguments
/// * `product` - product name
#[tool(start_to_close = "5s")]
pub(crate) async fn stock_of(State(stock): State<Stock>, product: String) -> Result<u32, ToolError> {
    match product.as_str() {
        "nothing" => Err(ToolError::tell_model("no such product")),
        "broken" => Err(ToolError::failed("database password is wrong")),
        "flaky" => Err(ToolError::transient("database is starting")),
        "panic" => panic!("the tool panicked"),
        _ => Ok(stock.0),
    }
}

/// Adds two numbers.
#[tool(inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// A store whose sessions are empty.
pub(crate) struct EmptySessions;

impl Session for EmptySessions {
    fn items<'a>(&'a self, _: &'a str, _: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn add<'a>(&'a self, _: &'a str, _: Vec<Item>, _: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async { Ok(()) })
    }
}

/// A typed answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Report {
    pub(crate) summary: String,
    pub(crate) pieces: u32,
}

pub(crate) fn triage() -> Agent<Report> {
    let clerk = Agent::new("clerk")
        .model("gpt-5")
        .instructions("You know the stock.")
        .tool(stock_of)
        .tool(add)
        .output::<Report>();
    Agent::new("triage").model("gpt-5").instructions("You sort requests.").handoff(clerk).output::<Report>()
}

pub(crate) fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(stock_of).tool(add)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Warehouse;

#[workflow_methods]
impl Warehouse {
    #[run(name = "warehouse")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<Report> {
        Ok(Runner::new(ctx).run(&triage(), question).await?.final_output)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Clerk;

#[workflow_methods]
impl Clerk {
    #[run(name = "clerk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).max_turns(3).run(&clerk(), question).await?.final_output)
    }
}

/// A value of a type that only the library can construct, parsed from its JSON.
pub(crate) fn read<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("JSON of this type")
}
