//! The models of the API, by their names: how much they write, and how they are told to think.
//!
//! # Source
//! The pages of the models and of thinking in Anthropic's documentation (platform.claude.com),
//! November 2026. For models of other makers, their own documentation.

use crate::provider::api_rules::claude_version;

/// What is known of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModelTraits {
    /// The maximum number of tokens in an answer, which the API requires in each request.
    pub(super) max_tokens: u64,
    pub(super) thinking: ThinkingForm,
    pub(super) efforts: Efforts,
    /// `true` if the model thinks unless it is told not to.
    pub(super) thinks_by_default: bool,
}

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThinkingForm {
    /// With a number of tokens.
    Budget,
    /// It decides by itself; it also takes a number of tokens.
    AdaptiveOrBudget,
    /// It decides by itself, and refuses a number of tokens.
    Adaptive,
}

/// The efforts that a model takes; each includes those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Efforts {
    None,
    /// `low`, `medium` and `high`.
    UpToHigh,
    /// And `max`.
    AndMax,
    /// And `xhigh`.
    All,
}

const UNKNOWN: ModelTraits =
    ModelTraits { max_tokens: 8_192, thinking: ThinkingForm::Budget, efforts: Efforts::None, thinks_by_default: false };

const fn with_budget(max_tokens: u64) -> ModelTraits {
    ModelTraits { max_tokens, ..UNKNOWN }
}

/// Claude models since 4.7.
const ADAPTIVE: ModelTraits =
    ModelTraits { max_tokens: 128_000, thinking: ThinkingForm::Adaptive, efforts: Efforts::All, ..UNKNOWN };
/// Claude models that think by default, and may be told not to.
const THINKS: ModelTraits = ModelTraits { thinks_by_default: true, ..ADAPTIVE };
/// Claude models of 4.6.
const ADAPTIVE_OR_BUDGET: ModelTraits =
    ModelTraits { thinking: ThinkingForm::AdaptiveOrBudget, efforts: Efforts::AndMax, ..ADAPTIVE };

/// Claude models by family and first version; the first row that fits counts.
const CLAUDE: [(&str, (u32, u32), ModelTraits); 19] = [
    ("opus", (5, 5), ADAPTIVE),
    ("opus", (5, 0), THINKS),
    ("opus", (4, 7), ADAPTIVE),
    ("opus", (4, 6), ADAPTIVE_OR_BUDGET),
    ("opus", (4, 5), ModelTraits { efforts: Efforts::UpToHigh, ..with_budget(64_000) }),
    ("opus", (4, 0), with_budget(32_000)),
    ("opus", (3, 0), with_budget(4_096)),
    ("sonnet", (5, 5), ADAPTIVE),
    ("sonnet", (5, 0), THINKS),
    ("sonnet", (4, 6), ADAPTIVE_OR_BUDGET),
    ("sonnet", (3, 7), with_budget(64_000)),
    ("sonnet", (3, 5), with_budget(8_192)),
    ("sonnet", (3, 0), with_budget(4_096)),
    ("haiku", (5, 0), THINKS),
    ("haiku", (4, 0), with_budget(64_000)),
    ("haiku", (3, 5), with_budget(8_192)),
    ("haiku", (3, 0), with_budget(4_096)),
    ("fable", (0, 0), ADAPTIVE),
    ("mythos", (0, 0), ADAPTIVE),
];

impl ModelTraits {
    /// Returns what is known of the model with this name at the server.
    pub(super) fn from_name(name: &str) -> Self {
        if name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("minimax")) {
            return with_budget(64_000);
        }
        let Some(version) = claude_version(name) else { return UNKNOWN };
        let parts: Vec<&str> = name.split(['-', '.']).collect();
        let row = CLAUDE.iter().find(|(family, since, _)| parts.contains(family) && version >= *since);
        row.map_or(UNKNOWN, |(_, _, traits)| *traits)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("claude-opus-5-5", ADAPTIVE)]
    #[case("claude-opus-5", THINKS)]
    #[case("claude-opus-4-8", ADAPTIVE)]
    #[case("anthropic/claude-opus-4.6", ADAPTIVE_OR_BUDGET)]
    #[case("claude-opus-4-1-20250805", with_budget(32_000))]
    #[case("claude-opus-4-20250514", with_budget(32_000))]
    #[case("claude-sonnet-4-6", ADAPTIVE_OR_BUDGET)]
    #[case("claude-sonnet-4-5", with_budget(64_000))]
    #[case("claude-3-7-sonnet-latest", with_budget(64_000))]
    #[case("claude-3-5-haiku-20241022", with_budget(8_192))]
    #[case("claude-3-opus-20240229", with_budget(4_096))]
    #[case("claude-mythos-preview", ADAPTIVE)]
    #[case("claude-next", UNKNOWN)]
    #[case("claude-opus-latest", UNKNOWN)]
    #[case("MiniMax-M2", with_budget(64_000))]
    #[case("my-model", UNKNOWN)]
    fn names_have_the_traits_of_their_family(#[case] name: &str, #[case] traits: ModelTraits) {
        assert_eq!(ModelTraits::from_name(name), traits);
    }
}
