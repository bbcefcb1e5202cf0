//! Token usage of all model calls of a run, nested runs included, by model.

use temporal_agents_core::wire::Usage;

use crate::http::agui::UsageEntry;

/// Usage by model, in the order of the first calls.
#[derive(Debug, Default)]
pub(super) struct UsageByModel(Vec<(String, Usage)>);

impl UsageByModel {
    /// Adds the usage of a call of this model.
    pub(super) fn add(&mut self, model: &str, usage: &Usage) {
        match self.0.iter_mut().find(|(name, _)| name == model) {
            Some((_, sum)) => sum.add(usage),
            None => self.0.push((model.to_owned(), usage.clone())),
        }
    }

    /// Returns an entry for each model with usage.
    pub(super) fn entries(&self) -> Vec<UsageEntry> {
        let has_usage =
            |(_, usage): &&(String, Usage)| usage.input_tokens.max(usage.output_tokens).max(usage.total_tokens) > 0;
        self.0.iter().filter(has_usage).map(|(model, usage)| entry(model, usage)).collect()
    }
}

fn entry(model: &str, usage: &Usage) -> UsageEntry {
    const UNKNOWN: &str = "unknown";
    let Usage { input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens, .. } = usage;
    let provider = model.split_once("::").or_else(|| model.split_once('/')).map(|(provider, _)| provider);
    let named = |name: Option<&str>| name.filter(|name| !name.is_empty()).unwrap_or(UNKNOWN).to_owned();
    let count = |count: u64| Some(count).filter(|count| *count > 0);
    UsageEntry {
        provider: named(provider),
        model: named(Some(model)),
        input_tokens: count(*input_tokens),
        output_tokens: count(*output_tokens),
        total_tokens: count(*total_tokens),
        reasoning_tokens: count(output_tokens_details.reasoning_tokens),
        cached_input_tokens: count(input_tokens_details.cached_tokens),
        cache_write_input_tokens: count(input_tokens_details.cache_write_tokens),
    }
}
