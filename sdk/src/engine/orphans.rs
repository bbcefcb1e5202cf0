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

#[cfg(test)]
mod tests;
