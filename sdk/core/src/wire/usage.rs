//! Token and request counts of a model call, its cost, and their sum over a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{absent::is_default, cost::Cost};

/// Usage of a model call, or of a whole run. Absent counts are 0; an absent cost is not known.
///
/// # Source
/// `Usage` of the OpenAI Agents SDK, without its per-request entries (a run's history contains the
/// usage of each call).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Number of requests made to a provider.
    pub requests: u64,
    /// Number of tokens read.
    pub input_tokens: u64,
    /// Breakdown of the tokens read.
    #[serde(skip_serializing_if = "is_default")]
    pub input_tokens_details: InputTokensDetails,
    /// Number of tokens written.
    pub output_tokens: u64,
    /// Breakdown of the tokens written.
    #[serde(skip_serializing_if = "is_default")]
    pub output_tokens_details: OutputTokensDetails,
    /// Total reported by the provider; not always the sum.
    pub total_tokens: u64,
    /// Cost of the requests whose price the worker knows; absent without a
    /// `provider::PriceTable`.
    #[serde(skip_serializing_if = "is_default")]
    pub cost: Cost,
    /// Number of requests that the price table of the worker has no price for: the cost does not
    /// include them.
    #[serde(skip_serializing_if = "is_default")]
    pub unpriced_requests: u64,
}

/// Serialization of [`Usage`] in an answer of a model, where the total is omitted if it is the sum
/// of the tokens read and written.
pub(super) mod in_answer {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Cost, InputTokensDetails, OutputTokensDetails, Usage, is_default};

    #[derive(Default, Serialize, Deserialize)]
    #[serde(default)]
    struct Written {
        requests: u64,
        input_tokens: u64,
        #[serde(skip_serializing_if = "is_default")]
        input_tokens_details: InputTokensDetails,
        output_tokens: u64,
        #[serde(skip_serializing_if = "is_default")]
        output_tokens_details: OutputTokensDetails,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_tokens: Option<u64>,
        #[serde(skip_serializing_if = "is_default")]
        cost: Cost,
        #[serde(skip_serializing_if = "is_default")]
        unpriced_requests: u64,
    }

    pub(in crate::wire) fn serialize<S: Serializer>(usage: &Usage, serializer: S) -> Result<S::Ok, S::Error> {
        let Usage {
            requests,
            input_tokens,
            input_tokens_details,
            output_tokens,
            output_tokens_details,
            total_tokens,
            cost,
            unpriced_requests,
        } = usage.clone();
        let total_tokens = Some(total_tokens).filter(|total| *total != input_tokens.saturating_add(output_tokens));
        Written {
            requests,
            input_tokens,
            input_tokens_details,
            output_tokens,
            output_tokens_details,
            total_tokens,
            cost,
            unpriced_requests,
        }
        .serialize(serializer)
    }

    pub(in crate::wire) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Usage, D::Error> {
        let Written {
            requests,
            input_tokens,
            input_tokens_details,
            output_tokens,
            output_tokens_details,
            total_tokens,
            cost,
            unpriced_requests,
        } = Written::deserialize(deserializer)?;
        let total_tokens = total_tokens.unwrap_or_else(|| input_tokens.saturating_add(output_tokens));
        Ok(Usage {
            requests,
            input_tokens,
            input_tokens_details,
            output_tokens,
            output_tokens_details,
            total_tokens,
            cost,
            unpriced_requests,
        })
    }
}

/// Breakdown of the tokens read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InputTokensDetails {
    /// Number of tokens read from the provider's prompt cache.
    pub cached_tokens: u64,
    /// Number of tokens written to the provider's prompt cache.
    pub cache_write_tokens: u64,
}

/// Breakdown of the tokens written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OutputTokensDetails {
    /// Number of tokens spent on reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Returns the usage of one request with these tokens; the total is their sum.
    pub fn of_tokens(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            requests: 1,
            input_tokens,
            output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            ..Self::default()
        }
    }

    /// Adds another usage to this one, member by member.
    pub fn add(&mut self, other: &Self) {
        let Self {
            requests,
            input_tokens,
            input_tokens_details,
            output_tokens,
            output_tokens_details,
            total_tokens,
            cost,
            unpriced_requests,
        } = other;
        add(&mut self.requests, *requests);
        add(&mut self.input_tokens, *input_tokens);
        add(&mut self.input_tokens_details.cached_tokens, input_tokens_details.cached_tokens);
        add(&mut self.input_tokens_details.cache_write_tokens, input_tokens_details.cache_write_tokens);
        add(&mut self.output_tokens, *output_tokens);
        add(&mut self.output_tokens_details.reasoning_tokens, output_tokens_details.reasoning_tokens);
        add(&mut self.total_tokens, *total_tokens);
        self.cost.add(cost);
        add(&mut self.unpriced_requests, *unpriced_requests);
    }
}

/// Adds with saturation: the counts come from a provider, and workflow code must not panic because
/// of them.
fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}
