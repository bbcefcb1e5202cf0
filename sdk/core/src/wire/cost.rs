//! The cost of model calls.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Billionths in a unit of a currency.
const BILLION: u64 = 1_000_000_000;

/// An amount of money in each currency, in billionths of its unit, so that sums are exact.
///
/// JSON shape: one member for each currency: `{"USD": 345000}` is 0.000345 US dollars.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::wire::Cost;
///
/// let mut cost = Cost::of_billionths("USD", 345_000);
/// cost.add(&Cost::of_billionths("USD", 1_000_000));
/// assert_eq!(cost.billionths("USD"), Some(1_345_000));
/// assert_eq!(cost.to_string(), "0.001345 USD");
/// assert!(Cost::default().is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Cost(BTreeMap<String, u64>);

impl Cost {
    /// Returns this amount, in billionths of a unit of the currency.
    pub fn of_billionths(currency: impl Into<String>, billionths: u64) -> Self {
        Self([(currency.into(), billionths)].into())
    }

    /// Returns `true` if no cost is known, which is not the same as a cost of 0.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the amount in this currency, in billionths of its unit; `None` if there is none.
    pub fn billionths(&self, currency: &str) -> Option<u64> {
        self.0.get(currency).copied()
    }

    /// Returns the amount in units of this currency, which may be rounded; `None` if there is none.
    #[expect(clippy::cast_precision_loss, reason = "a number for backends that add up floats")]
    pub fn amount(&self, currency: &str) -> Option<f64> {
        Some(self.billionths(currency)? as f64 / BILLION as f64)
    }

    /// Returns the currencies, with the amounts in billionths of their units.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(currency, amount)| (&**currency, *amount))
    }

    /// Adds another cost to this one, currency by currency. A sum that is too large stays at the
    /// largest number.
    pub fn add(&mut self, other: &Self) {
        for (currency, amount) in &other.0 {
            let sum = self.0.entry(currency.clone()).or_default();
            *sum = sum.saturating_add(*amount);
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (currency, amount)) in self.iter().enumerate() {
            let (whole, fraction) = (amount / BILLION, format!("{:09}", amount % BILLION));
            let fraction = fraction.trim_end_matches('0');
            let (between, point) = (if place > 0 { " + " } else { "" }, if fraction.is_empty() { "" } else { "." });
            write!(f, "{between}{whole}{point}{fraction} {currency}")?;
        }
        Ok(())
    }
}
