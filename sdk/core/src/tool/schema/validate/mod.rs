//! Checks a JSON value against a schema, in time and memory that are at most linear in schema times
//! value.
//!
//! | file | contents |
//! |---|---|
//! | this file | the entry point, the limits, and the state of one check |
//! | `fits.rs` | the verdict of a schema on a value, without issues |
//! | `explain.rs` | the issues of a value that does not fit |
//! | `union.rs` | the variants of a union that can be meant, by type and tag |
//! | `object.rs` | the requirements of a schema on an object's members |
//! | `keywords.rs` | keywords that compare one value |
//! | `number.rs` | numbers by value, however they are written |
//! | `pattern.rs`, `format.rs`, `multiple.rs` | `pattern`, `format`, `multipleOf` |
//! | `earlier.rs` | the verdict of builds that checked fewer keywords |
//! | `unchecked.rs` | the keywords of a schema that are not checked |
//! | `integers.rs` | integers in place of whole floats, for code that deserializes the value |
//! | `issue.rs` | one violation |
//!
//! Checked are `type`, `enum`, `const`, local `$ref`s, `allOf`, `anyOf`, `oneOf`, `not`, `if`,
//! `then`, `else`; of objects `properties`, `patternProperties`, `additionalProperties`,
//! `propertyNames`, `required`, `dependentRequired`, `dependentSchemas`, `dependencies`,
//! `minProperties`, `maxProperties`; of arrays `items`, `prefixItems`, `additionalItems`,
//! `contains`, `minContains`, `maxContains`, `uniqueItems`, `minItems`, `maxItems`; of strings
//! `pattern`, `format`, `minLength`, `maxLength`; of numbers `multipleOf` and the bounds.
//! [`unchecked`] returns the keywords of a schema that are not checked: `unevaluatedProperties`,
//! `unevaluatedItems`, `$dynamicRef`, `$recursiveRef`, the boolean `exclusiveMinimum` and
//! `exclusiveMaximum` of draft 4, formats that `format.rs` does not know, and patterns that
//! `pattern.rs` does not match. These keywords refuse nothing, also below `not`.
//!
//! A number with a fraction of zero is an integer: `1.0` is 1. Nothing is converted: `"1"` is not a
//! number, and `true` is not, either.
//!
//! # Design
//! **Not the crate `jsonschema`.** A schema may come from outside (from an MCP server), and is
//! applied inside workflows, where an abort or a long check stops the worker that replays it, and
//! each worker after it. `jsonschema` 0.61 reports each violation as often as references lead to it
//! (20 doublings: 1,048,576 errors), doubles its time with each nested `anyOf`, overflows the stack
//! on a chain of 50,000 `$ref`s, and matches patterns with backtracking. It adds about sixty
//! crates, among them hash maps with random seeds, to the workflow half. Here references are
//! followed in a loop, a pair of schema and value is decided once, and patterns need one small
//! crate, `regex-lite`: linear time, and no Unicode tables that change with a version.

mod earlier;
mod explain;
mod fits;
mod format;
mod integers;
mod issue;
mod keywords;
mod leaning;
mod multiple;
mod number;
mod object;
mod pattern;
mod unchecked;

mod union;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use self::{
    earlier::validate_earlier_keywords,
    integers::with_integers,
    issue::{cut_text, cut_value},
};
use self::{fits::Verdict, leaning::Leaning, pattern::Pattern, union::Look};
pub use self::{issue::Issue, unchecked::unchecked};

/// Most issues of one check: no reader needs more, and the issues are stored, logged and sent to
/// models.
pub const MAX_ISSUES: usize = 100;

/// Most steps of one check, about a second of work. Applying a schema to a value takes one to four
/// steps; a long `enum`, a pattern or `uniqueItems` on a large value takes more.
const MAX_STEPS: usize = 2_000_000;

/// Most schemas that are applied inside one another. JSON is parsed to a depth of 128, at which a
/// recursive type of four schemas is still checked; at twice the depth the thread could overflow
/// its stack.
const MAX_DEPTH: usize = 512;

