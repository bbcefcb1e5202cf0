//! `SqlStore` as a store of sessions, in both databases.

mod crash;
mod in_a_run;
mod sessions;

use temporal_agents::wire::Item;

/// The texts of items.
fn texts(items: &[Item]) -> Vec<String> {
    items.iter().map(|item| item.text().unwrap_or_default()).collect()
}

fn said(texts: impl IntoIterator<Item = impl Into<String>>) -> Vec<Item> {
    texts.into_iter().map(|text| Item::user(text.into())).collect()
}
