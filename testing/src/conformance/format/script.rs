//! The responses of the scripted model.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use temporal_agents::wire::{self, Item};

/// The responses, one per call.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Responses {
    /// For the calls of all agents, in order.
    Shared(VecDeque<Response>),
    /// For the calls of each agent, by its key.
    PerAgent(BTreeMap<String, VecDeque<Response>>),
}

/// A response, or a failure of the call.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the members of the scenario format")]
pub(crate) struct Response {
    pub(crate) output: Option<Vec<Item>>,
    pub(crate) usage: Option<Usage>,
    pub(crate) response_id: Option<String>,
    pub(crate) raises: Option<String>,
}

/// The tokens and requests that a call has used.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    requests: Option<u64>,
}

impl Responses {
    /// Removes and returns the response to the next call of an agent; `None` if the script has none
    /// left.
    pub(crate) fn next(&mut self, agent: &str) -> Option<Response> {
        match self {
            Self::Shared(responses) => responses.pop_front(),
            Self::PerAgent(responses) => responses.get_mut(agent)?.pop_front(),
        }
    }
}

impl From<Usage> for wire::Usage {
    fn from(usage: Usage) -> Self {
        let Usage {
            input_tokens,
            output_tokens,
            total_tokens,
            cached_tokens,
            cache_write_tokens,
            reasoning_tokens,
            requests,
        } = usage;
        let (read, written) = (input_tokens.unwrap_or(0), output_tokens.unwrap_or(0));
        let mut converted = Self::of_tokens(read, written);
        converted.requests = requests.unwrap_or(1);
        converted.input_tokens_details.cached_tokens = cached_tokens.unwrap_or(0);
        converted.input_tokens_details.cache_write_tokens = cache_write_tokens.unwrap_or(0);
        converted.output_tokens_details.reasoning_tokens = reasoning_tokens.unwrap_or(0);
        converted.total_tokens = total_tokens.unwrap_or_else(|| read.saturating_add(written));
        converted
    }
}
