//! The attribute macros of temporal-agents.
//!
//! This file holds only the entry points. Each macro has its own directory and four steps: parse
//! the attribute, parse the item, validate both together, expand. `temporal-agents` re-exports the
//! macros and holds everything that their expansions refer to.

mod activity_options;
mod agent_handlers;
mod attribute;
mod declaration;
mod doc_comment;
mod guardrail;
mod mistakes;
mod tool;
mod types;

use proc_macro::TokenStream;

/// Turns a function into a tool that a model can call.
///
/// `#[tool]` above an `async fn` makes an activity tool: the body runs on a worker, with timeouts
/// and retries, and may do I/O. `#[tool(inline)]` above a plain `fn` makes an inline tool: the body
/// runs in the workflow, at once, and again on replay, so it must be pure. `#[tool(workflow)]`
/// above an `async fn` makes a workflow tool: it also runs in the workflow, and may wait there for
/// the operations of its `WorkflowToolContext`: timers, activities, child workflows.
///
/// `#[tool(client)]` above a `fn` without a body makes a client tool: a call of it waits, durably,
/// until a client outside the workflow has executed it and supplies the output. The return type
/// documents the output for readers of the code.
///
/// The function becomes a unit struct with its name that implements `Tool`, so that
/// `agent.tool(get_weather)` works. The body is the struct's method `call`: a unit test writes
/// `get_weather.call(..).await`. In the body itself the name still means the function.
///
/// Elsewhere in the module, and wherever the tool is imported, a variable cannot have the tool's
/// name, as with every unit struct: `let refund = ..`, `|refund| ..` and `Some(refund)` compare
/// with the tool there ("`refund` is interpreted as a unit struct, not a new binding"). Rename the
/// variable, or put the tools into a separate module and refer to them by its path:
/// `.tool(tools::refund)`.
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
/// async fn get_weather(
///     State(api): State<WeatherApi>,
///     city: String,
/// ) -> Result<Weather, ToolError> {
///     Ok(api.now(&city).await?)
/// }
///
/// /// Adds two numbers.
/// #[tool(inline)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// Lets the user pick a file; returns its path.
/// #[tool(client)]
/// fn pick_file(title: String) -> String;
/// ```
///
/// # What the model sees
/// The name is the function's; the description is its doc comment up to the first `#` heading. The
/// arguments are the parameters in their order; each type implements `serde::Deserialize` and
/// `schemars::JsonSchema`. An `Option` may be `null`. An argument is described by a bullet under
/// `# Arguments`, or by a doc comment on the parameter.
///
/// Two kinds of parameters are not arguments: `ctx: &ToolContext` (or `&mut ToolContext`;
/// `&mut WorkflowToolContext` in workflow tools), which describes the call and the run, and
/// `State<T>`, which the worker supplies to activity tools.
///
/// The returned value (or the value of a returned `Result`) reaches the model as text: a string as
/// it is, any other value as JSON.
///
/// # Keys
///
/// | key | effect |
/// |---|---|
/// | `name = "weather"` | the name the model calls, instead of the function's |
/// | `description = ".."` | the description, instead of the doc comment |
/// | `inline` | an inline tool |
/// | `client` | a tool that runs at the caller: the function has `;` instead of a body |
/// | `workflow` | a workflow tool |
/// | `local` | a local activity: on the workflow's own worker, without a task and heartbeats |
/// | `lenient` | sends the schema without strict mode: for maps and values of any shape |
/// | `start_to_close = "20s"` | longest time of one attempt |
/// | `schedule_to_close = "1h30m"` | longest time of all attempts |
/// | `heartbeat = "30s"` | longest time without a heartbeat |
/// | `attempts = 5` | all attempts (transient errors, panics, timeouts, lost workers); default 3 |
/// | `idempotent = false` | running twice does harm: one attempt |
/// | `task_queue = ".."` | the task queue whose worker runs it |
/// | `summary = ".."` | the line that the Temporal UI shows |
/// | `context("key", ..)` | the keys of the run context that an activity tool gets |
/// | `needs_approval` | each call waits for a decision of a person |
/// | `needs_approval = euros > 50` | so do calls whose arguments, by name, meet this condition |
/// | `crate = path` | where `temporal_agents` is, when it is not at `::temporal_agents` |
///
/// A condition of `needs_approval` fails closed: a call waits if its arguments cannot be parsed, or
/// if the condition panics. The condition refers to parameters by name, so renaming one is a
/// compile error. The condition runs in the workflow, again on replay, so it must be pure.
///
/// Durations are numbers with a unit, `ms`, `s`, `m` or `h`.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand(attribute.into(), &item.into()).into()
}

