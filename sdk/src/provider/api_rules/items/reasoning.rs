//! Reasoning, with the item that followed it.
//!
//! # Source
//! "Item 'rs_..' of type 'reasoning' was provided without its required following item", "Item
//! 'msg_..' of type 'message' was provided without its required 'reasoning' item", "Reasoning input
//! items can only be provided to a reasoning or computer use model", "Items are not persisted when
//! `store` is set to false" (OpenAI).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{Item, ItemView, NativeKind};

use super::{
    super::{RequestTarget, families::ModelFamily},
    is_from_model,
};
use crate::provider::data::{GENAI, PROVIDER_DATA, RESPONSES};

/// Members of a message of Chat Completions that hold reasoning.
const REASONING_MEMBERS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// Returns the items of a chat without reasoning that this provider did not make, or that its model
/// does not accept.
pub(super) fn without_foreign(family: &ModelFamily, target: &RequestTarget<'_>, items: Vec<Item>) -> Vec<Item> {
    items.into_iter().filter_map(|item| without_server_data(family, target, item)).collect()
}

/// Returns `true` if the model accepts this reasoning back.
fn is_accepted(family: &ModelFamily, target: &RequestTarget<'_>, item: &Item, is_stored: bool) -> bool {
    let maker = item.get(PROVIDER_DATA);
    let is_of_provider = match maker.map(|data| data.get(RESPONSES)) {
        None => target.is_default_provider,
        Some(Some(data)) => data["provider"] == target.provider,
        Some(None) => false,
    };
    let has = |member: &str| {
        item.get(member).is_some_and(|value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()))
    };
    let can_be_read = is_stored || has("encrypted_content") || (family.reasons.is_none() && has("content"));
    is_of_provider && family.reasons != Some(false) && can_be_read
}

/// Returns an item of a chat without reasoning that the server did not write; `None` if nothing is
/// left of it.
fn without_server_data(family: &ModelFamily, target: &RequestTarget<'_>, item: Item) -> Option<Item> {
    let Some(Value::Object(data)) = item.get(PROVIDER_DATA) else {
        // The reasoning of another API says nothing to a chat.
        return (item.kind() != "reasoning").then_some(item);
    };
    if let Some(thoughts) = data.get(GENAI) {
        return (item.kind() != "reasoning" || thoughts["adapter"] == target.provider).then_some(item);
    }
    let mut data = data.clone();
    data.shift_remove(RESPONSES);
    // OpenAI's models return no reasoning in Chat Completions, and refuse it.
    let is_openai = family.reasons.is_some();
    data.retain(|name, value| {
        let is_reasoning = REASONING_MEMBERS.contains(&&**name);
        let is_empty = value.as_str().is_some_and(str::is_empty);
        let is_foreign = is_openai && (is_reasoning || name == "extra_content");
        let is_refused = is_reasoning && is_empty && !target.keeps_empty_reasoning;
        !is_foreign && !is_refused
    });
    match (data.is_empty(), item.kind()) {
        (true, "reasoning") => None,
        (true, _) => Some(item.without(PROVIDER_DATA)),
        (false, _) => Some(item.with(PROVIDER_DATA, Value::Object(data))),
    }
}

/// The signature of a call that another model made.
///
/// # Source
/// Google's guide to thought signatures, "FAQs": to transfer a conversation from another model.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns the items in which each answer with calls, since the last message of the user, has a
/// signature before its first call.
pub(super) fn with_signatures(adapter: &str, items: Vec<Item>) -> Vec<Item> {
    let is_user = |item: &Item| matches!(item.view(), ItemView::Message { role: "user", .. });
    let turn = items.iter().rposition(is_user).unwrap_or_default();
    let mut done = Vec::with_capacity(items.len());
    let mut is_signed = false;
    for (place, item) in items.into_iter().enumerate() {
        if !is_from_model(&item) {
            is_signed = false;
        } else if item.kind() == "reasoning" {
            is_signed |= has_signature(adapter, &item);
        } else if item.output_kind().is_some() && place > turn && !is_signed {
            let data = json!({GENAI: {"adapter": adapter, "thoughts": [{"signature": FOREIGN_SIGNATURE}]}});
            let reasoning =
                Map::from_iter([("type".to_owned(), json!("reasoning")), ("summary".to_owned(), json!([]))]);
            done.push(Item::from(reasoning).with(PROVIDER_DATA, data));
            is_signed = true;
        }
        done.push(item);
    }
    done
}

