//! Names and schemas of tools that are described outside of the program.

use std::fmt::Write;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The longest tool name that models accept.
const LONGEST_NAME: usize = 64;

/// Returns a name that models accept: other characters are replaced by `_`, and a name that is too
/// long ends in eight digits of its digest.
pub(super) fn shown_name(prefix: &str, name: &str) -> String {
    let whole = format!("{prefix}{name}");
    let taken = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let mut shown: String = whole.chars().map(taken).collect();
    if shown.len() > LONGEST_NAME {
        shown.truncate(LONGEST_NAME - 9);
        shown.push('_');
        for byte in &Sha256::digest(&whole)[..4] {
            let _ = write!(shown, "{byte:02x}");
        }
    }
    shown
}

/// Adds members that providers require and servers may leave out.
pub(super) fn with_required_members(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(members) = &mut schema {
        members.entry("type").or_insert_with(|| json!("object"));
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}
