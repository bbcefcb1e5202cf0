use std::{collections::BTreeMap, fmt::Debug};

use rstest::rstest;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::deserialize;

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only read by serde")]
struct Parcel {
    #[serde(alias = "weight")]
    grams: u32,
    route: Option<Route>,
    #[serde(default)]
    stops: Vec<Stop>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only read by serde")]
struct Stop {
    floor: i8,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "by")]
#[expect(dead_code, reason = "only read by serde")]
enum Route {
    Air { hours: u8 },
    Sea,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Sku;

impl TryFrom<String> for Sku {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Err(format!("{text} is not in /var/lib/catalogue"))
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only read by serde")]
enum Either {
    Number(u8),
    Flag(bool),
}

fn issue<T: DeserializeOwned + Debug>(value: &Value) -> String {
    deserialize::<T>(value).expect_err("it is refused").issue.to_string()
}

#[rstest]
#[case::wide(json!({"grams": 1_u64 << 40}), r#"grams: fails value, allowed: "an integer from 0 to 4294967295""#)]
#[case::text(json!({"grams": "3"}), r#"grams: fails type, allowed: "an integer from 0 to 4294967295""#)]
#[case::large_float(
    json!({"grams": 1e300}),
    r#"grams: fails type, allowed: "an integer from 0 to 4294967295, without fraction and exponent""#
)]
#[case::null(json!({"grams": 1, "stops": null}), r#"stops: fails type, allowed: "a sequence""#)]
#[case::nested(json!({"grams": 1, "stops": [{"floor": 1}, {"floor": 200}]}), r#"stops.1.floor: fails value, allowed: "an integer from -128 to 127""#)]
#[case::in_tagged(json!({"grams": 1, "route": {"by": "Air", "hours": 300}}), r#"route.hours: fails value, allowed: "an integer from 0 to 255""#)]
#[case::variant(json!({"grams": 1, "route": {"by": "Land"}}), r#"route.by: fails enum, allowed: ["Air","Sea"]"#)]
#[case::missing(json!({"grams": 1, "stops": [{}]}), r#"stops.0.floor: missing, allowed: "a value""#)]
#[case::unknown(json!({"grams": 1, "stops": [{"flor": 1}]}), r#"stops.0.flor: unknown, allowed: ["floor"]"#)]
#[case::twice(json!({"grams": 1, "weight": 1}), r#"grams: fails duplicate, allowed: "one value""#)]
fn refused_value_is_an_issue_with_its_path(#[case] value: Value, #[case] expected: &str) {
    assert_eq!(issue::<Parcel>(&value), expected);
}

#[test]
fn key_of_a_map_is_an_issue_with_its_path() {
    let value = json!({"99999999999": true});
    let expected = r#"99999999999: fails value, allowed: "an integer from 0 to 4294967295""#;
    assert_eq!(issue::<BTreeMap<u32, bool>>(&value), expected);
}

#[test]
fn text_of_an_author_is_not_repeated() {
    let error = deserialize::<Vec<Sku>>(&json!(["A1"])).expect_err("it is refused");
    assert_eq!(error.issue.to_string(), r#"0: fails value, allowed: "another value""#);
    assert_eq!(error.to_string(), "0: A1 is not in /var/lib/catalogue");
}

#[test]
fn missing_member_is_named_once() {
    let missing = |value: Value| deserialize::<Parcel>(&value).expect_err("it is refused").to_string();
    assert_eq!(missing(json!({})), "missing field `grams`");
    assert_eq!(missing(json!({"grams": 1, "stops": [{}]})), "stops.0: missing field `floor`");
}

#[test]
fn untagged_enum_is_named_by_the_issue() {
    assert_eq!(issue::<(Either,)>(&json!(["x"])), r#"0: fails anyOf, allowed: "Either""#);
}

#[test]
fn tuple_of_other_length_is_an_issue() {
    assert_eq!(issue::<(u8, u8)>(&json!([1])), r#"(root): fails length, allowed: "a tuple of size 2""#);
}

#[test]
fn scalar_that_occurs_twice_leaves_the_path_open() {
    let value = json!({"by": "Air", "hours": 300, "other": 300});
    assert_eq!(issue::<Route>(&value), r#"(root): fails value, allowed: "an integer from 0 to 255""#);
}
