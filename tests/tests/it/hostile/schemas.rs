//! Schemas and values whose check multiplies: references, unions, depth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use temporal_agents::tool::Issue;
use temporal_agents_core::tool::schema::validate;

use super::victim::attack;

/// Most violations that a check may report.
const MOST_ISSUES: usize = 100;
/// Most bytes that they may come to, as a model is told of them.
const MOST_BYTES: usize = 100_000;

#[test]
fn seventeen_doublings_of_five_hundred_numbers_are_checked_in_little_memory() -> anyhow::Result<()> {
    attack("17 doublings", "")
}

#[test]
fn a_chain_of_fifty_thousand_references_is_checked_in_little_memory() -> anyhow::Result<()> {
    attack("50,000 references", "")
}

#[test]
fn a_value_that_fits_sixteen_nested_unions_is_accepted() -> anyhow::Result<()> {
    attack("16 nested unions", "")
}

#[test]
fn a_hundred_and_twenty_seven_levels_of_five_hundred_references_do_not_overflow_the_stack() -> anyhow::Result<()> {
    attack("127 levels of 500 references", "")
}

/// What a check has come to, which must be little.
fn told(checked: Result<(), Vec<Issue>>) -> anyhow::Result<String> {
    let Err(issues) = checked else { return Ok("accepted".to_owned()) };
    let text: Vec<String> = issues.iter().map(ToString::to_string).collect();
    let (issues, bytes) = (issues.len(), text.iter().map(String::len).sum::<usize>());
    anyhow::ensure!(issues <= MOST_ISSUES && bytes <= MOST_BYTES, "{issues} violations in {bytes} bytes");
    Ok(format!("{issues} violations in {bytes} bytes"))
}

/// Definitions `a0` to `a{last}`, and a schema that refers to the first.
fn chain(last: usize, each: impl Fn(Value) -> Value, end: Value) -> Value {
    let next = |place: usize| json!({"$ref": format!("#/$defs/a{}", place + 1)});
    let mut definitions: Map<String, Value> = (0..last).map(|place| (format!("a{place}"), each(next(place)))).collect();
    definitions.insert(format!("a{last}"), end);
    json!({"$ref": "#/$defs/a0", "$defs": definitions})
}

pub(super) fn doublings(_: &str) -> anyhow::Result<String> {
    let numbers: Vec<usize> = (0..500).collect();
    let schema = chain(17, |next| json!({"allOf": [next.clone(), next]}), json!({"enum": numbers}));
    let checked = validate(&schema, &json!({}));
    anyhow::ensure!(checked.is_err(), "an object is none of the numbers");
    told(checked)
}

pub(super) fn references(_: &str) -> anyhow::Result<String> {
    told(validate(&chain(50_000, |next| next, json!({"type": "integer"})), &json!(7)))
}

pub(super) fn levels(_: &str) -> anyhow::Result<String> {
    let end = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}});
    let value = (0..127).fold(json!({}), |inner, _| json!({"x": inner}));
    told(validate(&chain(500, |next| next, end), &value))
}

/// A filter as tools take it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Filter {
    And { of: Vec<Filter> },
    Or { of: Vec<Filter> },
    Not { of: Box<Filter> },
    Is { field: String, value: i64 },
}

pub(super) fn unions(_: &str) -> anyhow::Result<String> {
    let is = Filter::Is { field: "age".to_owned(), value: 7 };
    let filter = (0..16).fold(is, |inner, _| Filter::Or { of: vec![inner] });
    let schema = schemars::schema_for!(Filter).to_value();
    let checked = validate(&schema, &serde_json::to_value(&filter)?);
    anyhow::ensure!(checked.is_ok(), "the value fits, and was refused: {}", told(checked)?);
    told(checked)
}
