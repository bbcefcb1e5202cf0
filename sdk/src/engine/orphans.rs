//! Calls without outputs are not sent to a model: providers refuse them.

use std::collections::BTreeSet;

use crate::wire::Item;

/// The calls that this side answers, with the type of their outputs.
pub(super) fn output_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "function_call" => "function_call_output",
        "computer_call" => "computer_call_output",
        "custom_tool_call" => "custom_tool_call_output",
        "local_shell_call" => "local_shell_call_output",
        "shell_call" => "shell_call_output",
        "apply_patch_call" => "apply_patch_call_output",
        "tool_search_call" => "tool_search_output",
        "program" => "program_output",
        _ => return None,
    })
}

/// The items without calls that have no output among them, and without the reasoning that led to such a call.
pub fn without_orphan_calls(items: Vec<Item>) -> Vec<Item> {
    if all_are_answered(&items) {
        return items;
    }
    // By call id first: ids differ, kinds are few.
    let outputs: BTreeSet<(&str, &str)> =
        items.iter().filter_map(|item| Some((item.call_id()?, item.kind()))).collect();
    let is_orphan = |item: &Item| {
        output_of(item.kind()).is_some_and(|output| item.call_id().is_none_or(|id| !outputs.contains(&(id, output))))
    };
    let mut keep = vec![true; items.len()];
    let mut next_is_orphan = false;
    for (place, item) in items.iter().enumerate().rev() {
        if item.kind() == "reasoning" {
            keep[place] = !next_is_orphan;
        } else {
            next_is_orphan = is_orphan(item);
            keep[place] = !next_is_orphan;
        }
    }
    if keep.iter().all(|keep| *keep) {
        return items;
    }
    items.into_iter().zip(keep).filter_map(|(item, keep)| keep.then_some(item)).collect()
}

/// How many calls may wait for their outputs at a time, for the quick look.
const OPEN: usize = 64;

/// A quick look at what is the rule: each call has its output after it. `false` says nothing.
fn all_are_answered(items: &[Item]) -> bool {
    let mut open: Vec<(&str, &str)> = Vec::new();
    for item in items {
        let kind = item.kind();
        if let Some(output) = output_of(kind) {
            match item.call_id() {
                Some(id) if open.len() < OPEN => open.push((id, output)),
                _ => return false,
            }
        } else if !open.is_empty()
            && let Some(id) = item.call_id()
        {
            open.retain(|due| *due != (id, kind));
        }
    }
    open.is_empty()
}

#[cfg(test)]
mod tests;
