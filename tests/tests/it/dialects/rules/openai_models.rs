//! Which of OpenAI's models reason, and which sampling parameters they take.
//!
//! A name that no source describes is `Unknown`, and no rule judges it.

use crate::dialects::rules::names::bare_model;

/// What is known of a model by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Does not reason: gpt-3.5 to gpt-4.1.
    Plain,
    /// Does not reason, of the generation of gpt-5: gpt-5-chat-latest.
    PlainChat,
    /// Always reasons: the o-series, gpt-5, the codex and pro models.
    Reasoning,
    /// Reasons unless the effort is `none`: gpt-5.1 and later.
    Adjustable {
        /// The number after the dot.
        minor: u32,
    },
    /// Not described by a source.
    Unknown,
}

impl Family {
    /// Reads the family from the name of a model.
    pub(crate) fn from_model(model: &str) -> Self {
        let name = bare_model(model);
        if ["gpt-3.5", "gpt-4", "chatgpt-4o"].iter().any(|prefix| name.starts_with(prefix)) {
            return Self::Plain;
        }
        if is_o_series(&name) || name.starts_with("codex-mini") {
            return Self::Reasoning;
        }
        if name.starts_with("gpt-5-chat") {
            return Self::PlainChat;
        }
        if name == "gpt-5" || name.starts_with("gpt-5-") {
            return Self::Reasoning;
        }
        let Some(rest) = name.strip_prefix("gpt-5.") else {
            return Self::Unknown;
        };
        if rest.contains("-chat") {
            return Self::Unknown;
        }
        if rest.contains("-codex") || rest.contains("-pro") {
            return Self::Reasoning;
        }
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        match digits.parse() {
            Ok(minor @ 1..=6) => Self::Adjustable { minor },
            _ => Self::Unknown,
        }
    }

    /// Returns whether the model refuses reasoning items and encrypted reasoning.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Self::Plain | Self::PlainChat)
    }

    /// Returns whether the model refuses `max_tokens` in Chat Completions.
    pub(crate) fn refuses_max_tokens(self) -> bool {
        matches!(self, Self::Reasoning | Self::Adjustable { .. })
    }

    /// Returns whether the model refuses sampling parameters other than the defaults.
    ///
    /// Without an effort, the default of gpt-5.1 and later differs by model and is not judged.
    pub(crate) fn refuses_sampling(self, effort: Option<&str>) -> bool {
        match self {
            Self::Reasoning => true,
            Self::Adjustable { .. } => effort.is_some_and(|effort| effort != "none"),
            Self::Plain | Self::PlainChat | Self::Unknown => false,
        }
    }

    /// Returns whether Chat Completions refuses function tools with this effort.
    pub(crate) fn refuses_tools_in_chat(self, effort: Option<&str>) -> bool {
        let Self::Adjustable { minor } = self else {
            return false;
        };
        match effort {
            Some("none") => false,
            Some(_) => minor >= 4,
            None => minor >= 6,
        }
    }
}

fn is_o_series(name: &str) -> bool {
    ["o1", "o3", "o4"]
        .iter()
        .any(|series| name.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
}
