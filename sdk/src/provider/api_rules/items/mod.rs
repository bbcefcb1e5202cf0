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

use super::{
    RequestTarget,
    families::ModelFamily,
    rules::{ApiRules, ConversationForm},
};
use crate::wire::{Item, ItemView};

/// Rewrites the items of a conversation. `is_whole` is `false` if the provider keeps the part of the
/// conversation before them, where their calls may be; `is_stored` if it keeps what it answers.
pub(super) fn rewrite(
    rules: &ApiRules,
    family: &ModelFamily,
    target: &RequestTarget<'_>,
    items: Vec<Item>,
    is_whole: bool,
    is_stored: bool,
) -> Vec<Item> {
    let items = reasoning::without_foreign(rules, family, target, items, is_stored);
    let (items, removed) = calls::paired(items, is_whole);
    let items = match rules.form {
        ConversationForm::Items => reasoning::with_followers(family, items, &removed),
        ConversationForm::Messages => without_provider_calls(items),
    };
    let items = ids::rewrite(rules, family, items);
    let items = if rules.refuses_blank_text { text::without_blanks(items) } else { items };
    let items = if rules.refuses_empty_output { text::with_outputs(items) } else { items };
    let items = match rules.form {
        ConversationForm::Items => items,
        ConversationForm::Messages => rounds::ordered(items),
    };
    // An API refuses a request without a message.
    let items = if items.is_empty() && is_whole { vec![Item::user(rounds::EARLIER)] } else { items };
    if rules.form == ConversationForm::Items {
        return items;
    }
    let items = media::rewrite(&rules.media, family, items);
    let items = if family.refuses_user_after_result { rounds::answered(items) } else { items };
    let items = if rules.user_at_both_ends { rounds::between_users(items) } else { items };
    if rules.signs_calls && family.gemini.is_some_and(|version| version >= 3) {
        return reasoning::with_signatures(target.provider, items);
    }
    items
}

/// Returns `true` unless the last answer of the model calls tools without signed thoughts before all
/// else.
pub(super) fn begins_with_thoughts(target: &RequestTarget<'_>, items: &[Item]) -> bool {
    let end = items.iter().rposition(is_of_model).map_or(0, |last| last + 1);
    let start = items[..end].iter().rposition(|item| !is_of_model(item)).map_or(0, |before| before + 1);
    let answer = &items[start..end];
    let calls = answer.iter().any(|item| item.output_kind().is_some());
    !calls || answer.first().is_some_and(|first| reasoning::has_signature(target.provider, first))
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
fn is_of_model(item: &Item) -> bool {
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
