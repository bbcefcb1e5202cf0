//! Names of functions that models accept.
//!
//! A name is 1 to 64 ASCII letters, digits, `_` and `-`: the rule of OpenAI and Anthropic, and
//! within the rule of Google. Names that an author chooses are refused when they break it. Names
//! that come from elsewhere (an MCP server, a device, the name of an agent) are replaced by one
//! that keeps it.
//!
//! # Source
//! OpenAI's API reference for `tools[].function.name`; Anthropic's guide to tool use, "name must
//! match the regex".

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Maximum length of a name in characters.
const MAX_NAME_LEN: usize = 64;
/// Length of `_` and eight digits of a digest.
const DIGEST_LEN: usize = 9;

/// Returns `true` if models accept a function of this name.
pub fn is_function_name(name: &str) -> bool {
    (1..=MAX_NAME_LEN).contains(&name.len()) && name.chars().all(is_name_char)
}

/// Returns a name that models accept. `_` replaces other characters; an empty or long name ends in
/// eight digits of its digest.
pub fn to_function_name(name: &str) -> String {
    let shown: String = name.chars().map(|c| if is_name_char(c) { c } else { '_' }).collect();
    if is_function_name(&shown) { shown } else { cut_with_digest(shown, name) }
}

/// Returns a name that models accept, with digits of its digest to tell it from similar names.
pub(crate) fn to_distinct_function_name(name: &str) -> String {
    cut_with_digest(to_function_name(name), name)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Appends eight digits of the digest of `whole` to a name, which is cut to make room for them.
fn cut_with_digest(mut name: String, whole: &str) -> String {
    name.truncate(MAX_NAME_LEN - DIGEST_LEN);
    name.push('_');
    for byte in &Sha256::digest(whole)[..4] {
        let _ = write!(name, "{byte:02x}");
    }
    name
}
