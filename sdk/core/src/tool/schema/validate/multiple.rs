//! The keyword `multipleOf`, in decimal: as floats, 0.3 is not a multiple of 0.1.

use serde_json::Number;

/// Returns `true` if a number is an integer multiple of a step. A step that is not positive allows
/// every number.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    let (Some(number), Some(step)) = (Decimal::of(number), Decimal::of(step)) else { return true };
    if step.digits == 0 || step.is_negative || number.digits == 0 {
        return true;
    }
    let apart = i64::from(number.exponent) - i64::from(step.exponent);
    if apart >= 0 {
        // The remainder is taken at each power of ten, so that no intermediate number grows.
        let times_ten = |rest: u128, _| rest * 10 % step.digits;
        return (0..apart).fold(number.digits % step.digits, times_ten) == 0;
    }
    let power = u32::try_from(-apart).ok().and_then(|apart| 10_u128.checked_pow(apart));
    match power.and_then(|power| step.digits.checked_mul(power)) {
        Some(step) => number.digits % step == 0,
        // The step has more digits than any number can have.
        None => false,
    }
}

/// A decimal number: `digits * 10 ^ exponent`.
struct Decimal {
    is_negative: bool,
    /// At most 20 digits: those of a `u64`, or of the shortest form of an `f64`.
    digits: u128,
    exponent: i32,
}

impl Decimal {
    fn of(number: &Number) -> Option<Self> {
        let text = number.to_string();
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(positive) => (true, positive),
            None => (false, text.as_str()),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: u128 = format!("{whole}{fraction}").parse().ok()?;
        let mut exponent = exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?;
        while digits != 0 && digits.is_multiple_of(10) {
            (digits, exponent) = (digits / 10, exponent + 1);
        }
        (digits < u128::from(u64::MAX) * 10).then_some(Self { is_negative, digits, exponent })
    }
}
