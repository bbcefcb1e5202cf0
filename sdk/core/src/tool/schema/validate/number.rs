//! Numbers as JSON Schema compares them: by value, however they are written.
//!
//! A number with a fraction of zero is an integer: `3.0`, `1e3` and `-0.0` are 3, 1000 and 0 (JSON
//! Schema 2020-12, validation, section 6.1.1). `1` and `1.0` are equal.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Returns `true` if a number has no fraction.
pub(super) fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Compares two numbers. Integers are compared exactly: as floats, different large integers would
/// be equal.
pub(super) fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        // A float with a fraction is below 2^52, so that rounding the other number keeps the order.
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Returns `true` if two values are equal.
pub(super) fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right) == Some(Ordering::Equal),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| are_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let is_equal =
                |(name, left): (&String, &Value)| right.get(name).is_some_and(|right| are_equal(left, right));
            left.len() == right.len() && left.iter().all(is_equal)
        }
        (left, right) => left == right,
    }
}

/// Returns a limit that must not be negative, such as `minContains`.
pub(super) fn limit(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => integer(number)?.try_into().ok(),
        _ => None,
    }
}

/// Returns the integer that a number is; `None` for one with a fraction, or beyond 128 bits.
fn integer(number: &Number) -> Option<i128> {
    if !number.is_f64() {
        return number.as_i128();
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
    // The decimal form is exact for every float without a fraction.
    format!("{float:.0}").parse().ok()
}
