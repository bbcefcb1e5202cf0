//! The character sets of names and ids.

/// Returns whether the text is `^[a-zA-Z0-9_-]+$`.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_word_char)
}

fn is_word_char(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// Returns whether the text is a function name of Gemini.
pub(crate) fn is_gemini_name(text: &str) -> bool {
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts_well && text.chars().all(|c| is_word_char(c) || matches!(c, '.' | ':'))
}

/// Returns whether the text is a call id of Mistral.
pub(crate) fn is_mistral_id(text: &str) -> bool {
    text.len() == 9 && text.chars().all(|character| character.is_ascii_alphanumeric())
}

/// Returns the last segment of a model name such as `anthropic/claude-opus-5`, in lower case.
pub(crate) fn bare_model(model: &str) -> String {
    model.rsplit('/').next().unwrap_or_default().to_lowercase()
}
