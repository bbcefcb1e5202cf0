//! Counts what the limits of strict mode count, and finds what strict mode cannot express.

use serde_json::Value;

use super::{Node, cycles::has_cycle};
use crate::tool::schema::resolve;

/// Most schemas that are counted: references that multiply each other have no end.
const MAX_COUNTED: usize = 50_000;

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

/// Measures a schema. A schema that several references share counts at each of them.
pub(in super::super) fn measure(schema: &Value) -> Measures {
    let mut measures = Measures { is_recursive: has_cycle(schema), ..Measures::default() };
    let mut counter = Counter { document: schema, left: MAX_COUNTED, open: Vec::new(), measures: &mut measures };
    counter.count(schema, 0);
    if counter.left == 0 {
        measures.properties = usize::MAX;
    }
    // A definition that nothing refers to is checked all the same.
    let mut unused = Measures::default();
    for definitions in ["$defs", "definitions"] {
        for definition in schema.get(definitions).and_then(Value::as_object).into_iter().flat_map(|all| all.values()) {
            let open = Vec::new();
            Counter { document: schema, left: MAX_COUNTED, open, measures: &mut unused }.count(definition, 0);
        }
    }
    Measures { is_open: measures.is_open || unused.is_open, is_vague: measures.is_vague || unused.is_vague, ..measures }
}

struct Counter<'a> {
    document: &'a Value,
    left: usize,
    /// References whose targets are being counted.
    open: Vec<&'a str>,
    measures: &'a mut Measures,
}

impl<'a> Counter<'a> {
    fn count(&mut self, schema: &'a Value, depth: usize) {
        let Value::Object(node) = schema else {
            self.measures.is_vague = true;
            return;
        };
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return;
        }
        if let Some(name) = node.get("$ref").and_then(Value::as_str) {
            self.count_target(name, depth);
            return;
        }
        let is_object = has_type(node, "object");
        let depth = depth + usize::from(is_object);
        self.measures.depth = self.measures.depth.max(depth);
        self.measures.unions +=
            usize::from(node.contains_key("anyOf") || node.get("type").is_some_and(Value::is_array));
        self.measures.is_open |= is_object && node.get("additionalProperties") != Some(&Value::Bool(false));
        self.measures.is_vague |= is_vague(node);
        self.count_members(node);
        self.count_values(node);
        for (keyword, child) in node.iter().flat_map(|(keyword, value)| named_children(keyword, value)) {
            // A definition counts where it is referred to.
            if keyword != "$defs" && keyword != "definitions" {
                self.count(child, depth);
            }
        }
    }

    fn count_target(&mut self, name: &'a str, depth: usize) {
        let Some(target) = resolve(self.document, name) else {
            self.measures.is_vague = true;
            return;
        };
        if self.open.contains(&name) || self.open.len() > super::MAX_DEPTH {
            return;
        }
        self.open.push(name);
        self.count(target, depth);
        self.open.pop();
    }

    fn count_members(&mut self, node: &Node) {
        let Some(properties) = node.get("properties").and_then(Value::as_object) else { return };
        let required = node.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
        self.measures.properties += properties.len();
        self.measures.optional += properties.keys().filter(|name| !is_required(name)).count();
        self.measures.chars += properties.keys().map(String::len).sum::<usize>();
    }

    fn count_values(&mut self, node: &Node) {
        let values = node.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let chars: usize = values.iter().chain(node.get("const")).map(|value| value.to_string().len()).sum();
        self.measures.enum_values += values.len();
        self.measures.chars += chars;
        if values.len() > 250 {
            self.measures.long_enum_chars = self.measures.long_enum_chars.max(chars);
        }
    }
}

/// Returns the schemas below one keyword, with the keyword.
fn named_children<'n>(keyword: &'n str, value: &'n Value) -> Vec<(&'n str, &'n Value)> {
    match value {
        Value::Bool(_) => Vec::new(),
        Value::Object(schemas) if super::SCHEMA_MAP.contains(&keyword) => {
            schemas.values().map(|schema| (keyword, schema)).collect()
        }
        Value::Array(schemas) if super::SCHEMA_LIST.contains(&keyword) => {
            schemas.iter().map(|schema| (keyword, schema)).collect()
        }
        schema if super::SCHEMA.contains(&keyword) => vec![(keyword, schema)],
        _ => Vec::new(),
    }
}

fn has_type(node: &Node, name: &str) -> bool {
    match node.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
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
