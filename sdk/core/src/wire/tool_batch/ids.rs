//! The id of the activity of a batch, and the ids that its calls would have on their own.

/// Maximum number of calls that an id may name.
const MAX_CALLS: usize = 1_000;

/// Returns the id of the activity that makes the calls with these ids: `k3x9q2ab-4-tools-0_3.5` for
/// the calls 0 to 3, and 5.
pub fn batch_of<'i>(calls: impl IntoIterator<Item = &'i str>) -> Option<String> {
    let mut batch = String::new();
    let mut calls = calls.into_iter().map(|id| numbered(id, "-tool-")).peekable();
    while let Some(call) = calls.next() {
        let (turn, first) = call?;
        let mut last = first;
        while let Some(Some((_, next))) = calls.next_if(|call| call.is_some_and(|(_, next)| next == last + 1)) {
            last = next;
        }
        let before = if batch.is_empty() { format!("{turn}-tools-") } else { ".".to_owned() };
        let numbers = if first == last { first.to_string() } else { format!("{first}_{last}") };
        batch += &before;
        batch += &numbers;
    }
    (!batch.is_empty()).then_some(batch)
}

/// Returns the prefix of the ids of the calls in a batch, and their numbers.
fn calls_of(batch: &str) -> Option<(&str, Vec<u32>)> {
    let (turn, parts) = batch.rsplit_once("-tools-")?;
    let mut numbers = Vec::new();
    for part in parts.split('.') {
        let (first, last) = part.split_once('_').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        numbers.extend((first..=last).take(MAX_CALLS - numbers.len()));
    }
    Some((turn, numbers))
}

/// Returns the number of each call in the batch with this id, and the id that it has on its own;
/// none for another activity.
pub fn calls_in(batch: &str) -> Vec<(u32, String)> {
    let Some((turn, numbers)) = calls_of(batch) else { return Vec::new() };
    numbers.into_iter().map(|number| (number, format!("{turn}-tool-{number}"))).collect()
}

/// Returns the id that a call of the batch with this id has on its own.
pub fn call_in(batch: &str, number: u32) -> Option<String> {
    let (turn, _) = batch.rsplit_once("-tools-")?;
    Some(format!("{turn}-tool-{number}"))
}

/// Returns the number of the call with this id in the batch; `None` if it is not one of its calls.
pub fn index_in(batch: &str, call: &str) -> Option<u32> {
    let (turn, _) = batch.rsplit_once("-tools-")?;
    let (_, number) = numbered(call, "-tool-").filter(|(of, _)| *of == turn)?;
    calls_of(batch)?.1.contains(&number).then_some(number)
}

/// Splits `x-tool-7` into `x` and 7.
pub fn numbered<'i>(id: &'i str, name: &str) -> Option<(&'i str, u32)> {
    let (turn, number) = id.rsplit_once(name)?;
    Some((turn, number.parse().ok()?))
}
