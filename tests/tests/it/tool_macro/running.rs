//! What happens when a tool is called: by a unit test, and through its binding as the driver and the worker do.

use std::fmt;

use serde_json::{Map, Value, json};
use temporal_agents::{RunContext, State, Tool, ToolContext, ToolError, tool, tool::CallInfo, wire::ToolOutput};
use temporal_agents_core::tool::ToolBinding;

fn context() -> ToolContext {
    context_without_states().with_state(Api { suffix: "!" })
}

fn context_without_states() -> ToolContext {
    ToolContext::new(CallInfo::new("a tool", "call_1", "triage", 3), RunContext::default())
}

async fn run_in(ctx: &mut ToolContext, tool: impl Tool, arguments: Value) -> Result<String, ToolError> {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).expect("an object");
    let output = match tool.definition().binding() {
        ToolBinding::Inline(body) => body(ctx, arguments),
        ToolBinding::Activity { body, .. } => body(ctx, arguments).await,
        other => panic!("{other:?} cannot be run here"),
    };
    output.map(|output| match output {
        ToolOutput::Text(text) => text,
        other @ ToolOutput::Content(_) => panic!("{other:?} is no text"),
    })
}

async fn run(tool: impl Tool, arguments: Value) -> Result<String, ToolError> {
    run_in(&mut context(), tool, arguments).await
}

async fn text(tool: impl Tool, arguments: Value) -> String {
    run(tool, arguments).await.expect("the tool succeeds")
}

async fn failure(tool: impl Tool, arguments: Value) -> String {
    run(tool, arguments).await.expect_err("the tool fails").to_string()
}

#[derive(Clone)]
struct Api {
    suffix: &'static str,
}

#[derive(Debug)]
struct NotFound(u32);

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no order {}", self.0)
    }
}

impl std::error::Error for NotFound {}

/// Adds two numbers.
#[tool(inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Shouts.
#[tool]
async fn shout(State(api): State<Api>, mut text: String) -> String {
    text.push_str(api.suffix);
    text
}

#[tokio::test]
async fn call_runs_the_body_alone() {
    assert_eq!(add.call(1, 2), 3);
    assert_eq!(shout.call(State(Api { suffix: "?" }), "hey".to_owned()).await, "hey?");
}

#[tokio::test]
async fn a_value_is_compact_json_and_a_string_is_itself() {
    /// A struct.
    #[tool(inline)]
    fn point(x: i64) -> Point {
        Point { x, label: None }
    }

    #[derive(serde::Serialize)]
    struct Point {
        x: i64,
        label: Option<String>,
    }

    /// A borrowed string.
    #[tool(inline)]
    fn agent(ctx: &ToolContext) -> &str {
        &ctx.info().agent
    }

    /// Nothing.
    #[tool]
    async fn nothing() {}

    assert_eq!(text(add, json!({"a": 1, "b": 2})).await, "3");
    assert_eq!(text(point, json!({"x": 1})).await, r#"{"x":1,"label":null}"#);
    assert_eq!(text(agent, json!({})).await, "triage");
    assert_eq!(text(nothing, json!({})).await, "null");
}

#[tokio::test]
async fn a_state_comes_from_the_worker() {
    assert_eq!(text(shout, json!({"text": "say \"hey\""})).await, "say \"hey\"!");

    let missing = run_in(&mut context_without_states(), shout, json!({"text": "hey"})).await;
    let message = missing.expect_err("there is no state").message().to_owned();
    assert!(message.contains("Api>, which this worker does not have"), "{message}");
}

#[tokio::test]
async fn an_option_may_be_null_or_missing() {
    /// Greets.
    #[tool(inline)]
    fn greet(name: Option<String>) -> String {
        name.unwrap_or_else(|| "stranger".to_owned())
    }

    assert_eq!(text(greet, json!({"name": "Ada"})).await, "Ada");
    assert_eq!(text(greet, json!({"name": null})).await, "stranger");
    assert_eq!(text(greet, json!({})).await, "stranger");
}

#[tokio::test]
async fn wrong_arguments_do_not_reach_the_body() {
    let refused = |what: &str| format!("Invalid JSON input for tool a tool: {what}");
    assert_eq!(failure(add, json!({"a": 1})).await, refused("b: missing, allowed: \"a value\""));
    assert_eq!(failure(shout, json!({"text": 1})).await, refused("text: fails type, allowed: \"a string\""));
}

#[tokio::test]
async fn the_context_knows_the_call_and_keeps_what_a_tool_sets() {
    /// Remembers.
    #[tool(inline)]
    fn remember(key: String, ctx: &mut ToolContext, value: i64) -> Result<u32, ToolError> {
        ctx.run_mut().set(key, value)?;
        Ok(ctx.info().turn)
    }

    /// Remembers on a worker, too.
    #[tool(context("count"))]
    async fn count(ctx: &mut ToolContext, State(_api): State<Api>, by: i64) -> Result<i64, ToolError> {
        let count = ctx.run().get("count")?.unwrap_or(0) + by;
        ctx.run_mut().set("count", count)?;
        Ok(count)
    }

    let mut ctx = context();
    let turn = run_in(&mut ctx, remember, json!({"key": "count", "value": 7})).await;
    assert_eq!(turn.expect("the tool succeeds"), "3");
    let counted = run_in(&mut ctx, count, json!({"by": 2})).await;
    assert_eq!(counted.expect("the tool succeeds"), "9");
    assert_eq!(ctx.run().patch(), Some(json!({"count": 9})));
}

#[tokio::test]
async fn any_error_becomes_the_failure_of_the_tool() {
    type Found<T> = Result<T, NotFound>;

    fn look_up(id: u32) -> Found<&'static str> {
        if id == 1 { Ok("shipped") } else { Err(NotFound(id)) }
    }

    /// An error of its own, behind an alias.
    #[tool(inline)]
    fn order(id: u32) -> Found<&'static str> {
        look_up(id)
    }

    /// `?` makes it a tool error.
    #[tool]
    async fn status(id: u32) -> Result<String, ToolError> {
        let status = look_up(id).map_err(|error| ToolError::tell_model(format!("{error}; try 1")))?;
        Ok(status.to_uppercase())
    }

    assert_eq!(text(order, json!({"id": 1})).await, "shipped");
    assert_eq!(failure(order, json!({"id": 2})).await, "no order 2");
    assert_eq!(text(status, json!({"id": 1})).await, "SHIPPED");
    assert_eq!(failure(status, json!({"id": 2})).await, "no order 2; try 1");
}

#[tokio::test]
async fn in_the_body_the_name_of_the_tool_is_the_function() {
    /// Takes an argument of its own name, and has a variable of that name, too.
    #[tool]
    async fn search(search: String) -> usize {
        let search = search.len();
        search + 1
    }

    /// Calls itself.
    #[tool(inline)]
    fn factorial(of: u64) -> u64 {
        if of == 0 { 1 } else { of * factorial(of - 1) }
    }

    assert_eq!(text(search, json!({"search": "four"})).await, "5");
    assert_eq!(search.call("five!".to_owned()).await, 6);
    assert_eq!(text(factorial, json!({"of": 5})).await, "120");
}
