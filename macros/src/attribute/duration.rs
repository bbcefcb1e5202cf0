//! Durations in attributes: `"250ms"`, `"20s"`, `"1h30m"`.

use std::time::Duration;

/// The units, longest first, with their milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a duration: whole numbers with units, each unit at most once, the longest first.
///
/// # Errors
/// A message for the author.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let refused = || {
        format!("{text:?} is not a duration: write numbers with the units h, m, s, ms, such as \"20s\" or \"1h30m\"")
    };
    let mut units = UNITS.iter();
    let mut millis = Some(0_u64);
    let mut rest = text;
    while !rest.is_empty() {
        let (number, tail) = split_after(rest, |char| char.is_ascii_digit());
        let (unit, tail) = split_after(tail, |char| char.is_ascii_alphabetic());
        let number: u64 = number.parse().map_err(|_| refused())?;
        let (_, factor) = units.find(|(name, _)| *name == unit).ok_or_else(refused)?;
        millis = millis.and_then(|sum| sum.checked_add(number.checked_mul(*factor)?));
        rest = tail;
    }
    match millis {
        None => Err(format!("{text:?} is too long")),
        Some(0) if text.is_empty() => Err(refused()),
        Some(0) => Err(format!("{text:?} is zero: a duration must be positive")),
        Some(millis) => Ok(Duration::from_millis(millis)),
    }
}

fn split_after(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|char| !belongs(char)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests;
