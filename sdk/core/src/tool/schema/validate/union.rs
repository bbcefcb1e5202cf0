//! The keywords `anyOf` and `oneOf`: the variants that can be meant, by type and tag, and the
//! summary of a union in an issue.

use serde_json::{Map, Value, json};

use super::{Check, MAX_ISSUES, Verdict, issue, keywords, number::are_equal, pair};
use crate::tool::schema::reference::resolve;

/// Most references and `allOf`s that are followed to find the tag of a variant.
const MAX_LOOKS: usize = 8;

/// The closeness of a variant to a value by type, tag and members, from worst to best. Only
/// [`Near`](Self::Near) may fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    /// The variant has another type, or another tag (`const`).
    OtherKind,
    /// The variant has other members.
    OtherShape,
    Near,
}

impl<'a> Check<'a> {
    /// Compares a variant with a value, without the values of its members except tags.
    pub(super) fn look(&mut self, variant: &'a Value, instance: &Value) -> Look {
        self.look_through(variant, instance, MAX_LOOKS)
    }

    fn look_through(&mut self, variant: &'a Value, instance: &Value, left: usize) -> Look {
        let Some(node) = variant.as_object().filter(|_| left > 0 && self.spend(1)) else { return Look::Near };
        let pair = pair(variant, instance);
        if let Some(known) = self.looks.get(&pair) {
            return *known;
        }
        let mut look = self.own_look(node, instance);
        let referred = node.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(self.root, reference));
        for schema in super::fits::schemas(node, "allOf").iter().chain(referred) {
            if look > Look::OtherKind {
                look = look.min(self.look_through(schema, instance, left - 1));
            }
        }
        self.looks.insert(pair, look);
        look
    }

    fn own_look(&mut self, node: &'a Map<String, Value>, instance: &Value) -> Look {
        let is_other = |rule: Option<&Value>, fits: &dyn Fn(&Value) -> bool| rule.is_some_and(|rule| !fits(rule));
        if !keywords::fits_type(node, instance)
            || is_other(node.get("const"), &|one| are_equal(one, instance))
            || is_other(node.get("enum"), &|values| {
                values.as_array().is_none_or(|values| values.iter().any(|one| are_equal(one, instance)))
            })
        {
            return Look::OtherKind;
        }
        let Value::Object(members) = instance else { return Look::Near };
        let properties = node.get("properties").and_then(Value::as_object);
        self.spend(properties.map_or(0, Map::len) / 8);
        for (name, schema) in properties.into_iter().flatten() {
            if let (Some(value), Some(tag)) = (members.get(name), self.tag(schema))
                && !are_equal(tag, value)
            {
                return Look::OtherKind;
            }
        }
        let required = super::fits::schemas(node, "required").iter().filter_map(Value::as_str);
        let is_closed =
            node.get("additionalProperties") == Some(&Value::Bool(false)) && !node.contains_key("patternProperties");
        let is_known = |name: &String| properties.is_some_and(|properties| properties.contains_key(name));
        if required.into_iter().any(|name| !members.contains_key(name)) || (is_closed && !members.keys().all(is_known))
        {
            return Look::OtherShape;
        }
        Look::Near
    }

    /// Returns the only value that a member's schema accepts, if there is only one.
    fn tag(&self, schema: &'a Value) -> Option<&'a Value> {
        let referred = schema.get("$ref").and_then(Value::as_str);
        let schema = referred.and_then(|reference| resolve(self.root, reference)).unwrap_or(schema);
        match (schema.get("const"), schema.get("enum").and_then(Value::as_array).map(Vec::as_slice)) {
            (Some(tag), _) | (None, Some([tag])) => Some(tag),
            _ => None,
        }
    }

    /// Returns the variant whose failure explains most: the only one whose type and tag fit or,
    /// among several of those, the only one that has the same members. `None` if there are several,
    /// or if a variant fits.
    pub(super) fn closest(&mut self, variants: &'a [Value], instance: &Value) -> Option<&'a Value> {
        let mut near = Vec::new();
        for variant in variants {
            match self.look(variant, instance) {
                Look::OtherKind => {}
                Look::Near if self.fits(variant, instance) != Verdict::No => return None,
                look => near.push((look, variant)),
            }
        }
        if near.len() > 1 {
            near.retain(|(look, _)| *look == Look::Near);
        }
        match near.as_slice() {
            [(_, only)] => Some(only),
            _ => None,
        }
    }

    /// Returns the summaries of a union's variants.
    pub(super) fn summaries(&self, variants: &[Value]) -> Value {
        variants.iter().take(MAX_ISSUES).map(|variant| self.summary(variant)).collect()
    }

    /// Returns a summary of a schema: its `const`, `enum` or `type`, or the name of its definition.
    pub(super) fn summary(&self, schema: &Value) -> Value {
        let named = schema.get("$ref").and_then(Value::as_str);
        let schema = named.and_then(|reference| resolve(self.root, reference)).unwrap_or(schema);
        let word = |keyword: &str| {
            let mut room = issue::MAX_ALLOWED_BYTES;
            Some(issue::cut(schema.get(keyword)?, &mut room))
        };
        word("const")
            .or_else(|| word("enum"))
            .or_else(|| word("type"))
            .or_else(|| Some(json!(named?.rsplit('/').next()?)))
            .unwrap_or_else(|| json!("another schema"))
    }
}