/// Turns the methods of a type into tools that share it: the type is a state of the worker.
///
/// Methods with `#[tool]` are activity tools; they take `&self`, and otherwise the same parameters
/// and keys as a function with `#[tool]`. The type is `Clone + Send + Sync`, and
/// `Resources::state(set)` registers its value with the worker; a worker without it does not
/// start. The other methods are unchanged.
///
/// The type gets a function `tools()`, which returns all its tools, and one function for each tool,
/// named after the method: `refund_tool()`. The methods remain callable: a unit test writes
/// `desk.refund(7).await`.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use temporal_agents::{Agent, Tool, ToolError, tool, tools};
///
/// #[derive(Clone, Default)]
/// struct Desk {
///     refunded: Arc<Mutex<Vec<u32>>>,
/// }
///
/// #[tools]
/// impl Desk {
///     /// Gives the money of an order back.
///     ///
///     /// # Arguments
///     /// * `order` - number of the order
///     #[tool(idempotent = false)]
///     async fn refund(&self, order: u32) -> Result<String, ToolError> {
///         self.refunded.lock().expect("no tool panics").push(order);
///         Ok(format!("refunded {order}"))
///     }
///
///     /// Lists the orders that were refunded.
///     #[tool]
///     async fn refunds(&self) -> Vec<u32> {
///         self.refunded.lock().expect("no tool panics").clone()
///     }
/// }
///
/// # fn agents() -> (Agent, Agent) {
/// let clerk = Agent::new("clerk").model("gpt-5").tools(Desk::tools());
/// let trainee = Agent::new("trainee").model("gpt-5").tool(Desk::refund_tool().needs_approval());
/// # (clerk, trainee)
/// # }
/// ```
///
/// # Keys
///
/// | key | effect |
/// |---|---|
/// | `crate = path` | path of `temporal_agents`, if it is not `::temporal_agents` |
#[proc_macro_attribute]
pub fn tools(attribute: TokenStream, item: TokenStream) -> TokenStream {
    tool::set::expand(attribute.into(), &item.into()).into()
}

