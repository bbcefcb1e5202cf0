//! A triage agent hands off to a planner with tools; the answer is a typed [`Plan`].

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use temporal_agents::{Agent, ModelActivityOptions, Runner, State, ToolError, tool};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// The state of the worker: a stand-in for services that the tools query.
#[derive(Clone, Debug)]
pub struct TravelData {
    /// Duration of a look-up.
    pub delay: Duration,
}

/// Tomorrow's weather in one city.
#[derive(Debug, Serialize)]
pub struct Weather {
    /// The city.
    pub city: String,
    /// Degrees Celsius.
    pub celsius: i32,
    /// Description of the sky.
    pub sky: &'static str,
}

/// Tomorrow's weather in one city.
///
/// # Arguments
/// * `city` - city name, e.g. "Oslo"
#[tool(start_to_close = "20s", heartbeat = "5s")]
async fn get_weather(State(almanac): State<TravelData>, city: String) -> Result<Weather, ToolError> {
    tokio::time::sleep(almanac.delay).await;
    let (celsius, sky) = match city.to_lowercase().as_str() {
        "oslo" => (12, "clear"),
        "bergen" => (9, "rain"),
        _ => (15, "cloudy"),
    };
    Ok(Weather { city, celsius, sky })
}

/// The price of a train ticket in euros.
///
/// # Arguments
/// * `from` - where the journey begins
/// * `to` - where it ends
#[tool(start_to_close = "20s", heartbeat = "5s")]
async fn train_fare(State(almanac): State<TravelData>, from: String, to: String) -> Result<u32, ToolError> {
    if from == to {
        return Err(ToolError::tell_model("from and to are the same city"));
    }
    tokio::time::sleep(almanac.delay).await;
    Ok(20 + 3 * u32::try_from(from.len() + to.len()).unwrap_or(u32::MAX / 4))
}

/// The cost of some nights in euros.
#[tool(inline)]
fn cost_of_nights(nights: u32, euros_per_night: u32) -> u32 {
    nights.saturating_mul(euros_per_night)
}

/// A plan for a trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Where to go.
    pub city: String,
    /// Why, in one sentence.
    pub reason: String,
    /// What it costs in euros.
    pub euros: u32,
}

/// Returns the triage agent, which hands off trips to the planner.
pub fn travel_desk() -> Agent<Plan> {
    let planner = Agent::new("planner")
        .model("gpt-5-mini")
        .instructions(
            "You plan trips. Look up the weather and the train fare, work out the cost of the nights \
             (80 euros each), and answer with a plan.",
        )
        .handoff_description("Plans trips by train.")
        .tool(get_weather)
        .tool(train_fare)
        .tool(cost_of_nights)
        .output::<Plan>();
    Agent::new("triage")
        .model("gpt-5-mini")
        .instructions("You receive travel requests. Hand every trip to the planner.")
        .handoff(planner)
        .output::<Plan>()
}

/// The input of the workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The traveller's request.
    pub prompt: String,
    /// Seconds without a heartbeat after which a model call counts as lost. The SDK's default is 30.
    pub heartbeat_seconds: u64,
}

/// One request from a traveller.
#[workflow]
#[derive(Debug, Default)]
pub struct Trip;

#[workflow_methods]
impl Trip {
    /// Answers the request with a plan.
    #[run(name = "trip")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, request: Request) -> WorkflowResult<Plan> {
        let model_calls =
            ModelActivityOptions::builder().heartbeat(Duration::from_secs(request.heartbeat_seconds)).build();
        let runner = Runner::new(ctx).max_turns(8).model_activity(model_calls);
        Ok(runner.run(&travel_desk(), request.prompt).await?.final_output)
    }
}
