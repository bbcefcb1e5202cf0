//! What the model sees: name, description, schema, strictness; and what the worker and the workflow learn.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use temporal_agents::{State, Tool, ToolContext, tool, tool::ToolActivityOptions};
use temporal_agents_core::tool::{StateRequirement, ToolBinding};

fn spec(tool: &impl Tool) -> Value {
    let definition = tool.definition();
    assert_eq!(definition.issues(), []);
    serde_json::to_value(definition.spec()).expect("a spec is JSON")
}

/// The spec of a strict tool.
fn strict(name: &str, description: &str, parameters: &Value) -> Value {
    json!({"kind": "function", "name": name, "description": description, "parameters": parameters, "strict": true})
}

fn options(tool: &impl Tool) -> ToolActivityOptions {
    match tool.definition().binding() {
        ToolBinding::Activity { options, .. } => options.clone(),
        other => panic!("{other:?} has no options"),
    }
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

/// Current weather
/// for one city.
///
/// Second paragraph.
///
/// # Arguments
/// * `city` - city name, e.g. "Oslo"
/// * `units` - metric
///   unless asked otherwise
///
/// # Errors
/// None of the model's business.
#[tool(start_to_close = "20s")]
async fn get_weather(city: String, units: Option<Units>) -> String {
    format!("{city} {units:?}")
}

#[test]
fn doc_comments_describe_the_tool_and_its_arguments() {
    let units = json!({
        "description": "metric unless asked otherwise",
        "anyOf": [{"$ref": "#/$defs/Units"}, {"type": "null"}],
    });
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"description": "city name, e.g. \"Oslo\"", "type": "string"}, "units": units},
        "$defs": {"Units": {"type": "string", "enum": ["metric", "imperial"]}},
        "additionalProperties": false,
        "required": ["city", "units"],
    });
    assert_eq!(
        spec(&get_weather),
        strict("get_weather", "Current weather\nfor one city.\n\nSecond paragraph.", &parameters)
    );
}

/// Adds two numbers.
#[tool(inline)]
fn add(
    /// The first.
    b: i64,
    /// The second,
    /// which comes last.
    a: f64,
) -> f64 {
    f64::from(i32::try_from(b).unwrap_or_default()) + a
}

#[test]
fn arguments_keep_the_order_of_the_parameters_and_their_doc_comments() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "b": {"description": "The first.", "type": "integer"},
            "a": {"description": "The second,\nwhich comes last.", "type": "number"},
        },
        "required": ["b", "a"],
        "additionalProperties": false,
    });
    let spec = spec(&add);
    assert_eq!(spec, strict("add", "Adds two numbers.", &parameters));
    let order: Vec<&String> = spec["parameters"]["properties"].as_object().expect("an object").keys().collect();
    assert_eq!(order, ["b", "a"]);
}

/// Says that it is there.
#[tool]
async fn ping() {}

#[test]
fn a_tool_without_arguments_takes_an_empty_object() {
    let parameters = json!({"type": "object", "properties": {}, "additionalProperties": false, "required": []});
    assert_eq!(spec(&ping), strict("ping", "Says that it is there.", &parameters));
}

/// Not for the model.
#[tool(inline, name = "find-it", description = "  Finds it. ")]
fn find(r#type: String, _unused: bool) -> String {
    r#type
}

#[test]
fn keys_replace_name_and_description() {
    let parameters = json!({
        "type": "object",
        "properties": {"type": {"type": "string"}, "_unused": {"type": "boolean"}},
        "required": ["type", "_unused"],
        "additionalProperties": false,
    });
    assert_eq!(spec(&find), strict("find-it", "Finds it.", &parameters));
}

/// Renames files.
///
/// # Args
/// - names: old to new
#[tool(lenient)]
async fn rename(names: BTreeMap<String, String>, limit: Option<u8>) -> usize {
    names.len() + usize::from(limit.unwrap_or_default())
}

#[test]
fn a_lenient_tool_sends_the_schema_as_the_type_gives_it() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "names": {"description": "old to new", "type": "object", "additionalProperties": {"type": "string"}},
            "limit": {"type": ["integer", "null"], "minimum": 0, "maximum": 255},
        },
        "required": ["names"],
    });
    let expected = json!({
        "kind": "function",
        "name": "rename",
        "description": "Renames files.",
        "parameters": parameters,
        "strict": false,
    });
    assert_eq!(spec(&rename), expected);
}

#[derive(Clone)]
struct Api;

/// Reads.
#[tool]
async fn read(_ctx: &ToolContext, State(_api): State<Api>, key: String, other: State<u8>) -> String {
    format!("{key} {}", other.0)
}

#[test]
fn context_and_states_are_not_arguments() {
    let parameters = json!({
        "type": "object",
        "properties": {"key": {"type": "string"}},
        "required": ["key"],
        "additionalProperties": false,
    });
    assert_eq!(spec(&read), strict("read", "Reads.", &parameters));
    assert_eq!(read.definition().requirements(), [StateRequirement::of::<Api>(), StateRequirement::of::<u8>()]);
}

/// Charges the card.
#[tool(
    start_to_close = "1h30m",
    schedule_to_close = "2h",
    heartbeat = "250ms",
    idempotent = false,
    task_queue = "payments",
    summary = "charge",
    context("user", "locale")
)]
async fn charge(amount: u32) -> u32 {
    amount
}

/// Tries often.
#[tool(attempts = 5)]
async fn insist() {}

#[test]
fn keys_set_the_options_of_the_activity() {
    let expected = ToolActivityOptions::builder()
        .start_to_close(Duration::from_mins(90))
        .schedule_to_close(Duration::from_hours(2))
        .heartbeat(Duration::from_millis(250))
        .idempotent(false)
        .task_queue("payments")
        .summary("charge")
        .build();
    assert_eq!(options(&charge), expected);
    assert_eq!(charge.definition().context_keys(), ["user", "locale"]);
    assert_eq!(options(&insist), ToolActivityOptions::builder().attempts(5).build());
    assert_eq!(options(&ping), ToolActivityOptions::default());
}

#[test]
fn an_inline_tool_runs_in_the_workflow() {
    assert!(matches!(add.definition().binding(), ToolBinding::Inline(_)));
}

#[tool(description = "Documents itself.")]
pub(crate) async fn undocumented() {}

#[test]
fn a_tool_is_a_value_like_any_other() {
    let copied = undocumented;
    assert_eq!(format!("{copied:?} {undocumented:?}"), "undocumented undocumented");
    assert_eq!(copied.definition().activity_type(), "agents.tool.undocumented");
}
