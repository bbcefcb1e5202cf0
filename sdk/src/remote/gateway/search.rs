//! Ranks toolsets by the words of a query.

use std::cmp::Reverse;

use super::{limits::MAX_WORDS, toolset::Toolset};

/// The places in which a word is found, and their weights.
const OF_TOOLSET: u32 = 8;
const OF_TOOL: u32 = 4;
const OF_TAG: u32 = 2;
const OF_DESCRIPTION: u32 = 1;

/// Returns the toolsets in which all words are found, the best first. The toolsets come in the
/// order of their names, which equal ones keep.
pub(super) fn ranked<'t>(query: &str, toolsets: impl Iterator<Item = &'t Toolset>) -> Vec<&'t Toolset> {
    let words: Vec<String> = query.split_whitespace().take(MAX_WORDS).map(str::to_lowercase).collect();
    let mut found: Vec<(u32, &Toolset)> =
        toolsets.filter_map(|toolset| Some((rank(&words, toolset)?, toolset))).collect();
    found.sort_by_key(|(rank, _)| Reverse(*rank));
    found.into_iter().map(|(_, toolset)| toolset).collect()
}

/// Returns the sum of the weights of the words, or `None` if one is not found.
fn rank(words: &[String], toolset: &Toolset) -> Option<u32> {
    if words.is_empty() {
        return Some(0);
    }
    let places: Vec<(u32, String)> = places(toolset).map(|(weight, text)| (weight, text.to_lowercase())).collect();
    let best = |word: &String| {
        let weights = places.iter().filter(|(_, text)| text.contains(&**word)).map(|(weight, _)| *weight);
        weights.max()
    };
    words.iter().map(best).sum()
}

/// Returns the strings of a toolset that are searched.
fn places(toolset: &Toolset) -> impl Iterator<Item = (u32, &str)> {
    let own = [(OF_TOOLSET, &*toolset.name), (OF_DESCRIPTION, &*toolset.description)];
    let of_tools = toolset.tools.iter().flat_map(|tool| [(OF_TOOL, &*tool.name), (OF_DESCRIPTION, &*tool.description)]);
    let tags = toolset.tags.iter().chain(toolset.tools.iter().flat_map(|tool| &tool.tags));
    own.into_iter().chain(of_tools).chain(tags.map(|tag| (OF_TAG, &**tag)))
}
