//! The issues of a value that does not fit.
//!
//! The traversal is that of the verdict, but skips the parts that fit. For a union, it reports the
//! issues of the variant that was meant.

use serde_json::{Map, Value, json};

use super::{
    Check, Issue, MAX_ISSUES, Verdict,
    fits::{item_schema, schemas},
    issue, keywords,
    object::Part,
    pair,
};
use crate::tool::schema::reference::resolve;

/// The path of a value: a step from the path of its parent.
#[derive(Clone, Copy)]
pub(super) struct Place<'p>(Option<(&'p Place<'p>, Step<'p>)>);

#[derive(Clone, Copy)]
enum Step<'p> {
    Member(&'p str),
    Item(usize),
}

impl<'p> Place<'p> {
    pub(super) const ROOT: Place<'static> = Place(None);

    fn member(&'p self, name: &'p str) -> Self {
        Self(Some((self, Step::Member(name))))
    }

    fn item(&'p self, index: usize) -> Self {
        Self(Some((self, Step::Item(index))))
    }

    fn path(&self) -> String {
        let (mut steps, mut next) = (Vec::new(), self);
        while let Some((parent, step)) = next.0 {
            steps.push(match step {
                Step::Member(name) => name.to_owned(),
                Step::Item(index) => index.to_string(),
            });
            next = parent;
        }
        steps.reverse();
        steps.join(".")
    }
}

impl<'a> Check<'a> {
    /// Reports the issues of a value, once for each pair of schema and value.
    pub(super) fn explain(&mut self, schema: &'a Value, instance: &Value, place: &Place<'_>) {
        let mut next = if self.enter() { Some(schema) } else { None };
        while let Some(schema) = next.take().filter(|_| !self.is_full()) {
            let pair = pair(schema, instance);
            // A pair that is known to fit has no issues.
            if self.verdicts.get(&pair).is_some_and(|verdict| *verdict > Verdict::No) {
                break;
            }
            if !self.explained.insert(pair) {
                if let (true, Some(Value::String(reference))) = (self.issues.is_empty(), schema.get("$ref")) {
                    self.issue(place, "$ref", &json!(reference));
                }
                break;
            }
            let Value::Object(node) = schema else {
                if *schema == Value::Bool(false) {
                    self.issue(place, "false", &Value::Null);
                }
                break;
            };
            let before = self.issues.len();
            let is_of_type = self.own_issues(node, instance, place);
            // A value of the wrong type has no other issues.
            let Some(Value::String(reference)) = node.get("$ref").filter(|_| is_of_type) else { break };
            match resolve(self.root, reference) {
                Some(target) if self.should_follow(target, instance) => next = Some(target),
                // The reference has no target, or leads back to this value; other issues were
                // reported.
                Some(_) if self.issues.len() > before => {}
                _ => self.issue(place, "$ref", &json!(reference)),
            }
        }
        self.leave();
    }

    /// Returns `true` if the target of a reference was not explained yet, or if there are issues
    /// already.
    fn should_follow(&self, target: &Value, instance: &Value) -> bool {
        !self.explained.contains(&pair(target, instance)) || !self.issues.is_empty()
    }

    /// Reports the issues of a schema's own keywords; returns `false` if the value has another
    /// type.
    fn own_issues(&mut self, node: &'a Map<String, Value>, instance: &Value, place: &Place<'_>) -> bool {
        if !keywords::fits_type(node, instance) {
            let known = self.issues.len();
            self.issue(place, "type", node.get("type").unwrap_or(&Value::Null));
            if let Some(issue) = self.issues.get_mut(known) {
                issue.set_type_of(instance);
            }
            return false;
        }
        for keyword in keywords::applicable(instance) {
            if let Some(rule) = node.get(*keyword)
                && self.keyword(keyword, rule, instance) == Verdict::No
            {
                self.issue(place, keyword, rule);
            }
        }
        match instance {
            Value::Object(_) => self.object_issues(node, instance, place),
            Value::Array(items) => self.array_issues(node, items, place),
            _ => {}
        }
        for schema in schemas(node, "allOf") {
            self.explain(schema, instance, place);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(variants)) = node.get(keyword) {
                self.union_issues(keyword, variants, instance, place);
            }
        }
        if let Some(schema) = node.get("not")
            && self.fits(schema, instance) == Verdict::Yes
        {
            self.issue(place, "not", &json!("anything else"));
        }
        if let Some(condition) = node.get("if") {
            let branch = if self.fits(condition, instance) == Verdict::No { "else" } else { "then" };
            if let Some(schema) = node.get(branch) {
                self.explain(schema, instance, place);
            }
        }
        true
    }

    fn object_issues(&mut self, node: &'a Map<String, Value>, object: &Value, place: &Place<'_>) {
        for part in self.parts(node, object) {
            match part {
                Part::Missing { name, schema } => {
                    let allowed = schema.map_or_else(|| json!("any value"), |schema| self.summary(schema));
                    self.issue(&place.member(name), "required", &allowed);
                }
                Part::Unknown { name } => {
                    let properties = node.get("properties").and_then(Value::as_object);
                    let names = properties.into_iter().flat_map(Map::keys).take(MAX_ISSUES);
                    let known: Vec<&str> = names.map(String::as_str).collect();
                    self.issue(&place.member(name), "additionalProperties", &json!(known));
                }
                Part::Member { name, schema, value } => self.explain(schema, value, &place.member(name)),
                Part::Whole { schema, object } => self.explain(schema, object, place),
                Part::Name { schema, name } => {
                    if self.name(schema, name) == Verdict::No {
                        let allowed = self.summary(schema);
                        self.issue(&place.member(name), "propertyNames", &allowed);
                    }
                }
                Part::Undecided => {}
            }
            if self.is_full() {
                break;
            }
        }
    }

    fn array_issues(&mut self, node: &'a Map<String, Value>, items: &[Value], place: &Place<'_>) {
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = item_schema(node, index).filter(|_| !self.is_full()) {
                self.explain(schema, item, &place.item(index));
            }
        }
        if let (Verdict::No, Some(schema)) = (self.contains(node, items), node.get("contains")) {
            let allowed = self.summary(schema);
            self.issue(place, "contains", &allowed);
        }
    }

    fn union_issues(&mut self, keyword: &str, variants: &'a [Value], instance: &Value, place: &Place<'_>) {
        if self.union(keyword, variants, instance) != Verdict::No {
            return;
        }
        if let Some(variant) = self.closest(variants, instance) {
            self.explain(variant, instance, place);
        } else {
            let allowed = self.summaries(variants);
            self.issue(place, keyword, &allowed);
        }
    }

    fn issue(&mut self, place: &Place<'_>, constraint: &str, allowed: &Value) {
        if self.is_full() {
            return;
        }
        let most = self.room.min(issue::MAX_ALLOWED_BYTES);
        let mut room = most;
        let allowed = issue::cut(allowed, &mut room);
        self.room -= most - room;
        self.issues.push(Issue::new(&place.path(), constraint, allowed));
    }

    fn is_full(&self) -> bool {
        self.issues.len() >= MAX_ISSUES || self.stopped.is_some()
    }
}
