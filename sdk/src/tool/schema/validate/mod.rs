//! Checks a JSON value against a schema.
//!
//! Checked are `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`, `prefixItems`,
//! `anyOf`, `oneOf`, `allOf`, local `$ref`s, and the limits of numbers, strings and arrays. Every other keyword is an
//! annotation here: `pattern`, `format`, `multipleOf`, `uniqueItems`, `patternProperties`, `not`, conditions.
//!
//! Nothing is converted: `"1"` is not a number, `1.0` is not an integer, `true` is neither.

mod issue;
mod keywords;
mod union;

use serde_json::{Map, Value};

pub use self::issue::Issue;
use super::{keywords::is_annotation, reference::resolve};

/// Most schemas that are applied in one check, so that references which multiply each other end.
const MAX_STEPS: usize = 1_000_000;

/// Checks a value against a schema and reports everything that violates it, in the order of the schema.
///
/// ```
/// use serde_json::json;
/// # use temporal_agents::tool::schema::validate;
///
/// let schema = json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]});
/// assert!(validate(&schema, &json!({"age": 36})).is_ok());
///
/// let issues = validate(&schema, &json!({"age": "36"})).unwrap_err();
/// assert_eq!(issues[0].to_string(), r#"age: fails type, allowed: "integer""#);
/// ```
///
/// # Errors
/// At least one [`Issue`].
pub fn validate(schema: &Value, instance: &Value) -> Result<(), Vec<Issue>> {
    let mut check = Check { root: schema, steps: 0 };
    let issues = check.schema(schema, instance, "", &[]);
    if issues.is_empty() { Ok(()) } else { Err(issues) }
}

/// One run over a value.
struct Check<'a> {
    /// References are looked up here.
    root: &'a Value,
    steps: usize,
}

impl<'a> Check<'a> {
    /// Applies a schema. `followed` are the references that led from the value to this schema.
    fn schema(&mut self, schema: &'a Value, instance: &Value, field: &str, followed: &[&str]) -> Vec<Issue> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return vec![Issue::new(field, "size", MAX_STEPS)];
        }
        match schema {
            Value::Object(node) => self.node(node, instance, field, followed),
            Value::Bool(false) => vec![Issue::new(field, "false", Value::Null)],
            _ => Vec::new(),
        }
    }

    fn node(&mut self, node: &'a Map<String, Value>, instance: &Value, field: &str, followed: &[&str]) -> Vec<Issue> {
        // Of a value of the wrong type there is nothing else to say.
        if let Some(wrong) = keywords::wrong_type(node, instance, field) {
            return vec![wrong];
        }
        // Most members of most schemas: nothing is left to look up.
        if node.keys().all(|keyword| keyword == "type" || is_annotation(keyword)) {
            return Vec::new();
        }
        let mut issues = keywords::literals(node, instance, field);
        match instance {
            Value::Object(members) => issues.extend(self.object(node, members, field)),
            Value::Array(items) => issues.extend(self.array(node, items, field)),
            Value::String(text) => issues.extend(keywords::string(node, text, field)),
            Value::Number(number) => issues.extend(keywords::number(node, number, field)),
            Value::Null | Value::Bool(_) => {}
        }
        if let Some(Value::String(reference)) = node.get("$ref") {
            issues.extend(self.reference(reference, instance, field, followed));
        }
        for entry in schemas(node, "allOf") {
            issues.extend(self.schema(entry, instance, field, followed));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(variants)) = node.get(keyword) {
                issues.extend(self.union(keyword, variants, instance, field, followed));
            }
        }
        issues
    }

    fn reference(&mut self, reference: &'a str, instance: &Value, field: &str, followed: &[&str]) -> Vec<Issue> {
        let target = resolve(self.root, reference).filter(|_| !followed.contains(&reference));
        match target {
            Some(target) => {
                let followed = [followed, &[reference]].concat();
                self.schema(target, instance, field, &followed)
            }
            None => vec![Issue::new(field, "$ref", reference)],
        }
    }

    fn object(&mut self, node: &'a Map<String, Value>, members: &Map<String, Value>, field: &str) -> Vec<Issue> {
        let mut issues = Vec::new();
        let properties = node.get("properties").and_then(Value::as_object);
        let required = node.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|one| one == name));

        for (name, schema) in properties.into_iter().flatten() {
            let place = member(field, name);
            match members.get(name) {
                Some(value) => issues.extend(self.schema(schema, value, &place, &[])),
                None if is_required(name) => {
                    issues.push(Issue::new(&place, "required", self.summary(schema)));
                }
                None => {}
            }
        }
        let is_declared = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !is_declared(name) && !members.contains_key(name) {
                issues.push(Issue::new(&member(field, name), "required", "any value"));
            }
        }
        if node.contains_key("patternProperties") {
            return issues;
        }
        if let Some(rest) = node.get("additionalProperties") {
            for (name, value) in members.iter().filter(|(name, _)| !is_declared(name)) {
                let place = member(field, name);
                if *rest == Value::Bool(false) {
                    let known: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                    issues.push(Issue::new(&place, "additionalProperties", known));
                } else {
                    issues.extend(self.schema(rest, value, &place, &[]));
                }
            }
        }
        issues
    }

    fn array(&mut self, node: &'a Map<String, Value>, items: &[Value], field: &str) -> Vec<Issue> {
        let mut issues = keywords::array_length(node, items, field);
        let prefix = schemas(node, "prefixItems");
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = prefix.get(index).or_else(|| node.get("items")) {
                issues.extend(self.schema(schema, item, &member(field, &index.to_string()), &[]));
            }
        }
        issues
    }
}

fn schemas<'a>(node: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    node.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn member(field: &str, name: &str) -> String {
    if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") }
}

#[cfg(test)]
mod tests;
