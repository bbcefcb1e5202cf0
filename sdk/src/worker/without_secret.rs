//! Takes one secret out of a text.

/// What stands in its place.
pub(super) const REDACTED: &str = "[redacted]";
/// Secrets of this length are taken out wherever they stand.
const SHORTEST_INSIDE_A_WORD: usize = 8;

/// The text without one secret. A short one (a local server takes any key, `x` say) counts only where it stands alone:
/// inside of words it would leave nothing readable.
pub(super) fn without(text: &str, secret: &str) -> String {
    let may_stand_inside = secret.len() >= SHORTEST_INSIDE_A_WORD;
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(secret) {
        let (before, from) = rest.split_at(start);
        let after = &from[secret.len()..];
        clean.push_str(before);
        let stands_alone = !clean.ends_with(is_of_key) && !after.starts_with(is_of_key);
        clean.push_str(if may_stand_inside || stands_alone { REDACTED } else { secret });
        rest = after;
    }
    clean.push_str(rest);
    clean
}

/// Also `*`: OpenAI masks the middle of the key it echoes.
pub(super) fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*')
}
