//! The verdict of a schema on a value. It stops at the first keyword that refuses the value, and
//! reports no issues.

use serde_json::{Map, Value};

use super::{Check, keywords, number, object::Part, pair, union::Look};
use crate::tool::schema::reference::resolve;

/// Keywords with schemas inside: their verdict is remembered.
const COMPOUND: [&str; 16] = [
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "dependentSchemas",
    "dependencies",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
];

/// Keywords that name members.
const MEMBERS: [&str; 2] = ["required", "dependentRequired"];

/// Keywords that could refuse a value, but are not checked.
pub(super) const NOT_CHECKED: [&str; 4] = ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"];

/// The verdict on a value, ordered from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    No,
    /// The verdict depends on a keyword that is not checked; the value is accepted.
    Maybe,
    Yes,
}

impl From<bool> for Verdict {
    fn from(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }
}

impl std::ops::Not for Verdict {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Maybe => Self::Maybe,
            Self::Yes => Self::No,
        }
    }
}

pub(super) fn is_compound(node: &Map<String, Value>) -> bool {
    COMPOUND.iter().any(|keyword| node.contains_key(*keyword))
}

/// Returns the schemas in a list under a keyword.
pub(super) fn schemas<'a>(node: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    node.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

impl<'a> Check<'a> {
    /// Applies a schema and, in a loop, the targets of its references.
    pub(super) fn fits(&mut self, schema: &'a Value, instance: &Value) -> Verdict {
        let mut verdict = if self.enter() { Verdict::Yes } else { Verdict::No };
        let (mut next, mut on_the_way) = (Some(schema), Vec::new());
        let (begun, around) = (self.open.len(), std::mem::replace(&mut self.leans_on, usize::MAX));
        let leaned = self.leaning.added();
        while let (Some(schema), true) = (next.take(), verdict > Verdict::No) {
            let Value::Object(node) = schema else {
                verdict = verdict.min((*schema != Value::Bool(false)).into());
                break;
            };
            let pair = pair(schema, instance);
            if let Some(index) = self.open.get(&pair) {
                // A value does not fit a reference that leads back to the same schema and value.
                self.leans_on = self.leans_on.min(*index);
                verdict = Verdict::No;
                break;
            }
            if let Some(index) = self.leaning.get(&pair) {
                self.leans_on = self.leans_on.min(index);
                verdict = Verdict::No;
                break;
            }
            if let Some(known) = self.verdicts.get(&pair) {
                verdict = verdict.min(*known);
                break;
            }
            if !on_the_way.is_empty() || is_compound(node) {
                self.open.insert(pair, self.open.len());
                on_the_way.push(pair);
                if !self.spend(3) {
                    verdict = Verdict::No;
                }
            }
            verdict = verdict.min(self.node(node, instance));
            if let (Some(Value::String(reference)), true) = (node.get("$ref"), verdict > Verdict::No) {
                next = resolve(self.root, reference);
                verdict = if next.is_some() { verdict } else { Verdict::No };
            }
        }
        // A verdict that depends on an enclosing open pair is valid only inside that pair, and only
        // while the pairs that it depends on count as not fitting.
        let is_final = self.leans_on >= begun;
        if self.leans_on != usize::MAX && (is_final || verdict > Verdict::No) {
            self.leaning.clear();
        }
        // The pairs of this call are closed now, and their indices are used again: a verdict that
        // depended on one of them depends on the pair that this verdict depends on.
        if !is_final && verdict == Verdict::No {
            self.leaning.move_since(leaned, begun, self.leans_on);
        }
        for pair in on_the_way {
            self.open.remove(&pair);
            if is_final {
                self.verdicts.insert(pair, verdict);
            } else if verdict == Verdict::No {
                self.leaning.insert(pair, self.leans_on);
            }
        }
        self.leans_on = if is_final { around } else { around.min(self.leans_on) };
        self.leave();
        verdict
    }

    fn node(&mut self, node: &'a Map<String, Value>, instance: &Value) -> Verdict {
        if !keywords::fits_type(node, instance) {
            return Verdict::No;
        }
        let is_open = NOT_CHECKED.iter().any(|keyword| node.contains_key(*keyword));
        let mut verdict = if is_open { Verdict::Maybe } else { Verdict::Yes };
        for keyword in keywords::applicable(instance) {
            if let Some(rule) = node.get(*keyword) {
                verdict = verdict.min(self.keyword(keyword, rule, instance));
            }
        }
        let has_more = |node| is_compound(node) || MEMBERS.iter().any(|keyword| node.contains_key(*keyword));
        if verdict > Verdict::No && has_more(node) {
            verdict = verdict.min(self.inside(node, instance));
        }
        verdict
    }

