//! What is known of a model by its name.
//!
//! Names are matched from the start, so `gpt-5-mini-2025-08-07` is of the family `gpt-5`. An unknown
//! name, a fine-tuned model or a deployment among them, is treated as a model that accepts
//! everything: its requests are left as they are.
//!
//! # Source
//! Each rule has a refusal with its source in `tests/apis`.

/// Whether a model accepts `temperature`, `top_p`, penalties and log probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sampling {
    /// Accepted, or unknown.
    #[default]
    Accepted,
    /// Accepted while the reasoning effort is `none`, which is the effort of the model by default.
    WithoutReasoning,
    /// Accepted if the request sets the reasoning effort to `none`.
    IfReasoningIsOff,
    /// Refused.
    Refused,
}

/// Whether Chat Completions accepts a reasoning effort together with tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EffortWithTools {
    #[default]
    Accepted,
    Refused,
    /// Only `none`, which must be sent.
    OnlyNone,
}

/// What is known of a model by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table: each column is a yes or a no")]
pub(super) struct ModelFamily {
    /// Whether the model reasons: `reasoning` items, efforts and encrypted content are for such
    /// models. `None`: unknown.
    pub(super) reasons: Option<bool>,
    /// `true` if Chat Completions names the limit of tokens `max_completion_tokens`.
    pub(super) needs_max_completion_tokens: bool,
    pub(super) sampling: Sampling,
    pub(super) effort_with_tools: EffortWithTools,
    /// `true` if the penalties are refused.
    pub(super) refuses_penalties: bool,
    /// `true` if a reasoning effort is refused.
    pub(super) refuses_effort: bool,
    /// The form of call ids, if narrower than the API's.
    pub(super) call_id_form: CallIdForm,
    /// `true` if a user message may not follow the result of a tool.
    pub(super) refuses_user_after_result: bool,
    /// The version of a Claude model.
    pub(super) claude: Option<ClaudeVersion>,
    /// The major version of a Gemini model.
    pub(super) gemini: Option<u32>,
}

/// The form of the ids of calls that a model accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CallIdForm {
    /// Whatever the API accepts.
    #[default]
    Any,
    /// At most 40 characters.
    Short,
    /// Nine letters and digits.
    NineAlphanumeric,
}

/// Major and minor version, `4.5` as `(4, 5)`.
pub(crate) type ClaudeVersion = (u32, u32);

const UNKNOWN: ModelFamily = ModelFamily {
    reasons: None,
    needs_max_completion_tokens: false,
    sampling: Sampling::Accepted,
    effort_with_tools: EffortWithTools::Accepted,
    refuses_penalties: false,
    refuses_effort: false,
    call_id_form: CallIdForm::Any,
    refuses_user_after_result: false,
    claude: None,
    gemini: None,
};
/// OpenAI's models that do not reason.
const PLAIN: ModelFamily =
    ModelFamily { reasons: Some(false), refuses_effort: true, call_id_form: CallIdForm::Short, ..UNKNOWN };
/// OpenAI's models that always reason.
const REASONING: ModelFamily = ModelFamily {
    reasons: Some(true),
    needs_max_completion_tokens: true,
    sampling: Sampling::Refused,
    call_id_form: CallIdForm::Short,
    ..UNKNOWN
};
/// OpenAI's models whose reasoning is off by default.
const OPTIONAL_REASONING: ModelFamily = ModelFamily { sampling: Sampling::WithoutReasoning, ..REASONING };
const MISTRAL: ModelFamily =
    ModelFamily { call_id_form: CallIdForm::NineAlphanumeric, refuses_user_after_result: true, ..UNKNOWN };

