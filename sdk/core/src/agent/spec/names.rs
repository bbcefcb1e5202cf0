//! Names in messages: suggestions for unknown ones, and lists of the known ones.
//!
//! Both are bounded, since unknown names come from outside: the operator of a store may write
//! thousands.

/// Maximum number of names in a list.
const MAX_LISTED: usize = 20;
/// Maximum length of a name that a suggestion is searched for, in bytes.
const MAX_COMPARED_BYTES: usize = 64;
/// Maximum number of known names that are compared with an unknown one.
const MAX_COMPARED: usize = 1_000;

/// Returns the known name that is most similar to an unknown one, if any is similar.
pub fn suggestion<'k>(unknown: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    if unknown.len() > MAX_COMPARED_BYTES {
        return None;
    }
    let near = unknown.chars().count().div_ceil(3);
    let comparable = known.into_iter().take(MAX_COMPARED).filter(|name| name.len().abs_diff(unknown.len()) <= near * 4);
    let nearest = comparable
        .filter(|name| name.len() <= MAX_COMPARED_BYTES)
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .min_by_key(|(distance, _)| *distance)?;
    (nearest.0 <= near).then(|| nearest.1.to_owned())
}

/// Returns the first names, for a message.
pub fn listed<'k>(names: impl IntoIterator<Item = &'k str>) -> Vec<String> {
    let mut names = names.into_iter();
    let mut listed: Vec<String> = names.by_ref().take(MAX_LISTED).map(str::to_owned).collect();
    let more = names.count();
    if more > 0 {
        listed.push(format!("and {more} more"));
    }
    listed
}

/// Returns the beginning of a name from outside, for a message.
pub(super) fn cut(name: &str) -> String {
    if name.len() <= MAX_COMPARED_BYTES {
        return name.to_owned();
    }
    format!("{}..", &name[..name.floor_char_boundary(MAX_COMPARED_BYTES)])
}
