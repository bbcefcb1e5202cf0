//! The requirements of a schema on an object and its members.

use serde_json::{Map, Value};

use super::{Check, Verdict};

/// One requirement of a schema on an object.
pub(super) enum Part<'a, 'i> {
    /// A required member is missing.
    Missing { name: &'a str, schema: Option<&'a Value> },
    /// The object has a member that is not allowed.
    Unknown { name: &'i str },
    /// A member must fit a schema.
    Member { name: &'i str, schema: &'a Value, value: &'i Value },
    /// The name of a member must fit a schema.
    Name { schema: &'a Value, name: &'i str },
    /// The object as a whole must fit a schema.
    Whole { schema: &'a Value, object: &'i Value },
    /// A pattern that is not checked decides about a member.
    Undecided,
}

impl<'a> Check<'a> {
    /// Returns all requirements of a schema on an object, in the order in which they are reported.
    pub(super) fn parts<'i>(&mut self, node: &'a Map<String, Value>, object: &'i Value) -> Vec<Part<'a, 'i>> {
        let mut parts = Vec::new();
        let Value::Object(members) = object else { return parts };
        let properties = node.get("properties").and_then(Value::as_object);
        let is_declared = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
        let required: Vec<&str> = names(node.get("required")).collect();
        self.spend((required.len() + properties.map_or(0, Map::len)) / 8);

        // Sorted, so that a long list of required names is not searched once for each member.
        let (mut missing, mut sorted) = (Vec::new(), required.clone());
        sorted.sort_unstable();
        for (name, schema) in properties.into_iter().flatten() {
            match members.get_key_value(name) {
                Some((name, value)) => parts.push(Part::Member { name, schema, value }),
                None if sorted.binary_search(&name.as_str()).is_ok() => {
                    parts.push(Part::Missing { name, schema: Some(schema) });
                }
                None => {}
            }
        }
        missing.extend(required.into_iter().filter(|name| !is_declared(name)));
        for (name, rule) in dependencies(node) {
            match rule {
                // A dependency applies only if its member is present.
                _ if !members.contains_key(name) => {}
                Value::Array(_) => missing.extend(names(Some(rule))),
                schema => parts.push(Part::Whole { schema, object }),
            }
        }
        let absent = missing.into_iter().filter(|name| !members.contains_key(*name));
        parts.extend(absent.map(|name| Part::Missing { name, schema: properties.and_then(|known| known.get(name)) }));
        if let Some(schema) = node.get("propertyNames") {
            parts.extend(members.keys().map(|name| Part::Name { schema, name }));
        }
        self.others(node, members, &is_declared, &mut parts);
        parts
    }

    /// Adds the requirements of `patternProperties` and `additionalProperties`.
    fn others<'i>(
        &mut self,
        node: &'a Map<String, Value>,
        members: &'i Map<String, Value>,
        is_declared: &dyn Fn(&str) -> bool,
        parts: &mut Vec<Part<'a, 'i>>,
    ) {
        let by_pattern = node.get("patternProperties").and_then(Value::as_object);
        let rest = node.get("additionalProperties");
        if by_pattern.is_none() && rest.is_none() {
            return;
        }
        for (name, value) in members {
            let mut is_additional = !is_declared(name);
            for (pattern, schema) in by_pattern.into_iter().flatten() {
                if !self.spend(1) {
                    return;
                }
                match self.matches(pattern, name) {
                    Verdict::Yes => {
                        is_additional = false;
                        parts.push(Part::Member { name, schema, value });
                    }
                    // The pattern may match, so the member is not refused as unknown.
                    Verdict::Maybe => {
                        is_additional = false;
                        parts.push(Part::Undecided);
                    }
                    Verdict::No => {}
                }
            }
            match rest {
                Some(Value::Bool(false)) if is_additional => parts.push(Part::Unknown { name }),
                Some(schema) if is_additional => parts.push(Part::Member { name, schema, value }),
                _ => {}
            }
        }
    }
}

/// Returns the rules that apply if a member is present; `dependencies` is the form of older drafts.
fn dependencies(node: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let keywords = ["dependentRequired", "dependentSchemas", "dependencies"];
    keywords.into_iter().filter_map(|keyword| node.get(keyword)?.as_object()).flatten()
}

fn names(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
