//! What a guardrail is given and gives back: called by a unit test, and through its check as the loop and the worker do.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};
use temporal_agents::{
    RunContext, State, ToolContext, ToolError,
    agent::{GuardrailContext, GuardrailInput, GuardrailOutput, InputGuardrail, OutputGuardrail},
    guardrail,
    tool::{BoxError, CallInfo, ToolDef},
    wire::Item,
};
use temporal_agents_core::{
    agent::{Check, parse_guardrail_output},
    tool::ToolBinding,
};

fn run_context() -> RunContext {
    let Value::Object(values) = json!({"user": "ada"}) else { unreachable!("an object literal") };
    RunContext::new(values)
}

fn items() -> Vec<Item> {
    let parts = json!({"role": "user", "content": [{"type": "input_text", "text": "please"}]});
    vec![Item::user("do my homework"), Item::try_from(parts).expect("an object")]
}

fn ask_input(guardrail: impl Into<InputGuardrail>) -> Result<GuardrailOutput, BoxError> {
    match guardrail.into().check() {
        Check::Pure(check) => check(&GuardrailContext::new("desk", &run_context()), &GuardrailInput(&items())),
        other => panic!("{other:?} is not pure"),
    }
}

fn ask_output(guardrail: impl Into<OutputGuardrail>, output: &Value) -> Result<GuardrailOutput, BoxError> {
    match guardrail.into().check() {
        Check::Pure(check) => check(&GuardrailContext::new("desk", &run_context()), output),
        other => panic!("{other:?} is not pure"),
    }
}

/// Runs the activity as a worker does: with a state, and with the keys of the run context that it asked for.
async fn run_activity(
    activity: &ToolDef,
    arguments: serde_json::Map<String, Value>,
) -> Result<GuardrailOutput, ToolError> {
    let info = CallInfo::new(activity.name(), "input-guardrail-0", "desk", 1);
    let mut ctx = ToolContext::new(info, run_context()).with_state(Limit(0.5));
    match activity.binding() {
        ToolBinding::Activity { body, .. } => Ok(parse_guardrail_output(&body(&mut ctx, arguments).await?)?),
        other => panic!("{other:?} is no activity"),
    }
}

async fn ask_input_activity(guardrail: impl Into<InputGuardrail>) -> Result<GuardrailOutput, ToolError> {
    let arguments = InputGuardrail::activity_arguments("desk", &items());
    run_activity(guardrail.into().check().activity().expect("an activity"), arguments).await
}

async fn ask_output_activity(
    guardrail: impl Into<OutputGuardrail>,
    output: &Value,
) -> Result<GuardrailOutput, ToolError> {
    let arguments = OutputGuardrail::activity_arguments("desk", output);
    run_activity(guardrail.into().check().activity().expect("an activity"), arguments).await
}

fn told(info: Value) -> GuardrailOutput {
    GuardrailOutput::trip().info(info)
}

#[guardrail(input)]
fn text(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip().info(input)
}

#[guardrail(input)]
fn owned(mut input: String) -> GuardrailOutput {
    input.push('!');
    GuardrailOutput::trip().info(input)
}

#[guardrail(input)]
fn counted(ctx: &GuardrailContext<'_>, input: GuardrailInput<'_>, run: &RunContext) -> GuardrailOutput {
    let user = run.values().get("user");
    GuardrailOutput::trip().info((input.items().len(), ctx.agent, user))
}

#[guardrail(input)]
fn borrowed(input: &GuardrailInput) -> GuardrailOutput {
    GuardrailOutput::trip().info(input.items().len())
}

#[test]
fn an_input_comes_in_the_form_that_the_function_takes() {
    let both = "do my homework\nplease";
    assert_eq!(ask_input(text).unwrap(), told(json!(both)));
    assert_eq!(ask_input(owned).unwrap(), told(json!(format!("{both}!"))));
    assert_eq!(ask_input(counted).unwrap(), told(json!([2, "desk", "ada"])));
    assert_eq!(ask_input(borrowed).unwrap(), told(json!(2)));
    assert_eq!(text.call("hi"), told(json!("hi")), "as a unit test calls it");
}

#[derive(Debug, Deserialize)]
struct Plan {
    euros: u32,
}

#[guardrail(output)]
fn said(output: &str) -> GuardrailOutput {
    GuardrailOutput::trip().info(output)
}