/// Returns `true` for reasoning that this adapter signed.
fn has_signature(adapter: &str, item: &Item) -> bool {
    let data = item.get(PROVIDER_DATA).and_then(|data| data.get(GENAI)).filter(|data| data["adapter"] == adapter);
    let thoughts = data.and_then(|data| data["thoughts"].as_array());
    thoughts.is_some_and(|thoughts| thoughts.iter().any(|thought| thought["signature"].is_string()))
}

/// Returns the items of the Responses API in which reasoning is followed by what it led to.
///
/// Reasoning without a follower is left out, and an item whose reasoning is not there has no id: the
/// API then takes it as written by others. `removed` are the places before which an item was removed.
pub(super) fn with_followers(
    family: &ModelFamily,
    target: &RequestTarget<'_>,
    items: Vec<Item>,
    removed: &BTreeSet<usize>,
    is_stored: bool,
) -> Vec<Item> {
    let mut done = Vec::with_capacity(items.len());
    let mut answer = ModelItems::default();
    let mut left_out = BTreeSet::new();
    let mut items = items.into_iter().enumerate().peekable();
    while let Some((place, item)) = items.next() {
        // What follows an item that is gone is not what was before it.
        if removed.contains(&place) {
            left_out.extend(answer.end(family, &mut done));
        }
        if !is_from_model(&item) {
            left_out.extend(answer.end(family, &mut done));
            let is_left_out = item.call_id().is_some_and(|id| left_out.contains(id));
            if !is_left_out {
                done.push(without_provider_data(item));
            }
            continue;
        }
        if item.kind() == "reasoning" {
            answer.has_reasoning = true;
            // A message that others wrote is not what the reasoning led to. Unknown servers have ids of
            // other forms.
            let is_foreign = |next: &Item| {
                let has_id = next.id().is_some_and(|id| !id.is_empty());
                next.kind() == "message" && !is_own_id(next) && (family.reasons.is_some() || !has_id)
            };
            answer.has_lost_reasoning |= !is_accepted(family, target, &item, is_stored)
                || items.peek().is_some_and(|(_, next)| is_foreign(next));
        }
        answer.items.push(item);
    }
    answer.end(family, &mut done);
    done
}

/// Consecutive items of the model.
#[derive(Default)]
struct ModelItems {
    items: Vec<Item>,
    has_reasoning: bool,
    /// `true` if some of the reasoning, or what followed it, is left out.
    has_lost_reasoning: bool,
}

impl ModelItems {
    /// Moves the items to the others; returns the ids of calls that are left out.
    fn end(&mut self, family: &ModelFamily, done: &mut Vec<Item>) -> Vec<String> {
        let Self { items, has_reasoning, has_lost_reasoning } = std::mem::take(self);
        let is_followed = items.last().is_none_or(|last| last.kind() != "reasoning");
        let is_intact = is_followed && !has_lost_reasoning;
        let is_lost = has_reasoning && !is_intact;
        let mut has_reasoning_before = false;
        let mut left_out = Vec::new();
        for item in items {
            let keeps_id = is_intact && has_reasoning_before && is_own_id(&item);
            match item.view() {
                ItemView::Reasoning if !is_intact => continue,
                ItemView::Reasoning => has_reasoning_before = true,
                // An approval without its call would make the provider execute it again.
                ItemView::HostedCall { .. } if item.get("approval_request_id").is_some_and(Value::is_string) => {}
                // Their ids are required, so they cannot be sent without their reasoning.
                ItemView::HostedCall { .. } if is_lost || (family.reasons == Some(true) && !has_reasoning_before) => {
                    continue;
                }
                ItemView::NativeCall { kind: NativeKind::Computer | NativeKind::LocalShell, call } if is_lost => {
                    left_out.push(call.call_id.to_owned());
                    continue;
                }
                ItemView::NativeCall { kind: NativeKind::Computer | NativeKind::LocalShell, .. } => {}
                ItemView::Message { .. } | ItemView::FunctionCall(_) | ItemView::NativeCall { .. } if !keeps_id => {
                    done.push(without_provider_data(item.without("id")));
                    continue;
                }
                _ => {}
            }
            done.push(without_provider_data(item));
        }
        left_out
    }
}

/// Returns `true` if the id of an item has the form of the API's own ids.
fn is_own_id(item: &Item) -> bool {
    let prefix = match item.kind() {
        "message" => "msg",
        "function_call" => "fc",
        _ => "",
    };
    item.id().is_some_and(|id| {
        id.starts_with(prefix)
            && id.len() <= 64
            && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    })
}

fn without_provider_data(item: Item) -> Item {
    if item.get(PROVIDER_DATA).is_some() { item.without(PROVIDER_DATA) } else { item }
}
