//! Writes whole floats as integers where a schema asks for an integer.
//!
//! To JSON Schema `3.0` is an integer, to serde it is not. This is the one place where the copy of
//! a value that code deserializes gets the integer; the conversation keeps what the model wrote.
//! The verdict of the schema is the same on both, because numbers are compared by value.
//!
//! A number becomes an integer if a schema that applies to it accepts integers and no other
//! numbers. Where several variants of a union fit, and one of them accepts all numbers there, the
//! float stays: the type behind the schema decides. `not`, `contains` and `propertyNames` ask for
//! nothing.
//!
//! A float of 2^53 or more also stays: as doubles, different integers are written in the same way,
//! and an API that holds arguments as doubles has already rounded them. Serde then refuses it; no
//! value becomes another one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{
    Check, Pair, Verdict,
    fits::{is_compound, item_schema, schemas},
    number,
    object::Part,
    pair,
    union::Look,
};
use crate::tool::schema::{keywords::has_type, reference::resolve};

/// The floats below this limit that have no fraction are exact integers: 2^53.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The form that a schema asks for, at one number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Integer,
    AnyNumber,
}

/// The forms that schemas ask for, by the addresses of the numbers.
type Forms = BTreeMap<usize, Form>;

/// Returns the value with integers in place of whole floats, where the schema asks for integers.
/// The value is unchanged if that would take more steps than a check may take.
pub fn with_integers(schema: &Value, value: Value) -> Value {
    if !has_whole_float(&value) {
        return value;
    }
    let mut pass = Pass { check: Check::new(schema), open: BTreeSet::new(), known: BTreeMap::new() };
    let forms = pass.forms(schema, &value);
    if pass.check.stopped.is_some() { value } else { rewrite(&value, &forms) }
}

fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(members) => members.values().any(has_whole_float),
        value => whole_number(value).is_some(),
    }
}

fn rewrite(value: &Value, forms: &Forms) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| rewrite(item, forms)).collect(),
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), rewrite(member, forms))).collect(),
        value if forms.get(&address(value)) == Some(&Form::Integer) => {
            whole_number(value).map_or_else(|| value.clone(), Value::from)
        }
        value => value.clone(),
    }
}

/// Returns the integer that a float is exactly.
fn whole_number(value: &Value) -> Option<i64> {
    let Value::Number(number) = value else { return None };
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < MAX_EXACT)?;
    format!("{float:.0}").parse().ok()
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The state of one pass over a schema and a value.
struct Pass<'a> {
    check: Check<'a>,
    /// Pairs whose forms are being collected.
    open: BTreeSet<Pair>,
    /// The forms of pairs that the pass may reach in more than one way.
    known: BTreeMap<Pair, Forms>,
}

impl<'a> Pass<'a> {
    /// Returns the forms that a schema asks for. Of two schemas that both apply, the narrower one
    /// holds.
    fn forms(&mut self, schema: &'a Value, instance: &Value) -> Forms {
        let Value::Object(node) = schema else { return Forms::new() };
        let pair = pair(schema, instance);
        if let Some(known) = self.known.get(&pair) {
            return known.clone();
        }
        // A reference that leads back to the same schema and value asks for nothing more.
        if !self.open.insert(pair) {
            return Forms::new();
        }
        let mut forms = Forms::new();
        if self.check.enter() {
            self.add_own(node, instance, &mut forms);
            self.add_of_same_value(node, instance, &mut forms);
        }
        self.check.leave();
        self.open.remove(&pair);
        if is_compound(node) {
            self.known.insert(pair, forms.clone());
        }
        forms
    }

    /// Adds the forms that a schema asks for at a number, or in the parts of an array or an object.
    fn add_own(&mut self, node: &'a Map<String, Value>, instance: &Value, forms: &mut Forms) {
        match instance {
            Value::Number(_) => {
                if let Some(form) = form_of(node, instance) {
                    add(forms, address(instance), form, Form::min);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(schema) = item_schema(node, index) {
                        self.add(schema, item, forms);
                    }
                }
            }
            Value::Object(_) => {
                for part in self.check.parts(node, instance) {
                    match part {
                        Part::Member { schema, value, .. } => self.add(schema, value, forms),
                        Part::Whole { schema, object } => self.add(schema, object, forms),
                        Part::Missing { .. } | Part::Unknown { .. } | Part::Name { .. } | Part::Undecided => {}
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }

    /// Adds the forms of the schemas that apply to the same value.
    fn add_of_same_value(&mut self, node: &'a Map<String, Value>, instance: &Value, forms: &mut Forms) {
        let root = self.check.root;
        let referred = node.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(root, reference));
        for schema in schemas(node, "allOf").iter().chain(referred) {
            self.add(schema, instance, forms);
        }
        for keyword in ["anyOf", "oneOf"] {
            let of_union = self.of_union(schemas(node, keyword), instance);
            add_all(forms, of_union, Form::min);
        }
        if let Some(condition) = node.get("if") {
            let branch = if self.check.fits(condition, instance) == Verdict::No { "else" } else { "then" };
            if let Some(schema) = node.get(branch) {
                self.add(schema, instance, forms);
            }
        }
    }

    /// Returns the forms that the fitting variants of a union ask for; of these, the wider one
    /// holds.
    fn of_union(&mut self, variants: &'a [Value], instance: &Value) -> Forms {
        let mut of_union = Forms::new();
        for variant in variants {
            if self.check.look(variant, instance) == Look::Near && self.check.fits(variant, instance) != Verdict::No {
                let of_variant = self.forms(variant, instance);
                add_all(&mut of_union, of_variant, Form::max);
            }
        }
        of_union
    }

    fn add(&mut self, schema: &'a Value, instance: &Value, forms: &mut Forms) {
        let more = self.forms(schema, instance);
        add_all(forms, more, Form::min);
    }
}

/// Returns the form that the keywords of one schema ask for.
fn form_of(node: &Map<String, Value>, number: &Value) -> Option<Form> {
    if has_type(node, "number") {
        return Some(Form::AnyNumber);
    }
    if has_type(node, "integer") {
        return Some(Form::Integer);
    }
    let listed = schemas(node, "enum").iter().chain(node.get("const"));
    let written = listed.into_iter().find(|listed| number::are_equal(listed, number))?;
    Some(if written.is_f64() { Form::AnyNumber } else { Form::Integer })
}

fn add_all(forms: &mut Forms, more: Forms, choose: fn(Form, Form) -> Form) {
    for (at, form) in more {
        add(forms, at, form, choose);
    }
}

fn add(forms: &mut Forms, at: usize, form: Form, choose: fn(Form, Form) -> Form) {
    forms.entry(at).and_modify(|known| *known = choose(*known, form)).or_insert(form);
}

#[cfg(test)]
mod tests;
