//! The keywords of a schema that are not checked, for a log.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{fits::NOT_CHECKED, format, pattern::Pattern};
use crate::tool::schema::{keywords::has_type, parts::subschemas};

/// Most keywords that are returned, and most bytes of the value of one: a schema may come from
/// outside.
const MAX_NAMED: usize = 10;
const MAX_BYTES: usize = 200;

/// Most subschemas that are examined.
const MAX_SCHEMAS: usize = 10_000;

/// Returns the keywords of a schema that could refuse a value but that
/// [`validate`](super::validate()) does not check, as strings: `unevaluatedProperties`, `format
/// "duration"`, `pattern "(?=a)": look-around is not supported, because it cannot be matched in
/// linear time`. At most 10.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use serde_json::json;
/// # use temporal_agents::tool::schema::unchecked;
///
/// assert_eq!(
///     unchecked(&json!({"type": "string", "format": "duration"})),
///     [r#"format "duration""#]
/// );
/// ```
pub fn unchecked(schema: &Value) -> Vec<String> {
    let mut named = BTreeSet::new();
    for (_, schema) in subschemas(schema).take(MAX_SCHEMAS) {
        if let Value::Object(node) = schema {
            name(node, &mut named);
        }
        if named.len() >= MAX_NAMED {
            break;
        }
    }
    named.into_iter().take(MAX_NAMED).collect()
}

fn name(node: &Map<String, Value>, named: &mut BTreeSet<String>) {
    let keywords = NOT_CHECKED.iter().filter(|keyword| node.contains_key(**keyword));
    named.extend(keywords.map(|keyword| (*keyword).to_owned()));
    let drafts = ["exclusiveMinimum", "exclusiveMaximum"];
    let of_draft_4 = drafts.iter().filter(|keyword| node.get(**keyword) == Some(&Value::Bool(true)));
    named.extend(of_draft_4.map(|keyword| format!("{keyword}: true")));
    // A format applies only to strings.
    let may_be_text = !node.contains_key("type") || has_type(node, "string");
    if let (true, Some(Value::String(format))) = (may_be_text, node.get("format"))
        && !format::is_known(format)
    {
        named.insert(format!("format {:?}", cut(format)));
    }
    let of_members = node.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    for pattern in node.get("pattern").and_then(Value::as_str).into_iter().chain(of_members.map(String::as_str)) {
        if let Pattern::Unchecked(reason) = Pattern::new(pattern) {
            named.insert(format!("pattern {:?}: {reason}", cut(pattern)));
        }
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}
