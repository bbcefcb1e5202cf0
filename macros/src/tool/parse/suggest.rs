//! What an author may have meant.

/// Words of other libraries, and what to write here.
const FOREIGN: [(&str, &str); 9] = [
    ("timeout", "write `start_to_close = \"20s\"` (one attempt) or `schedule_to_close` (all attempts)"),
    ("retries", "write `attempts = 3`, which counts the first one, too"),
    ("retry", "write `attempts = 3`, which counts the first one, too"),
    ("max_attempts", "write `attempts = 3`"),
    ("maximum_attempts", "write `attempts = 3`"),
    ("queue", "write `task_queue = \"..\"`"),
    ("desc", "write `description = \"..\"`"),
    ("strict", "schemas are strict unless you write `lenient`"),
    ("needs_approval", "say it where the tool is used: `.tool(issue_refund.needs_approval())`"),
];

/// What to write instead of this unknown key.
pub(super) fn key(unknown: &str, keys: &[&'static str]) -> String {
    let foreign = FOREIGN.iter().find(|(word, _)| *word == unknown).map(|(_, hint)| (*hint).to_owned());
    foreign.or_else(|| did_you_mean(unknown, keys.iter().copied())).unwrap_or_else(|| {
        format!("the keys are {}", keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "))
    })
}

/// "did you mean `x`?", when one of the known words is near.
pub(in crate::tool) fn did_you_mean<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = unknown.chars().count().div_ceil(3);
    let (distance, word) = known
        .into_iter()
        .map(|word| (strsim::damerau_levenshtein(unknown, word), word))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= near).then(|| format!("did you mean `{word}`?"))
}
