//! The items of a conversation, as an API accepts them.
//!
//! Filters, session limits, compaction and handoffs shorten and mix conversations, and other
//! providers wrote parts of them. A single item that an API refuses fails this request and all
//! later ones of the conversation, whatever the user writes. So the items are rewritten before they
//! are projected:
//!
//! | file | what it ensures |
//! |---|---|
//! | `calls` | each call has its output, each output its call; arguments are JSON objects |
//! | `ids` | the ids of calls have the form of the API, equal for a call and its output |
//! | `text` | each text has a non-white character |
//! | `media` | images and files of tools are where the API takes them |
//! | `reasoning` | reasoning is sent with the item that followed it, to models that accept it |
//! | `rounds` | the outputs of a model's calls follow them |
//!
//! # Design
//! **What cannot be sent is left out, and never the whole request.** What is left out is of no use
//! to the API: a call without an output, reasoning of another provider, a call that another
//! provider executed. Items of the conversation itself do not change: the next request starts from
//! them again, so the model that made them gets them whole.

mod calls;
mod ids;
mod media;
mod reasoning;
mod rounds;
mod text;

#[cfg(feature = "openai")]
use temporal_agents_core::wire::NativeKind;
use temporal_agents_core::wire::{Item, ItemView};

use super::{
    RequestTarget,
    families::ModelFamily,
    rules::{ApiRules, ConversationForm},
};

/// Rewrites the items of a conversation.
///
/// `is_whole` is `false` if the provider has a part of the conversation, where the calls of these
/// items may be: the part before them, or a prompt template. `is_stored` is `true` if the provider
/// keeps what it answers.
pub(super) fn rewrite(
    rules: &ApiRules,
    family: &ModelFamily,
    target: &RequestTarget<'_>,
    items: Vec<Item>,
    is_whole: bool,
    is_stored: bool,
) -> Vec<Item> {
    let was_empty = items.is_empty();
    // A reference may be the call of an output.
    let has_references = items.iter().any(|item| item.kind() == "item_reference");
    let all_are_here = is_whole && !has_references;
    let mut items = match rules.form {
        ConversationForm::Items => {
            let (items, removed) = calls::pair_calls(items, all_are_here);
            let items = reasoning::with_followers(family, target, items, &removed, is_stored);
            ids::rewrite(rules, family, items)
        }
        ConversationForm::Messages => {
            let items = reasoning::without_foreign(family, target, items);
            let (items, _) = calls::pair_calls(items, all_are_here);
            let items = ids::rewrite(rules, family, without_provider_calls(items));
            rounds::order_outputs(text::without_blanks(items))
        }
    };
    if items.is_empty() && is_whole && !was_empty {
        // An API refuses a request without a message.
        items.push(Item::user(rounds::EARLIER));
    }
    match rules.form {
        ConversationForm::Items => items,
        ConversationForm::Messages => for_messages(rules, family, target, items),
    }
}

/// Makes the ordered rounds of a conversation fit an API with messages.
fn for_messages(rules: &ApiRules, family: &ModelFamily, target: &RequestTarget<'_>, items: Vec<Item>) -> Vec<Item> {
    let mut items = media::rewrite(rules.media, family, items);
    if rules.refuses_empty_output {
        items = text::fill_empty_outputs(items);
    }
    if family.refuses_user_after_result {
        items = rounds::add_missing_answers(items);
    }
    if rules.user_at_both_ends {
        items = rounds::add_user_ends(items);
    }
    if rules.signs_calls && family.gemini.is_some_and(|version| version >= 3) {
        items = reasoning::with_signatures(target.provider, items);
    }
    items
}

/// Returns the items without reasoning, ids and hosted calls, which only their server knows. `None`
/// if nothing changes.
#[cfg(feature = "openai")]
pub(crate) fn without_server_items(items: &[Item]) -> Option<Vec<Item>> {
    let is_kept = |item: &&Item| match item.view() {
        ItemView::Reasoning => false,
        // An approval without its call would make the provider execute it again.
        ItemView::HostedCall { .. } => item.get("approval_request_id").is_some(),
        _ => true,
    };
    let without_id = |item: &Item| match item.view() {
        ItemView::Message { role: "assistant", .. } | ItemView::FunctionCall(_) => item.without("id"),
        ItemView::NativeCall { kind, .. } if !matches!(kind, NativeKind::Computer | NativeKind::LocalShell) => {
            item.without("id")
        }
        _ => item.clone(),
    };
    let plain: Vec<Item> = items.iter().filter(is_kept).map(without_id).collect();
    (plain.len() != items.len() || plain != items).then_some(plain)
}

/// Returns the items without calls that another provider executed: they have no form in messages.
fn without_provider_calls(items: Vec<Item>) -> Vec<Item> {
    let is_sent = |item: &Item| match item.view() {
        ItemView::HostedCall { .. } => false,
        // A reference cannot be followed: it is refused by name when it is projected.
        ItemView::Other { kind } => kind == "item_reference" || kind.is_empty(),
        _ => true,
    };
    items.into_iter().filter(is_sent).collect()
}

/// Returns `true` if the item is what a model answered: a message, a call, reasoning.
fn is_from_model(item: &Item) -> bool {
    match item.view() {
        ItemView::Message { role, .. } => role == "assistant",
        ItemView::FunctionCallOutput { .. } | ItemView::NativeCallOutput { .. } => false,
        ItemView::FunctionCall(_) | ItemView::NativeCall { .. } | ItemView::Reasoning | ItemView::HostedCall { .. } => {
            true
        }
        ItemView::Other { kind } => !kind.ends_with("_output") && kind != "mcp_approval_response",
    }
}

#[cfg(test)]
mod tests;
