//! The attribute macros of temporal-agents.
//!
//! Only the entries; what each macro does is in its own directory, in four steps: parse the attribute, read the item,
//! validate both together, expand. `temporal-agents` re-exports the macros and holds everything that they expand to.

mod agent_handlers;
mod attribute;
mod mistakes;
mod tool;

use proc_macro::TokenStream;

/// Turns a function into a tool that a model can call.
///
/// `#[tool]` above an `async fn` makes an activity tool: the body runs on a worker, with timeouts and retries, and may
/// do what it likes. `#[tool(inline)]` above a plain `fn` makes an inline tool: the body runs in the workflow, at once,
/// and again on replay, so it must be pure.
///
/// The function becomes a unit struct of its name that implements `Tool`, so that `agent.tool(get_weather)` reads well.
/// The body is its method `call`: a unit test writes `get_weather.call(..).await`. In the body itself the name is still
/// that of the function; elsewhere in the module a variable cannot have it, as with every unit struct.
///
/// ```
/// use temporal_agents::{State, ToolError, tool};
/// # #[derive(Clone)]
/// # struct WeatherApi;
/// # #[derive(serde::Serialize)]
/// # struct Weather;
/// # impl WeatherApi {
/// #     async fn now(&self, _city: &str) -> std::io::Result<Weather> { Ok(Weather) }
/// # }
///
/// /// Current weather for one city.
/// ///
/// /// # Arguments
/// /// * `city` - city name, e.g. "Oslo"
/// #[tool(start_to_close = "20s")]
/// async fn get_weather(State(api): State<WeatherApi>, city: String) -> Result<Weather, ToolError> {
///     Ok(api.now(&city).await?)
/// }
///
/// /// Adds two numbers.
/// #[tool(inline)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
/// ```
///
/// # What the model sees
/// The name is the function's, the description its doc comment up to the first `#` heading. The arguments are the
/// parameters in their order; each type implements `serde::Deserialize` and `schemars::JsonSchema`. An `Option` may be
/// `null`. An argument is described by a bullet under `# Arguments`, or by a doc comment on the parameter.
///
/// Two kinds of parameters are not arguments: `ctx: &ToolContext` (or `&mut ToolContext`), which knows the call and the
/// run, and `State<T>`, which the worker supplies to activity tools.
///
/// What it returns, a value or a `Result`, reaches the model as text: a string as it is, anything else as JSON.
///
/// # Keys
///
/// | key | what it does |
/// |---|---|
/// | `name = "weather"` | the name the model calls, instead of the function's |
/// | `description = ".."` | the description, instead of the doc comment |
/// | `inline` | an inline tool |
/// | `lenient` | sends the schema without strict mode: for maps and values of any shape |
/// | `start_to_close = "20s"` | longest time of one attempt |
/// | `schedule_to_close = "1h30m"` | longest time of all attempts |
/// | `heartbeat = "30s"` | longest time without a heartbeat |
/// | `attempts = 5` | attempts in all |
/// | `idempotent = false` | running twice does harm: one attempt |
/// | `task_queue = ".."` | the task queue whose worker runs it |
/// | `summary = ".."` | the line that the Temporal UI shows |
/// | `context("key", ..)` | the keys of the run context that an activity tool gets |
/// | `crate = path` | where `temporal_agents` is, when it is not at `::temporal_agents` |
///
/// Durations are numbers with a unit, `ms`, `s`, `m` or `h`.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(attribute.into(), &item.into()).into()
}

/// Adds to a workflow what a run that waits for decisions needs: two updates, a query, and its inbox.
///
/// It stands above `#[workflow_methods]`. The workflow has a field `inbox: AgentInbox`, and its run uses
/// `Runner::with_inbox`.
///
/// ```
/// use temporal_agents::{Agent, Runner, agent_handlers, workflow::AgentInbox};
/// use temporalio_macros::{workflow, workflow_methods};
/// use temporalio_workflow::{WorkflowContext, WorkflowResult};
///
/// # fn main() {}
/// # fn refunds() -> Agent { Agent::new("refunds").model("gpt-5") }
/// #[workflow]
/// #[derive(Default)]
/// pub struct Refunds {
///     inbox: AgentInbox,
/// }
///
/// #[agent_handlers]
/// #[workflow_methods]
/// impl Refunds {
///     #[run(name = "refunds")]
///     pub async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
///         Ok(Runner::with_inbox(ctx).run(&refunds(), request).await?.final_output)
///     }
/// }
/// ```
///
/// # Handlers
///
/// | kind | name | takes | gives |
/// |---|---|---|---|
/// | update | `agent_decide` | `AgentDecision` | `DecisionReply` |
/// | update | `agent_supply_output` | `SuppliedOutput` | `DecisionReply` |
/// | query | `agent_state` | nothing | `AgentState` |
///
/// All are JSON messages of `temporal_agents::wire`; `temporal_agents::worker::AgentHandle` sends them by workflow id. With
/// the Temporal CLI:
///
/// ```sh
/// temporal workflow query --workflow-id refund-7 --type agent_state
/// temporal workflow update execute --workflow-id refund-7 --name agent_decide \
///     --input '{"interruption_id": "call_1", "decision": {"kind": "approve"}}'
/// ```
///
/// # Keys
///
/// | key | what it does |
/// |---|---|
/// | `inbox = "decisions"` | the name of the field, instead of `inbox` |
/// | `crate = path` | where `temporal_agents` is, when it is not at `::temporal_agents` |
#[proc_macro_attribute]
pub fn agent_handlers(attribute: TokenStream, item: TokenStream) -> TokenStream {
    agent_handlers::expand(attribute.into(), &item.into()).into()
}
