//! Counts what the limits of strict mode count, and finds what strict mode cannot express.

use serde_json::Value;
use temporal_agents_core::tool::schema::has_type;

use super::{Node, cycles::has_cycle};

/// The size of a schema, as strict mode counts it, and what it cannot express.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Measures {
    /// Members that may be left out.
    pub(in super::super) optional: usize,
    /// Schemas with `anyOf` or several types.
    pub(in super::super) unions: usize,
    /// Members of all objects.
    pub(in super::super) properties: usize,
    /// Deepest nesting of objects.
    pub(in super::super) depth: usize,
    /// Values of all enums.
    pub(in super::super) enum_values: usize,
    /// Characters of the longest enum with more than 250 values.
    pub(in super::super) long_enum_chars: usize,
    /// Characters of all names and values together.
    pub(in super::super) chars: usize,
    /// `true` if a schema contains itself.
    pub(in super::super) is_recursive: bool,
    /// `true` if an object is open to more members.
    pub(in super::super) is_open: bool,
    /// `true` if a schema accepts values of any type, or an enum has objects or arrays.
    pub(in super::super) is_vague: bool,
}

/// Measures a schema. A definition counts once, however many references lead to it.
pub(in super::super) fn measure(schema: &Value) -> Measures {
    let mut measures = Measures { is_recursive: has_cycle(schema), ..Measures::default() };
    count(&mut measures, schema, 0);
    measures
}

/// Counts a schema and all below it, its definitions included.
fn count(measures: &mut Measures, schema: &Value, depth: usize) {
    let Value::Object(node) = schema else {
        measures.is_vague = true;
        return;
    };
    if node.contains_key("$ref") {
        return;
    }
    let is_object = has_type(node, "object");
    let depth = depth + usize::from(is_object);
    measures.depth = measures.depth.max(depth);
    measures.unions += usize::from(node.contains_key("anyOf") || node.get("type").is_some_and(Value::is_array));
    measures.is_open |= is_object && node.get("additionalProperties") != Some(&Value::Bool(false));
    measures.is_vague |= is_vague(node);
    measures.count_members(node);
    measures.count_values(node);
    for (keyword, value) in node {
        let is_definition = keyword == "$defs" || keyword == "definitions";
        for child in children(keyword, value) {
            count(measures, child, if is_definition { 0 } else { depth });
        }
    }
}

impl Measures {
    fn count_members(&mut self, node: &Node) {
        let Some(properties) = node.get("properties").and_then(Value::as_object) else { return };
        let required = node.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
        self.properties += properties.len();
        self.optional += properties.keys().filter(|name| !is_required(name)).count();
        self.chars += properties.keys().map(String::len).sum::<usize>();
    }

    fn count_values(&mut self, node: &Node) {
        let values = node.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let chars: usize = values.iter().chain(node.get("const")).map(|value| value.to_string().len()).sum();
        self.enum_values += values.len();
        self.chars += chars;
        if values.len() > 250 {
            self.long_enum_chars = self.long_enum_chars.max(chars);
        }
    }
}

/// Returns the schemas below one keyword. Whether an object is open is no schema.
fn children<'n>(keyword: &str, value: &'n Value) -> Vec<&'n Value> {
    match value {
        Value::Bool(_) if keyword != "items" => Vec::new(),
        Value::Object(schemas) if super::SCHEMA_MAP.contains(&keyword) => schemas.values().collect(),
        Value::Array(schemas) if super::SCHEMA_LIST.contains(&keyword) => schemas.iter().collect(),
        schema if super::SCHEMA.contains(&keyword) => vec![schema],
        _ => Vec::new(),
    }
}

/// Returns `true` if the schema accepts any type, or lists values that are not plain.
fn is_vague(node: &Node) -> bool {
    let has_plain_values = |values: &[Value]| values.iter().all(|value| !value.is_object() && !value.is_array());
    let values = node.get("enum").and_then(Value::as_array);
    let accepts_any = !["type", "anyOf"].iter().any(|keyword| node.contains_key(*keyword));
    accepts_any
        || values.is_some_and(|values| !has_plain_values(values))
        || node.get("const").is_some_and(|value| value.is_object() || value.is_array())
        || (has_type(node, "array") && !node.contains_key("items"))
}
