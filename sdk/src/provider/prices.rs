//! The prices of models, with which a host computes the cost of calls.
//!
//! # Design
//! **Amounts are integers:** a price in billionths of the currency's unit for a million tokens, a
//! cost in billionths. A cost is computed once, where the model is called, and recorded with the
//! answer, so that a replay, a reader and a later price table see the same.
//!
//! **A cost that is not known is absent,** never 0: the call is counted as unpriced instead.

use serde::{Deserialize, Deserializer, de};
use serde_json::Number;
use temporal_agents_core::wire::{Cost, Usage};

/// Tokens for which prices are.
const MILLION: u128 = 1_000_000;
/// Most digits of a price after its point.
const DIGITS: usize = 9;

/// The prices of models in one currency, for a million tokens each.
///
/// The first entry counts whose patterns match: `model` matches the name that the agent or the run
/// has, `provider` the [name of the provider](crate::ModelProvider::name); `*` stands for any
/// characters, and without `provider` each one matches. `cached_input` and `cache_write` are by
/// default the price of `input`, `reasoning` that of `output`. A price is a string or a number,
/// with at most 9 digits after its point.
///
/// ```
/// use temporal_agents::{Resources, provider::PriceTable};
/// # fn main() -> Result<(), serde_json::Error> {
///
/// // From a file of the application; these prices are examples.
/// let prices: PriceTable = serde_json::from_str(
///     r#"{
///         "currency": "USD",
///         "models": [
///             {"model": "gpt-5-mini*", "input": "0.25", "cached_input": "0.025", "output": "2"},
///             {"provider": "openai", "model": "gpt-5*", "input": "1.25", "output": "10"}
///         ]
///     }"#,
/// )?;
/// let resources = Resources::new().prices(prices);
/// # let _ = resources;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    currency: String,
    models: Vec<ModelPrice>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelPrice {
    #[serde(default)]
    provider: Option<String>,
    model: String,
    input: Price,
    #[serde(default)]
    cached_input: Option<Price>,
    #[serde(default)]
    cache_write: Option<Price>,
    output: Price,
    #[serde(default)]
    reasoning: Option<Price>,
}

/// A price for a million tokens, in billionths of the currency's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Price(u64);

impl PriceTable {
    /// Adds the cost to the usage of a call, or counts it as unpriced. A cost that the provider has
    /// reported stays.
    pub(super) fn add_cost(&self, provider: &str, model: &str, usage: &mut Usage) {
        if !usage.cost.is_empty() {
            return;
        }
        // A provider that reports no tokens does not call for nothing.
        let is_counted = usage.input_tokens > 0 || usage.output_tokens > 0;
        let matching = self.models.iter().find(|price| price.matches(provider, model)).filter(|_| is_counted);
        match matching {
            Some(price) => usage.cost = Cost::of_billionths(&*self.currency, price.of(usage)),
            None => usage.unpriced_requests = usage.requests.max(1),
        }
    }
}

impl ModelPrice {
    fn matches(&self, provider: &str, model: &str) -> bool {
        self.provider.as_deref().is_none_or(|pattern| is_match(pattern, provider)) && is_match(&self.model, model)
    }

    /// Returns the cost of a call, rounded once.
    fn of(&self, usage: &Usage) -> u64 {
        let (cached, written) =
            (usage.input_tokens_details.cached_tokens, usage.input_tokens_details.cache_write_tokens);
        let reasoning = usage.output_tokens_details.reasoning_tokens;
        let parts = [
            (usage.input_tokens.saturating_sub(cached).saturating_sub(written), self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens.saturating_sub(reasoning), self.output),
            (reasoning, self.reasoning.unwrap_or(self.output)),
        ];
        let cost = |(tokens, Price(price))| u128::from(tokens) * u128::from(price);
        let sum = parts.into_iter().map(cost).fold(0, u128::saturating_add);
        u64::try_from(sum.saturating_add(MILLION / 2) / MILLION).unwrap_or(u64::MAX)
    }
}

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Number(Number),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Text(text) => text,
            Written::Number(number) => number.to_string(),
        };
        Self::read(&text).ok_or_else(|| {
            de::Error::custom(format_args!(
                "{text:?} is not a price: write digits, and at most {DIGITS} after a point, for example \"0.025\""
            ))
        })
    }
}

impl Price {
    fn read(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(fraction) || fraction.len() > DIGITS {
            return None;
        }
        format!("{whole}{fraction:0<DIGITS$}").parse().ok().map(Self)
    }
}

/// Returns `true` if the text is that of the pattern, in which `*` stands for any characters.
fn is_match(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests;
