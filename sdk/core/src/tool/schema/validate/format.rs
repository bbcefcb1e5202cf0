//! The keyword `format`, for formats whose rule is short and the same everywhere.
//!
//! Times, dates and addresses follow the RFCs that JSON Schema names, and also allow common forms
//! of models and servers: times without an offset, addresses beyond ASCII, UUIDs without hyphens.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Formats that describe how a value is stored or displayed, and refuse no string.
const ANNOTATIONS: [&str; 4] = ["binary", "byte", "password", "textarea"];

/// Returns `true` if a string has this format; `None` for a format that is not checked.
pub(super) fn check(name: &str, text: &str) -> Option<bool> {
    Some(match name {
        "date-time" => is_date_time(text),
        "date" => is_date(text),
        "time" => is_time(text),
        "email" => is_email(text),
        "hostname" => is_hostname(text),
        "ip" => text.parse::<IpAddr>().is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "uri" => is_uri(text),
        "uuid" => is_uuid(text),
        _ => return None,
    })
}

/// Returns `true` if a format refuses no string.
pub(super) fn is_annotation(name: &str) -> bool {
    ANNOTATIONS.contains(&name)
}

/// Returns `true` if a format is checked, or refuses no string.
pub(super) fn is_known(name: &str) -> bool {
    is_annotation(name) || check(name, "").is_some()
}

/// Parses a number of exactly this many digits and no other characters.
fn number(text: &str, digits: usize) -> Option<u32> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

fn is_date_time(text: &str) -> bool {
    let at = text.find(['T', 't', ' ']);
    at.is_some_and(|at| is_date(&text[..at]) && is_time(&text[at + 1..]))
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut part = |digits| parts.next().and_then(|part| number(part, digits));
    let (Some(year), Some(month), Some(day)) = (part(4), part(2), part(2)) else { return false };
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Checks a time of RFC 3339, also without an offset. With an offset, a second 60 is allowed only
/// as the last second of a day in UTC.
fn is_time(text: &str) -> bool {
    let (time, zone) = text.split_at(text.find(['Z', 'z', '+', '-']).unwrap_or(text.len()));
    let (clock, fraction) = time.split_once('.').map_or((time, None), |(clock, fraction)| (clock, Some(fraction)));
    if fraction.is_some_and(|digits| digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    let mut parts = clock.splitn(3, ':');
    let mut part = || parts.next().and_then(|part| number(part, 2));
    let (Some(hour), Some(minute), Some(second)) = (part(), part(), part()) else { return false };
    let Some(offset) = offset(zone) else { return false };
    let minute_of_day = i64::from(hour * 60 + minute);
    let is_last_minute = (minute_of_day - offset).rem_euclid(24 * 60) == 24 * 60 - 1;
    hour < 24 && minute < 60 && (second < 60 || (second == 60 && is_last_minute))
}

/// Parses an offset, and returns it in minutes east of UTC; 0 for `Z` or an empty string.
fn offset(zone: &str) -> Option<i64> {
    if zone.is_empty() || zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    let offset = i64::from(hours * 60 + minutes);
    (hours < 24 && minutes < 60).then_some(if zone.starts_with('-') { -offset } else { offset })
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let is_atom = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || !b.is_ascii() || b"!#$%&'*+-/=?^_`{|}~".contains(&b))
    };
    let is_local =
        if is_quoted { !local.bytes().any(|byte| byte.is_ascii_control()) } else { local.split('.').all(is_atom) };
    let address = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']'));
    let is_domain = match address {
        None => is_hostname(domain),
        Some(address) => match address.strip_prefix("IPv6:") {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => address.parse::<Ipv4Addr>().is_ok(),
        },
    };
    is_local && is_domain
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii() || byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let is_escape = |part: &str| part.len() >= 2 && part.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    is_scheme
        && rest.bytes().all(is_allowed)
        && rest.bytes().filter(|byte| *byte == b'#').count() <= 1
        && rest.split('%').skip(1).all(is_escape)
}

fn is_uuid(text: &str) -> bool {
    if text.len() == 32 {
        return text.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = text.split('-');
    let is_part = |length: &usize| {
        parts.next().is_some_and(|part| part.len() == *length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    lengths.iter().all(is_part) && text.len() == 36
}