/// Families by the start of a name; the first row that fits counts.
const FAMILIES: [(&str, ModelFamily); 37] = [
    ("gpt-3.5", PLAIN),
    ("gpt-4", PLAIN),
    ("chatgpt-4o", PLAIN),
    ("o1", REASONING),
    ("o3", REASONING),
    ("o4-mini", REASONING),
    ("codex-mini", REASONING),
    ("gpt-5-chat", ModelFamily { needs_max_completion_tokens: true, ..PLAIN }),
    ("gpt-5.1-codex", REASONING),
    ("gpt-5.2-codex", REASONING),
    ("gpt-5.3-codex", REASONING),
    // Their limits are not documented.
    ("gpt-5.1-chat", UNKNOWN),
    ("gpt-5.2-chat", UNKNOWN),
    ("gpt-5.3-chat", UNKNOWN),
    ("gpt-5.1", OPTIONAL_REASONING),
    ("gpt-5.2", OPTIONAL_REASONING),
    ("gpt-5.3", OPTIONAL_REASONING),
    ("gpt-5.4", ModelFamily { effort_with_tools: EffortWithTools::Refused, ..OPTIONAL_REASONING }),
    (
        "gpt-5.5",
        ModelFamily {
            sampling: Sampling::IfReasoningIsOff,
            effort_with_tools: EffortWithTools::Refused,
            ..OPTIONAL_REASONING
        },
    ),
    (
        "gpt-5.6",
        ModelFamily {
            sampling: Sampling::IfReasoningIsOff,
            effort_with_tools: EffortWithTools::OnlyNone,
            ..OPTIONAL_REASONING
        },
    ),
    ("gpt-5", REASONING),
    ("grok-4-1", ModelFamily { refuses_penalties: true, refuses_effort: true, ..UNKNOWN }),
    ("grok-4-0709", ModelFamily { refuses_penalties: true, refuses_effort: true, ..UNKNOWN }),
    ("grok-4-fast", ModelFamily { refuses_penalties: true, refuses_effort: true, ..UNKNOWN }),
    ("grok-4", ModelFamily { refuses_penalties: true, ..UNKNOWN }),
    ("grok-3-mini", ModelFamily { refuses_penalties: true, ..UNKNOWN }),
    ("grok-3", ModelFamily { refuses_effort: true, ..UNKNOWN }),
    ("grok-code", ModelFamily { refuses_effort: true, ..UNKNOWN }),
    ("mistral", MISTRAL),
    ("ministral", MISTRAL),
    ("open-mistral", MISTRAL),
    ("open-mixtral", MISTRAL),
    ("mixtral", MISTRAL),
    ("codestral", MISTRAL),
    ("devstral", MISTRAL),
    ("magistral", MISTRAL),
    ("pixtral", MISTRAL),
];

/// Returns what is known of the model with this name, which may have the namespace of an adapter.
pub(super) fn family(name: &str) -> ModelFamily {
    let name = name.rsplit("::").next().unwrap_or(name);
    if let Some(version) = claude_version(name) {
        return ModelFamily { claude: Some(version), ..UNKNOWN };
    }
    if let Some(version) = gemini_version(name) {
        return ModelFamily { gemini: Some(version), ..UNKNOWN };
    }
    let is_of = |prefix: &str| {
        let rest = name.strip_prefix(prefix);
        // `o1` is `o1-mini` and not `o1000`.
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    FAMILIES.iter().find(|(prefix, _)| is_of(prefix)).map_or(UNKNOWN, |(_, family)| *family)
}

/// Returns the version in the name of a Claude model: `claude-opus-4-1-20250805` is 4.1, and so is
/// `anthropic/claude-4.1-opus`.
pub(crate) fn claude_version(name: &str) -> Option<ClaudeVersion> {
    let (_, name) = name.split_once("claude-")?;
    // It has the limits of Opus 5.5.
    if name.starts_with("fable-5-1") {
        return Some((5, 5));
    }
    if name.starts_with("mythos") || name.starts_with("fable") {
        return Some((5, 0));
    }
    // A part of more than two digits is a date.
    let parts = name.split(['-', '.']).filter(|part| part.len() <= 2);
    let mut numbers = parts.filter_map(|part| part.parse::<u32>().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

/// Returns the major version in the name of a Gemini model: 3 of `gemini-3.1-pro`.
fn gemini_version(name: &str) -> Option<u32> {
    let version = name.strip_prefix("gemini-")?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("gpt-4.1-mini", Some(false), false)]
    #[case("gpt-5-mini-2025-08-07", Some(true), true)]
    #[case("openai::o3-pro", Some(true), true)]
    #[case("gpt-5-chat-latest", Some(false), true)]
    #[case("o1000", None, false)]
    #[case("my-gpt-5", None, false)]
    #[case("ft:gpt-5:acme", None, false)]
    fn names_have_the_limits_of_their_family(
        #[case] name: &str,
        #[case] reasons: Option<bool>,
        #[case] needs_max_completion_tokens: bool,
    ) {
        let family = family(name);
        assert_eq!((family.reasons, family.needs_max_completion_tokens), (reasons, needs_max_completion_tokens));
    }

    #[rstest]
    #[case("claude-opus-4-1-20250805", Some((4, 1)))]
    #[case("claude-sonnet-4-20250514", Some((4, 0)))]
    #[case("anthropic::claude-3-5-sonnet-latest", Some((3, 5)))]
    #[case("claude-haiku-4-5", Some((4, 5)))]
    #[case("claude-opus-5", Some((5, 0)))]
    #[case("claude-fable-5-1", Some((5, 5)))]
    #[case("anthropic/claude-opus-4.6", Some((4, 6)))]
    #[case("claude-mythos-preview", Some((5, 0)))]
    #[case("claude", None)]
    #[case("claude-next", None)]
    fn claude_names_have_a_version(#[case] name: &str, #[case] version: Option<ClaudeVersion>) {
        assert_eq!(family(name).claude, version);
    }
}