    /// Applies the subschemas of a schema.
    fn inside(&mut self, node: &'a Map<String, Value>, instance: &Value) -> Verdict {
        let mut verdict = match instance {
            Value::Object(_) => self.members(node, instance),
            Value::Array(items) => self.items(node, items).min(self.contains(node, items)),
            _ => Verdict::Yes,
        };
        for schema in schemas(node, "allOf") {
            if verdict > Verdict::No {
                verdict = verdict.min(self.fits(schema, instance));
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let (Some(Value::Array(variants)), true) = (node.get(keyword), verdict > Verdict::No) {
                verdict = verdict.min(self.union(keyword, variants, instance));
            }
        }
        if let (Some(schema), true) = (node.get("not"), verdict > Verdict::No) {
            verdict = verdict.min(!self.fits(schema, instance));
        }
        if let (Some(condition), true) = (node.get("if"), verdict > Verdict::No) {
            verdict = verdict.min(self.condition(condition, node, instance));
        }
        verdict
    }

    fn members(&mut self, node: &'a Map<String, Value>, object: &Value) -> Verdict {
        let (parts, mut verdict) = (self.parts(node, object), Verdict::Yes);
        // Missing and unknown members are decided first, since they need no schema.
        if parts.iter().any(|part| matches!(part, Part::Missing { .. } | Part::Unknown { .. })) {
            return Verdict::No;
        }
        for part in parts {
            verdict = verdict.min(match part {
                Part::Missing { .. } | Part::Unknown { .. } => Verdict::No,
                Part::Undecided => Verdict::Maybe,
                Part::Member { schema, value, .. } => self.fits(schema, value),
                Part::Whole { schema, object } => self.fits(schema, object),
                Part::Name { schema, name } => self.name(schema, name),
            });
            if verdict == Verdict::No {
                break;
            }
        }
        verdict
    }

    /// Applies a schema to the name of a member. The value is temporary, so verdicts by its address
    /// must not be remembered.
    pub(super) fn name(&mut self, schema: &'a Value, name: &str) -> Verdict {
        let instance = Value::String(name.to_owned());
        let known = std::mem::take(&mut self.verdicts);
        let looks = std::mem::take(&mut self.looks);
        let leaning = std::mem::take(&mut self.leaning);
        let verdict = self.fits(schema, &instance);
        (self.verdicts, self.looks, self.leaning) = (known, looks, leaning);
        verdict
    }

    fn items(&mut self, node: &'a Map<String, Value>, items: &[Value]) -> Verdict {
        let mut verdict = Verdict::Yes;
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = item_schema(node, index) {
                verdict = verdict.min(self.fits(schema, item));
            }
            if verdict == Verdict::No {
                break;
            }
        }
        verdict
    }

    /// Applies `contains` with its limits.
    pub(super) fn contains(&mut self, node: &'a Map<String, Value>, items: &[Value]) -> Verdict {
        let Some(schema) = node.get("contains") else { return Verdict::Yes };
        let limit = |keyword: &str| node.get(keyword).and_then(number::limit);
        let (least, most) = (limit("minContains").unwrap_or(1), limit("maxContains").unwrap_or(u64::MAX));
        let (mut fitting, mut undecided) = (0, 0);
        for item in items {
            match self.fits(schema, item) {
                Verdict::Yes => fitting += 1,
                Verdict::Maybe => undecided += 1,
                Verdict::No => {}
            }
        }
        // An undecided item may fit or not; the verdict is certain if that makes no difference.
        if fitting > most || fitting + undecided < least {
            Verdict::No
        } else if fitting >= least && fitting + undecided <= most {
            Verdict::Yes
        } else {
            Verdict::Maybe
        }
    }

    /// Applies `if`, and `then` or `else`.
    fn condition(&mut self, condition: &'a Value, node: &'a Map<String, Value>, instance: &Value) -> Verdict {
        let holds = self.fits(condition, instance);
        let mut branch = |keyword: &str| match node.get(keyword) {
            Some(schema) => self.fits(schema, instance),
            None => Verdict::Yes,
        };
        match holds {
            Verdict::Yes => branch("then"),
            Verdict::No => branch("else"),
            Verdict::Maybe => {
                // If the condition is undecided, the verdict is certain only where both branches
                // agree.
                let (then, otherwise) = (branch("then"), branch("else"));
                if then == otherwise { then } else { Verdict::Maybe }
            }
        }
    }

    /// Applies a union: `anyOf` ends at the first variant that fits, `oneOf` at the second.
    /// Variants excluded by type or tag are not applied.
    pub(super) fn union(&mut self, keyword: &str, variants: &'a [Value], instance: &Value) -> Verdict {
        let (mut fitting, mut undecided) = (0, 0);
        for variant in variants {
            if self.look(variant, instance) != Look::Near {
                continue;
            }
            match self.fits(variant, instance) {
                Verdict::Yes => fitting += 1,
                Verdict::Maybe => undecided += 1,
                Verdict::No => {}
            }
            let is_decided = if keyword == "anyOf" { fitting == 1 } else { fitting == 2 };
            if is_decided || self.stopped.is_some() {
                break;
            }
        }
        match (fitting, undecided) {
            // Two fitting variants violate `oneOf`; for `anyOf` the loop ends at the first.
            (0, 0) | (2, _) => Verdict::No,
            (1, 0) => Verdict::Yes,
            (1, _) if keyword == "anyOf" => Verdict::Yes,
            _ => Verdict::Maybe,
        }
    }
}

/// Returns the schema of the item at an index. A list under `items` is the tuple of older drafts.
pub(super) fn item_schema(node: &Map<String, Value>, index: usize) -> Option<&Value> {
    match node.get("items") {
        Some(Value::Array(tuple)) => tuple.get(index).or_else(|| node.get("additionalItems")),
        items => schemas(node, "prefixItems").get(index).or(items),
    }
}
