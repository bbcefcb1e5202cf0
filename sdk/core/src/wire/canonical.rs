//! Canonical JSON according to RFC 8785: the same bytes for the same value, whatever its key order
//! or spacing.
//!
//! It is used only for digests; nothing is sent in this form. It differs from the RFC in one point:
//! integers that fit 64 bits keep all their digits instead of being rounded to a double, so that
//! two values never share a digest.
//!
//! # Design
//! **Key order.** `serde_json/preserve_order` and `schemars/preserve_order` are enabled. A model
//! writes its answer in the order of the schema, so order matters. Any crate in a build can enable
//! that feature for all crates, and no crate can disable it. So it is always enabled, and the order
//! is the same in every build. Digests do not depend on it, because they are computed from
//! canonical JSON.
//!
//! **Floats.** `serde_json/float_roundtrip` is enabled. Without it, reading a float may change its
//! last digit, and therefore the digest of the conversation.

use serde_json::{Map, Number, Value};

/// Appends the canonical form of `value` to `out`.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(values) => {
            out.push(b'[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(value, out);
            }
            out.push(b']');
        }
        Value::Object(map) => write_object(map, out),
    }
}

/// Appends the canonical form of an object: members ordered by the UTF-16 code units of their
/// names.
pub fn write_object(map: &Map<String, Value>, out: &mut Vec<u8>) {
    let mut members: Vec<(&String, &Value)> = map.iter().collect();
    if members.iter().all(|(name, _)| name.is_ascii()) {
        // For ASCII names the order of bytes is the same, and comparing them is faster.
        members.sort_unstable_by_key(|(name, _)| *name);
    } else {
        members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    }
    out.push(b'{');
    for (index, (name, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        write(value, out);
    }
    out.push(b'}');
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    // Integers first: the features of serde_json determine whether "-0" or 20 digits are kept as a
    // float.
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(whole), ..) => out.extend_from_slice(whole.to_string().as_bytes()),
        (None, Some(whole), _) => out.extend_from_slice(whole.to_string().as_bytes()),
        (None, None, Some(float)) => out.extend_from_slice(ryu_js::Buffer::new().format(float).as_bytes()),
        (None, None, None) => out.extend_from_slice(number.to_string().as_bytes()),
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    // Most strings need no escapes. The loop has no early exit, so that many bytes are checked at
    // once.
    let is_escaped = |byte: u8| u8::from(byte < b' ') | u8::from(byte == b'"') | u8::from(byte == b'\\');
    let escapes = text.bytes().fold(0, |found, byte| found | is_escaped(byte));
    if escapes == 0 {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    // serde_json escapes exactly what the RFC requires: ", \, and the control characters, in
    // lower-case hex.
    serde_json::to_writer(out, text).expect("writing a string to memory cannot fail");
}