#[guardrail(output)]
fn affordable(Plan { euros }: Plan) -> GuardrailOutput {
    GuardrailOutput::trip_if(euros > 900)
}

#[guardrail(output)]
fn by_reference(plan: &Plan, run: &RunContext) -> GuardrailOutput {
    GuardrailOutput::trip().info((plan.euros, run.values().len()))
}

#[guardrail(output)]
fn untyped(output: &Value) -> GuardrailOutput {
    GuardrailOutput::trip().info(output)
}

#[test]
fn an_output_comes_in_the_form_that_the_function_takes() {
    let plan = json!({"euros": 1000});
    assert_eq!(ask_output(said, &json!("hello")).unwrap(), told(json!("hello")));
    assert_eq!(ask_output(said, &plan).unwrap(), told(json!("{\"euros\":1000}")));
    assert_eq!(ask_output(affordable, &plan).unwrap(), GuardrailOutput::trip());
    assert_eq!(ask_output(by_reference, &plan).unwrap(), told(json!([1000, 1])));
    assert_eq!(ask_output(untyped, &plan).unwrap(), told(plan));
    let mismatch = ask_output(affordable, &json!({"dollars": 3})).unwrap_err().to_string();
    assert!(
        mismatch.starts_with("the final output is not a ") && mismatch.ends_with("missing field `euros`"),
        "{mismatch}"
    );
}

#[derive(Debug)]
struct Unreachable;

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody answers")
    }
}

impl std::error::Error for Unreachable {}

#[guardrail(input)]
fn fails(_input: &str) -> Result<GuardrailOutput, Unreachable> {
    Err(Unreachable)
}

#[guardrail(input)]
fn fails_in_words(_input: &str) -> Result<GuardrailOutput, String> {
    Err("no words".to_owned())
}

#[guardrail(output)]
fn counts(output: &str) -> Result<GuardrailOutput, BoxError> {
    Ok(GuardrailOutput::trip_if(output.parse::<u32>()? > 3))
}

#[test]
fn a_guardrail_may_fail_with_any_error() {
    assert_eq!(ask_input(fails).unwrap_err().to_string(), "nobody answers");
    assert_eq!(ask_input(fails_in_words).unwrap_err().to_string(), "no words");
    assert_eq!(ask_output(counts, &json!("4")).unwrap(), GuardrailOutput::trip());
    assert_eq!(ask_output(counts, &json!("four")).unwrap_err().to_string(), "invalid digit found in string");
}

#[derive(Clone, Copy)]
struct Limit(f64);

#[guardrail(input, activity, context("user"))]
async fn scored(
    State(limit): State<Limit>,
    input: &str,
    run: &RunContext,
    call: &ToolContext,
    ctx: &GuardrailContext<'_>,
) -> Result<GuardrailOutput, ToolError> {
    let known = run.get::<String>("user")?;
    Ok(GuardrailOutput::trip_if(limit.0 < 0.6).info((input, known, &call.info().tool, ctx.agent)))
}

#[guardrail(input, activity)]
async fn listed(input: GuardrailInput<'_>) -> GuardrailOutput {
    GuardrailOutput::trip().info(input.items().len())
}

#[guardrail(output, activity)]
async fn priced(plan: &Plan) -> Result<GuardrailOutput, Unreachable> {
    if plan.euros > 10 { Err(Unreachable) } else { Ok(GuardrailOutput::pass()) }
}

#[guardrail(output, activity)]
async fn read(output: String) -> GuardrailOutput {
    GuardrailOutput::trip().info(output)
}

#[tokio::test]
async fn an_activity_is_given_what_its_request_holds_and_what_the_worker_has() {
    let found = ask_input_activity(scored).await.unwrap();
    assert_eq!(found, told(json!(["do my homework\nplease", "ada", "scored", "desk"])));
    assert_eq!(ask_input_activity(listed).await.unwrap(), told(json!(2)));
    assert_eq!(ask_output_activity(priced, &json!({"euros": 3})).await.unwrap(), GuardrailOutput::pass());
    let failure = ask_output_activity(priced, &json!({"euros": 30})).await.unwrap_err();
    assert_eq!(failure.message(), "nobody answers");
    let mismatch = ask_output_activity(priced, &json!("thirty")).await.unwrap_err();
    assert!(mismatch.message().starts_with("the final output is not a "), "{mismatch}");
    assert_eq!(ask_output_activity(read, &json!({"a": 1})).await.unwrap(), told(json!("{\"a\":1}")));
}
