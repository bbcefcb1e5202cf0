//! An argument that does not fit, in the words of the protocol.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents_core::{tool::Issue, wire::absent};

/// An argument that does not fit. Members that say nothing about the constraint are absent.
///
/// JSON: `{"field": "place.zip", "constraint": "invalid_length", "max_len": 5}`. Earlier releases
/// of the protocol's own implementation write the names in the form `MaxLen`, which is also read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FieldIssue {
    /// Path of the argument, its steps joined with dots.
    #[serde(default, deserialize_with = "absent::or_default", alias = "Field")]
    pub field: String,
    /// The violated constraint: `missing_field`, `invalid_enum_value`, `invalid_format`,
    /// `invalid_pattern`, `invalid_range`, `invalid_length`, `invalid_field_type` or
    /// `unknown_field`.
    #[serde(default, deserialize_with = "absent::or_default", alias = "Constraint")]
    pub constraint: String,
    /// The allowed values of an enumeration, the known members, or the range of a number (`>= 1`).
    #[serde(
        default,
        deserialize_with = "absent::list_or_null",
        skip_serializing_if = "Vec::is_empty",
        alias = "Allowed"
    )]
    pub allowed: Vec<String>,
    /// The smallest length.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "MinLen")]
    pub min_len: Option<u64>,
    /// The largest length.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "MaxLen")]
    pub max_len: Option<u64>,
    /// The regular expression that the argument has to match.
    #[serde(
        default,
        deserialize_with = "absent::or_default",
        skip_serializing_if = "String::is_empty",
        alias = "Pattern"
    )]
    pub pattern: String,
    /// The format that the argument has to have.
    #[serde(
        default,
        deserialize_with = "absent::or_default",
        skip_serializing_if = "String::is_empty",
        alias = "Format"
    )]
    pub format: String,
    /// The JSON type that the argument has to have.
    #[serde(
        default,
        deserialize_with = "absent::or_default",
        skip_serializing_if = "String::is_empty",
        alias = "ExpectedJSONType"
    )]
    pub expected_json_type: String,
    /// The JSON type that the argument has.
    #[serde(
        default,
        deserialize_with = "absent::or_default",
        skip_serializing_if = "String::is_empty",
        alias = "ActualJSONType"
    )]
    pub actual_json_type: String,
}

/// The violation of a keyword of JSON Schema, in the words of the protocol.
impl From<&Issue> for FieldIssue {
    fn from(issue: &Issue) -> Self {
        let found = |constraint: &str| Self {
            field: issue.field.clone(),
            constraint: constraint.to_owned(),
            ..Self::default()
        };
        let number = issue.allowed.as_u64();
        match issue.constraint.as_str() {
            "required" => found("missing_field"),
            "additionalProperties" | "unevaluatedProperties" => {
                Self { allowed: strings(&issue.allowed), ..found("unknown_field") }
            }
            "enum" | "const" => Self { allowed: strings(&issue.allowed), ..found("invalid_enum_value") },
            "format" => Self { format: string(&issue.allowed), ..found("invalid_format") },
            "pattern" => Self { pattern: string(&issue.allowed), ..found("invalid_pattern") },
            "minLength" | "minItems" | "minProperties" => Self { min_len: number, ..found("invalid_length") },
            "maxLength" | "maxItems" | "maxProperties" => Self { max_len: number, ..found("invalid_length") },
            "minimum" => Self { allowed: limit(">=", &issue.allowed), ..found("invalid_range") },
            "maximum" => Self { allowed: limit("<=", &issue.allowed), ..found("invalid_range") },
            "exclusiveMinimum" => Self { allowed: limit(">", &issue.allowed), ..found("invalid_range") },
            "exclusiveMaximum" => Self { allowed: limit("<", &issue.allowed), ..found("invalid_range") },
            "multipleOf" => Self { allowed: limit("a multiple of", &issue.allowed), ..found("invalid_range") },
            "type" => Self {
                expected_json_type: string(&issue.allowed),
                actual_json_type: issue.actual_type.clone(),
                ..found("invalid_field_type")
            },
            _ => found("invalid_field_type"),
        }
    }
}

/// An issue of a provider, in the words of JSON Schema; a constraint that the protocol does not
/// have keeps its name.
impl From<FieldIssue> for Issue {
    fn from(found: FieldIssue) -> Self {
        let FieldIssue {
            field,
            constraint,
            allowed,
            min_len,
            max_len,
            pattern,
            format,
            expected_json_type,
            actual_json_type,
        } = found;
        let (constraint, allowed) = match (constraint.as_str(), min_len, max_len) {
            ("missing_field", ..) => ("required", Value::Null),
            ("unknown_field", ..) => ("additionalProperties", json!(allowed)),
            ("invalid_enum_value", ..) => ("enum", json!(allowed)),
            ("invalid_format", ..) => ("format", json!(format)),
            ("invalid_pattern", ..) => ("pattern", json!(pattern)),
            ("invalid_length", Some(least), Some(most)) => ("length", json!([least, most])),
            ("invalid_length", Some(least), None) => ("minLength", json!(least)),
            ("invalid_length", None, Some(most)) => ("maxLength", json!(most)),
            ("invalid_field_type", ..) => ("type", json!(expected_json_type)),
            (other, ..) => (other, json!(allowed)),
        };
        Self::of_tool(&field, constraint, &allowed).with_actual_type(&actual_json_type)
    }
}

/// Returns the limit of a number as the protocol lists what is allowed, for example `>= 1`.
fn limit(relation: &str, limit: &Value) -> Vec<String> {
    vec![format!("{relation} {limit}")]
}

fn string(allowed: &Value) -> String {
    allowed.as_str().map_or_else(|| allowed.to_string(), str::to_owned)
}

fn strings(allowed: &Value) -> Vec<String> {
    match allowed {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().map(string).collect(),
        one => vec![string(one)],
    }
}
