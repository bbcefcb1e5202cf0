//! The token counts in a provider's usage object, under the names of its API.

use serde_json::Value;
use temporal_agents_core::wire::{InputTokensDetails, OutputTokensDetails, Usage};

/// The names of the token counts in the usage object of an API.
pub(super) struct Names {
    pub(super) input: &'static str,
    pub(super) input_details: &'static str,
    pub(super) output: &'static str,
    pub(super) output_details: &'static str,
}

impl Names {
    /// Reads the usage of one request; missing counts are 0, and a missing total is the sum.
    pub(super) fn read(&self, usage: Option<&Value>) -> Usage {
        let usage = usage.unwrap_or(&Value::Null);
        let count = |of: &Value, name: &str| of[name].as_u64();
        let input_tokens = count(usage, self.input).unwrap_or_default();
        let output_tokens = count(usage, self.output).unwrap_or_default();
        let input_details = &usage[self.input_details];
        Usage {
            requests: 1,
            input_tokens,
            input_tokens_details: InputTokensDetails {
                cached_tokens: count(input_details, "cached_tokens").unwrap_or_default(),
                cache_write_tokens: count(input_details, "cache_write_tokens").unwrap_or_default(),
            },
            output_tokens,
            output_tokens_details: OutputTokensDetails {
                reasoning_tokens: count(&usage[self.output_details], "reasoning_tokens").unwrap_or_default(),
            },
            total_tokens: count(usage, "total_tokens").unwrap_or(input_tokens.saturating_add(output_tokens)),
            ..Usage::default()
        }
    }
}
