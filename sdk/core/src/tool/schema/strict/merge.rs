//! Joins two schemas that apply to the same value: a parent with the one entry of its `allOf`, or
//! with the target of its reference.

use serde_json::{Map, Value};

use super::super::keywords::is_annotation;

/// Adds the keywords of `other` to `parent`. Fails if no single schema has both.
pub(super) fn merge(mut parent: Map<String, Value>, other: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    check_closed(&parent, other)?;
    check_closed(other, &parent)?;
    for (keyword, theirs) in other {
        let Some(ours) = parent.get_mut(keyword) else {
            parent.insert(keyword.clone(), theirs.clone());
            continue;
        };
        match (keyword.as_str(), ours, theirs) {
            (keyword, _, _) if is_annotation(keyword) => {}
            (_, ours, theirs) if *ours == *theirs => {}
            ("properties", Value::Object(ours), Value::Object(theirs)) => join(ours, theirs)?,
            ("required", Value::Array(ours), Value::Array(theirs)) => {
                let new: Vec<Value> = theirs.iter().filter(|name| !ours.contains(name)).cloned().collect();
                ours.extend(new);
            }
            _ => return Err(conflict(keyword)),
        }
    }
    Ok(parent)
}

fn join(ours: &mut Map<String, Value>, theirs: &Map<String, Value>) -> Result<(), String> {
    for (name, schema) in theirs {
        match ours.get(name) {
            None => {
                ours.insert(name.clone(), schema.clone());
            }
            Some(same) if same == schema => {}
            Some(_) => return Err(conflict(&format!("properties/{name}"))),
        }
    }
    Ok(())
}

/// Checks that `other` adds no members to a schema that its author closed.
fn check_closed(closed: &Map<String, Value>, other: &Map<String, Value>) -> Result<(), String> {
    if closed.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Ok(());
    }
    let known = closed.get("properties").and_then(Value::as_object);
    let added = other
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
        .find(|name| !known.is_some_and(|known| known.contains_key(*name)));
    match added {
        None => Ok(()),
        Some(name) => Err(format!(
            "the member `{name}` is added to an object with `additionalProperties: false`; remove that, or \
             `deny_unknown_fields`, from the schema it is merged with"
        )),
    }
}

fn conflict(keyword: &str) -> String {
    format!(
        "`{keyword}` differs from `{keyword}` of the schema it is merged with by `$ref` or `allOf`; write one schema \
         with both"
    )
}