/// Turns a function into a guardrail: a check of the input of a run, or of its final output.
///
/// `#[guardrail(input)]` checks the input of the first agent, `#[guardrail(output)]` the final
/// output of the last one. A guardrail that trips ends the run, with
/// `RunError::InputGuardrailTripped` or `OutputGuardrailTripped`.
///
/// Above a plain `fn` it is pure: the body runs in the workflow, at once, and again on replay. With
/// `activity`, above an `async fn`, it is an activity: the body runs on a worker, with timeouts and
/// retries, and may do I/O. The activity is registered with the agent: a worker that has the agent
/// has the activity.
///
/// The function becomes a unit struct with its name, so that `agent.input_guardrail(no_homework)`
/// works. The body is the struct's method `call`: a unit test writes `no_homework.call("..")`.
///
/// ```
/// use temporal_agents::{
///     Agent, State, ToolError,
///     agent::{GuardrailInput, GuardrailOutput},
///     guardrail,
/// };
/// # #[derive(Clone)]
/// # struct AbuseFilter;
/// # impl AbuseFilter {
/// #     async fn score(&self, _text: &str) -> std::io::Result<f64> { Ok(0.1) }
/// # }
/// # #[derive(serde::Deserialize)]
/// # struct Plan { euros: u32 }
///
/// /// Homework is not done here.
/// #[guardrail(input)]
/// fn no_homework(input: &str) -> GuardrailOutput {
///     GuardrailOutput::trip_if(input.contains("homework"))
/// }
///
/// /// Calls a service before any model is called.
/// #[guardrail(input, activity, blocking, start_to_close = "5s")]
/// async fn no_abuse(
///     State(filter): State<AbuseFilter>,
///     input: &str,
/// ) -> Result<GuardrailOutput, ToolError> {
///     let score = filter.score(input).await?;
///     Ok(GuardrailOutput::trip_if(score > 0.8).info(score))
/// }
///
/// /// No plan costs more than a week's wages.
/// #[guardrail(output)]
/// fn affordable(plan: &Plan) -> GuardrailOutput {
///     GuardrailOutput::trip_if(plan.euros > 900)
/// }
///
/// # fn planner() -> Agent {
/// Agent::new("planner")
///     .input_guardrail(no_homework)
///     .input_guardrail(no_abuse)
///     .output_guardrail(affordable)
/// # }
/// ```
///
/// # What it looks at
/// An input guardrail takes the input as `&str` or `String`, all its text, or as `GuardrailInput`,
/// its items. An output guardrail takes the output as `&str` or `String` (a value that is not a
/// string is its JSON), or as any type `T` or `&T` that implements `serde::Deserialize`, usually
/// the agent's output type; an output that does not deserialize as `T` fails the run.
///
/// The other parameters are optional, in any order: `&RunContext`, the values of the run;
/// `&GuardrailContext`, which also holds the agent; and in an activity `State<T>`, which the worker
/// supplies, and `&ToolContext`, the call.
///
/// # What it returns
/// `GuardrailOutput`, or `Result<GuardrailOutput, E>`. An error ends the run with
/// `RunError::Function`, which names guardrail and agent; a panic of a pure guardrail ends it with
/// `RunError::Panicked`. In an activity the same rules apply as for a tool: `ToolError::transient`
/// and panics are retried first.
///
/// # When it runs
/// Pure input guardrails run before the first model call, so no model call is made if one trips.
/// The others run beside the first turn; if one trips, the model call and the tools in progress are
/// cancelled. With `blocking` the first turn starts only after the guardrail has returned.
///
/// # Keys
///
/// | key | effect |
/// |---|---|
/// | `input`, `output` | the value that it checks: one of the two |
/// | `blocking` | an input guardrail that the run waits for before its first turn |
/// | `activity` | runs in an activity, `agents.guardrail.<name>` |
/// | `name = "homework"` | the name in reports, instead of the function's |
/// | `start_to_close = "20s"` | longest time of one attempt |
/// | `schedule_to_close = "1h30m"` | longest time of all attempts |
/// | `heartbeat = "30s"` | longest time without a heartbeat |
/// | `attempts = 5` | all attempts (transient errors, panics, timeouts, lost workers); default 3 |
/// | `idempotent = false` | running twice does harm: one attempt |
/// | `task_queue = ".."` | the task queue whose worker runs it |
/// | `summary = ".."` | the line that the Temporal UI shows |
/// | `context("key", ..)` | the keys of the run context that an activity receives |
/// | `crate = path` | path of `temporal_agents`, if it is not `::temporal_agents` |
///
/// Durations are numbers with a unit, `ms`, `s`, `m` or `h`.
#[proc_macro_attribute]
pub fn guardrail(attribute: TokenStream, item: TokenStream) -> TokenStream {
    guardrail::expand(attribute.into(), &item.into()).into()
}

/// Adds to a workflow the handlers of a run that waits for decisions, those of its stream, and the
/// access to its inbox.
///
/// The attribute goes above `#[workflow_methods]`. The workflow has a field `inbox: AgentInbox`,
/// and its run uses `Runner::with_inbox`.
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
///     pub async fn run(
///         ctx: &mut WorkflowContext<Self>,
///         request: String,
///     ) -> WorkflowResult<String> {
///         Ok(Runner::with_inbox(ctx).run(&refunds(), request).await?.final_output)
///     }
/// }
/// ```
///
/// # Handlers
///
/// | kind | name | takes | returns |
/// |---|---|---|---|
/// | update | `agent_decide` | `AgentDecision` | `DecisionReply` |
/// | update | `agent_supply_output` | `SuppliedOutput` | `DecisionReply` |
/// | query | `agent_state` | nothing | `AgentState` |
/// | signal | `__temporal_workflow_stream_publish` | a batch of items | |
/// | update, query | `__temporal_workflow_stream_poll` | topics, offset | items |
/// | query | `__temporal_workflow_stream_offset` | nothing | the offset of the next item |
///
/// The last three are those of Temporal's Workflow Streams: see `temporal_agents::guide::streams`.
/// The others are JSON messages of `temporal_agents::wire`; `temporal_agents::client::AgentHandle`
/// sends them by workflow id. With the Temporal CLI:
///
/// ```sh
/// temporal workflow query --workflow-id refund-7 --type agent_state
/// temporal workflow update execute --workflow-id refund-7 --name agent_decide \
///     --input '{"interruption_id": "call_1", "decision": {"kind": "approve"}}'
/// ```
///
/// # Keys
///
/// | key | effect |
/// |---|---|
/// | `inbox = decisions` | the name of the field, instead of `inbox` |
/// | `crate = path` | path of `temporal_agents`, if it is not `::temporal_agents` |
#[proc_macro_attribute]
pub fn agent_handlers(attribute: TokenStream, item: TokenStream) -> TokenStream {
    agent_handlers::expand(attribute.into(), &item.into()).into()
}
