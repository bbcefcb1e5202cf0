//! Suggestions for misspelled or foreign names.

/// A name of another library, and the advice for it.
pub(crate) type Foreign = (&'static str, &'static str);

/// Returns the advice for this unknown key.
pub(super) fn key(unknown: &str, keys: &[&'static str], foreign: &[Foreign]) -> String {
    let foreign = foreign.iter().find(|(word, _)| *word == unknown).map(|(_, hint)| (*hint).to_owned());
    foreign.or_else(|| did_you_mean(unknown, keys.iter().copied())).unwrap_or_else(|| {
        format!("the keys are {}", keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "))
    })
}

/// Returns "did you mean `x`?" if one of the known names is similar.
pub(crate) fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = unknown.chars().count().div_ceil(3);
    let (distance, word) = known
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(unknown, word), word))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= near).then(|| format!("did you mean `{word}`?"))
}