/// Checks a value against a schema and reports the violations in the order of the schema: the first
/// 100 issues, each with the allowed values, truncated where they are long.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use serde_json::json;
/// # use temporal_agents::tool::schema::validate;
///
/// let schema =
///     json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]});
/// assert!(validate(&schema, &json!({"age": 36})).is_ok());
///
/// let issues = validate(&schema, &json!({"age": "36"})).unwrap_err();
/// assert_eq!(issues[0].to_string(), r#"age: fails type, allowed: "integer""#);
/// ```
///
/// # Errors
/// At least one [`Issue`]. A check that would need more than 2,000,000 steps, or more than 512
/// schemas inside one another, is refused with the constraint `size` or `depth`.
pub fn validate(schema: &Value, instance: &Value) -> Result<(), Vec<Issue>> {
    Check::new(schema).report(schema, instance)
}

/// A function that checks a value (second parameter) against a schema (first parameter).
pub type Validate = fn(&Value, &Value) -> Result<(), Vec<Issue>>;

/// Returns `true` if a value fits one schema of a document; references are resolved at the
/// document's root.
pub(super) fn fits(root: &Value, schema: &Value, instance: &Value) -> bool {
    Check::new(root).is_fit(schema, instance)
}

/// The address of a schema and of a value. Addresses are only compared, so that no verdict depends
/// on where a value is in memory.
type Pair = (usize, usize);

fn pair(schema: &Value, instance: &Value) -> Pair {
    (std::ptr::from_ref(schema).addr(), std::ptr::from_ref(instance).addr())
}

/// The state of one check of a value.
struct Check<'a> {
    /// The root of the document, in which references are resolved.
    root: &'a Value,
    steps: usize,
    depth: usize,
    /// The exceeded limit for which the check was stopped: the constraint of its issue, and the
    /// limit.
    stopped: Option<(&'static str, usize)>,
    /// Verdicts on pairs that the check may reach in more than one way.
    verdicts: BTreeMap<Pair, Verdict>,
    /// Pairs that are being decided, numbered from the outermost.
    open: BTreeMap<Pair, usize>,
    /// Pairs that do not fit as long as open pairs count as not fitting, with the number of the
    /// outermost of these open pairs.
    leaning: Leaning,
    /// The number of the outermost open pair that counted as not fitting, because a reference led
    /// back to it.
    leans_on: usize,
    /// The closeness of variants of unions to a value, by the pair of both.
    looks: BTreeMap<Pair, Look>,
    /// Pairs whose issues were reported.
    explained: BTreeSet<Pair>,
    /// Compiled patterns, by the address of the pattern's string.
    patterns: BTreeMap<usize, Pattern>,
    issues: Vec<Issue>,
    /// Bytes that are left for the issues.
    room: usize,
}

impl<'a> Check<'a> {
    fn new(root: &'a Value) -> Self {
        Self {
            root,
            steps: 0,
            depth: 0,
            stopped: None,
            verdicts: BTreeMap::new(),
            open: BTreeMap::new(),
            leaning: Leaning::default(),
            leans_on: usize::MAX,
            looks: BTreeMap::new(),
            explained: BTreeSet::new(),
            patterns: BTreeMap::new(),
            issues: Vec::new(),
            room: issue::MAX_TOTAL_BYTES,
        }
    }

    fn is_fit(&mut self, schema: &'a Value, instance: &Value) -> bool {
        self.fits(schema, instance) != Verdict::No && self.stopped.is_none()
    }

    fn report(&mut self, schema: &'a Value, instance: &Value) -> Result<(), Vec<Issue>> {
        if self.is_fit(schema, instance) {
            return Ok(());
        }
        if self.stopped.is_none() {
            self.steps = 0;
            self.explain(schema, instance, &explain::Place::ROOT);
        }
        if let (true, Some((limit, most))) = (self.issues.is_empty(), self.stopped) {
            self.issues.push(Issue::new("", limit, most));
        }
        Err(std::mem::take(&mut self.issues))
    }

    /// Counts steps; returns `false` once the limit was exceeded.
    fn spend(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MAX_STEPS && self.stopped.is_none() {
            self.stopped = Some(("size", MAX_STEPS));
        }
        self.stopped.is_none()
    }

    /// Counts a schema that is applied inside another one; returns `false` once a limit was
    /// exceeded. Each call needs a [`leave`](Self::leave).
    fn enter(&mut self) -> bool {
        self.depth += 1;
        if self.depth > MAX_DEPTH && self.stopped.is_none() {
            self.stopped = Some(("depth", MAX_DEPTH));
        }
        self.spend(1)
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }
}

#[cfg(test)]
mod tests;
